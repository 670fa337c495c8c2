// SPDX-License-Identifier: Apache-2.0

// Package oneslot_test holds the architecture: who may import whom, where cgo
// is, how long a file may be. ARCHITECTURE.md tells why.
package oneslot_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const project = "oneslot.dev/oneslot"

// mayImport is the architecture: who may import whom within the project, tests
// excepted. A package that is not here may not exist.
var mayImport = map[string]string{
	"pkcs11": "",
	"wire":   "pkcs11",

	// The carrier for networks brings TLS, whose start local members are spared.
	"wire/stream": "pkcs11 wire",

	"config": "",

	// Both ends of mutual TLS (rule N1).
	"certificate": "",

	// The engine's side.
	"control":       "",
	"member":        "pkcs11 wire",
	"member/local":  "config member pkcs11 wire",
	"member/remote": "certificate config member pkcs11 wire wire/stream",
	"member/fake":   "config member pkcs11 wire",
	"group":         "config member pkcs11 wire",
	"engine":        "config control group member pkcs11 wire",
	"tui":           "control",
	"cmd/oneslot":   "certificate config control engine group member member/local member/remote pkcs11 tui wire",

	// The vendor module's side. The two sides share the wire and nothing else.
	"host":                  "host/cryptoki pkcs11 wire",
	"host/cryptoki":         "pkcs11 wire",
	"host/appliance":        "certificate host pkcs11 wire wire/stream",
	"cmd/oneslot-member":    "host wire",
	"cmd/oneslot-appliance": "certificate host host/appliance wire",

	// Tools of the build, and what tests are made of.
	"wire/gen":          "",
	"host/hosttest":     "pkcs11 test/programs wire",
	"member/membertest": "member pkcs11 wire",
	"test/tally":        "",
	"test/programs":     "",
	"test/cluster":      "config control",
	"test/token":        "",
	"test/app":          "test/token",
	"test/history":      "",
	"test/trickle":      "",
	"test/demo":         "control test/cluster",
}

// mayUseC: the engine and the tools are plain Go. Applications of tests load
// the module as applications do.
var mayUseC = []string{"host/cryptoki"}

// maxLines keeps files small enough to be read at once.
const maxLines = 400

// A goPackage is what `go list` says of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
}

// packages lists the packages of the project by their path in it.
func packages(t *testing.T) map[string]goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles", "./...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1") // without it, files with cgo are not listed
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]goPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if path := strings.TrimPrefix(p.ImportPath, project+"/"); path != project {
			all[path] = p
		}
	}
}

func TestImportsFlowOneWay(t *testing.T) {
	for path, p := range packages(t) {
		allowed, known := mayImport[path]
		if !known && len(p.Imports) > 0 {
			t.Errorf("package %s has no place in the architecture", path)
		}
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, project+"/")
			if ours && !slices.Contains(strings.Fields(allowed), name) {
				t.Errorf("%s must not import %s", path, name)
			}
		}
	}
}

func TestOnlyOnePackageUsesC(t *testing.T) {
	for path, p := range packages(t) {
		if may := slices.Contains(mayUseC, path); may != (len(p.CgoFiles) > 0) {
			t.Errorf("%s: uses C: %v, may: %v", path, !may, may)
		}
	}
}

// sources calls do with each file that people write and read.
func sources(t *testing.T, do func(path, text string)) {
	t.Helper()
	kinds := []string{".go", ".c", ".h", ".mk", ".def", ".sh", ".md", ".yml"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "build" || path == ".git"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		script := bytes.HasPrefix(text, []byte("#!"))
		if script || path == "Makefile" || slices.Contains(kinds, filepath.Ext(path)) {
			do(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func generated(path string) bool { return strings.Contains(path, "_gen.") }

func prose(path string) bool { return filepath.Ext(path) == ".md" }

func TestFilesCanBeReadAtOnce(t *testing.T) {
	sources(t, func(path, text string) {
		if n := strings.Count(text, "\n"); n > maxLines && !generated(path) && !prose(path) {
			t.Errorf("%s has %d lines, more than %d: split it by concept", path, n, maxLines)
		}
	})
}

func TestEveryFileSaysItsLicence(t *testing.T) {
	sources(t, func(path, text string) {
		head := strings.Join(strings.SplitN(text, "\n", 4)[:min(3, strings.Count(text, "\n"))], "\n")
		if !prose(path) && !strings.Contains(head, "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s has no SPDX line at its beginning", path)
		}
	})
}

// What is left to do stands in the issue tracker, where somebody reads it.
func TestNothingIsLeftForLater(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "X" + "XX "}
	sources(t, func(path, text string) {
		for _, mark := range marks {
			if strings.Contains(text, mark) {
				t.Errorf("%s contains %q", path, mark)
			}
		}
	})
}

func TestFoldersAreAtMostTwoDeep(t *testing.T) {
	for path := range packages(t) {
		if strings.Count(path, "/") > 1 {
			t.Errorf("%s: folders are at most two deep", path)
		}
	}
}

// F3: what is kept of a time is kept on the clock that nobody sets (wire.Moment), not as a
// number of the time of day: setting that would end connections, or keep who is silent.
func TestNoTimeIsKeptAsTheTimeOfDay(t *testing.T) {
	number := regexp.MustCompile(`\.Unix(Nano|Milli|Micro)?\(\)|\.Round\(0\)`)
	sources(t, func(path, text string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		for n, line := range strings.Split(text, "\n") {
			if number.MatchString(line) {
				t.Errorf("%s:%d: %s", path, n+1, strings.TrimSpace(line))
			}
		}
	})
}
