// SPDX-License-Identifier: Apache-2.0

// Package module_test loads the module into small C applications, each built
// plain and with the address and undefined behaviour sanitizers, and plays the
// engine on the other side.
package module_test

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "engine" {
		privateEngine()
		return
	}
	code := m.Run()
	if builds != "" {
		os.RemoveAll(builds)
	}
	os.Exit(code)
}

// A variant is one way to build module and application.
type variant struct {
	name   string
	target string   // in build.mk
	flags  []string // for both
	libc   string   // its compiler, if it is not the usual one
}

func (v variant) compiler() string { return cmp.Or(v.libc, "cc") }

var (
	plain     = variant{name: "plain", target: "build/oneslot-pkcs11.so"}
	sanitized = variant{name: "sanitized", target: "build/module-asan.so",
		flags: []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}}
	// musl is the libc of Alpine.
	musl = variant{name: "musl", target: plain.target, libc: "musl-gcc"}
	// impatient gives up on a silent engine soon, patient not within a test.
	impatient = variant{name: "impatient", target: "build/module-asan.so",
		flags: append([]string{"-DSILENCE_MS=2000"}, sanitized.flags...)}
	patient = variant{name: "patient", target: "build/module-asan.so",
		flags: append([]string{"-DSILENCE_MS=3600000"}, sanitized.flags...)}
)

var (
	building sync.Mutex // guards builds, and what is in it
	builds   string     // folder of everything built for the tests
)

// built returns the path of a file in the folder of builds, made once.
func built(t *testing.T, name string, command func(out string) *exec.Cmd) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	if builds == "" {
		dir, err := os.MkdirTemp("", "oneslot-module")
		if err != nil {
			t.Fatal(err)
		}
		builds = dir
	}
	out := filepath.Join(builds, name)
	if _, err := os.Stat(out); err == nil {
		return out
	}
	if text, err := command(out).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, text)
	}
	return out
}

func (v variant) module(t *testing.T) string {
	t.Helper()
	return built(t, v.name+".so", func(out string) *exec.Cmd {
		script := fmt.Sprintf("make -s -B -f module/build.mk BUILD=%[1]s CC=%[5]s CFLAGS='%[2]s' %[1]s/%[3]s && mv %[1]s/%[3]s %[4]s",
			filepath.Dir(out), strings.Join(v.flags, " "), filepath.Base(v.target), out, v.compiler())
		c := exec.Command("sh", "-c", script)
		c.Dir = "../.."
		return c
	})
}

// application builds testdata/name.c.
func (v variant) application(t *testing.T, name string) string {
	t.Helper()
	return built(t, v.name+"-"+name, func(out string) *exec.Cmd {
		script := fmt.Sprintf("%s -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -rdynamic -pthread %s $(pkg-config --cflags p11-kit-1) testdata/%s.c -o %s",
			v.compiler(), strings.Join(v.flags, " "), name, out)
		return exec.Command("sh", "-c", script)
	})
}

// command prepares to run the application, whose first argument is the module.
// Nothing of the environment that the tests run in reaches the module.
func (v variant) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(v.application(t, name), append([]string{v.module(t)}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	c.WaitDelay = 10 * time.Second
	return c
}

// run waits for the application, which must succeed, and returns its output.
func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var out, errors bytes.Buffer
	c.Stdout, c.Stderr = &out, &errors
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	defer end.Stop()
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s%s", c.Args, err, out.String(), errors.String())
	}
	return out.String()
}

// converse runs an application that says a line before it goes on.
func converse(t *testing.T, c *exec.Cmd, hear func(line string)) {
	t.Helper()
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	var errors bytes.Buffer
	c.Stderr = &errors
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	defer end.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); io.WriteString(in, "\n") {
		hear(lines.Text())
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
}

// both runs a test with the plain and with the sanitized build.
func both(t *testing.T, test func(t *testing.T, v variant)) {
	for _, v := range []variant{plain, sanitized} {
		t.Run(v.name, func(t *testing.T) { test(t, v) })
	}
}

