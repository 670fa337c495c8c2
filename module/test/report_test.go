// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"encoding/json"
	"os"
	"strings"
)

// A startReport is what a private engine finds around itself when it starts.
type startReport struct {
	Args        []string
	Directory   string
	Environment []string
	Status      string   // /proc/self/status
	Stat        string   // /proc/self/stat
	Slack       string   // of its timers, in ns
	Files       []string // what the descriptors 0 to 3 and the inherited ones are
}

// writeReport is called before the engine opens anything, so what is open that
// the runtime did not make was inherited.
func writeReport(path string) {
	r := startReport{Args: os.Args, Environment: os.Environ()}
	r.Directory, _ = os.Getwd()
	status, _ := os.ReadFile("/proc/self/status")
	stat, _ := os.ReadFile("/proc/self/stat")
	slack, _ := os.ReadFile("/proc/self/timerslack_ns")
	r.Status, r.Stat, r.Slack = string(status), string(stat), strings.TrimSpace(string(slack))
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") {
			r.Files = append(r.Files, e.Name()+" "+target)
		}
	}
	text, _ := json.Marshal(r)
	os.WriteFile(path+".part", text, 0o600)
	os.Rename(path+".part", path)
}

func readReport(path string) (r startReport, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}