// functions lists the functions of PKCS#11 in calls.def, in order.
func functions(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("../../wire/calls.def")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ *\d+ \| (C_\w+)`).FindAllStringSubmatch(string(table), -1) {
		names = append(names, m[1])
	}
	return names
}

func TestExportsAreTheTable(t *testing.T) {
	f, err := elf.Open(plain.module(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			exported = append(exported, s.Name)
		}
	}
	want := functions(t)
	slices.Sort(exported)
	slices.Sort(want)
	if !slices.Equal(exported, want) {
		t.Errorf("exported: %v\nin the table: %v", exported, want)
	}
}

func TestModuleNeedsLibcOnlyAndStaysLoaded(t *testing.T) {
	f, err := elf.Open(plain.module(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil || !slices.Equal(needed, []string{"libc.so.6"}) {
		t.Errorf("needs %v (%v), want libc alone", needed, err)
	}
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	if err != nil || len(flags) != 1 || elf.DynFlag1(flags[0])&elf.DF_1_NODELETE == 0 {
		t.Errorf("flags %v (%v): not marked as staying loaded", flags, err)
	}
	// One entry each is the compiler's own frame_dummy.
	for _, tag := range []elf.DynTag{elf.DT_INIT_ARRAYSZ, elf.DT_FINI_ARRAYSZ} {
		if size, err := f.DynValue(tag); err != nil || len(size) != 1 || size[0] != 8 {
			t.Errorf("%v = %v (%v): there are constructors or destructors", tag, size, err)
		}
	}
}

// The application exports functions of the same names, as one does that is
// linked with another PKCS#11 library.
func TestFunctionListsAreOursAndInOrder(t *testing.T) {
	const in240 = 68
	table := functions(t)
	want := append([]string{"2.40"}, table[:in240]...)
	want = append(append(want, "3.0"), table[:in240]...)
	want[1+in240+1+2] = "?" // the 3.0 list has a C_GetInfo of its own, which is no symbol
	// The order of pkcs11f.h of PKCS#11 3.0.
	want = append(want, strings.Fields(`C_GetInterfaceList C_GetInterface C_LoginUser C_SessionCancel
		C_MessageEncryptInit C_EncryptMessage C_EncryptMessageBegin C_EncryptMessageNext C_MessageEncryptFinal
		C_MessageDecryptInit C_DecryptMessage C_DecryptMessageBegin C_DecryptMessageNext C_MessageDecryptFinal
		C_MessageSignInit C_SignMessage C_SignMessageBegin C_SignMessageNext C_MessageSignFinal
		C_MessageVerifyInit C_VerifyMessage C_VerifyMessageBegin C_VerifyMessageNext C_MessageVerifyFinal`)...)
	if got := strings.Fields(run(t, plain.command(t, "functions"))); !slices.Equal(got, want) {
		t.Errorf("lists: %v\nwant: %v", got, want)
	}
}

func TestInterfaces(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		e := &testEngine{answer: func(call uint32, args []byte) []byte {
			switch call {
			case getInfo:
				return reply(call, ok, byte(2), byte(40), make([]byte, 32), 0, make([]byte, 32), byte(0), byte(1))
			case loginUser, sessionCancel:
				return reply(call, sessionInvalid)
			}
			return polite(call, args)
		}}
		c := v.command(t, "interfaces")
		c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
		run(t, c)
	})
}

// golden reads a frame from wire/testdata.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../wire/testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	frame, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return frame
}

func TestGoldenFrames(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		// The application says which frame comes, then makes the call.
		var name string
		seen := map[string]bool{}
		e := &testEngine{answer: func(call uint32, args []byte) []byte {
			if call == hello || call == attach {
				return polite(call, args)
			}
			got := append(reply(call, 0)[:8], args...)
			got[0], got[1], got[2] = byte(len(got)-4), byte((len(got)-4)>>8), 0
			if want := golden(t, name+".request"); !bytes.Equal(got, want) {
				t.Errorf("%s\n got % x\nwant % x", name, got, want)
			}
			seen[name] = true
			return golden(t, name+".reply")
		}}
		c := v.command(t, "golden")
		c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
		converse(t, c, func(line string) { name = line })
		files, _ := filepath.Glob("../../wire/testdata/*.request.hex")
		for _, f := range files {
			if name := strings.TrimSuffix(filepath.Base(f), ".request.hex"); !seen[name] {
				t.Errorf("the application does not make %s", name)
			}
		}
	})
}
