// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withPrivateEngine makes the application start the test binary as its engine,
// and returns where that reports to.
func withPrivateEngine(t *testing.T, c *exec.Cmd) (report string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	report = filepath.Join(t.TempDir(), "report")
	c.Env = append(c.Env, "ONESLOT_ENGINE="+self, "ONESLOT_TEST_REPORT="+report)
	return report
}

func lifecycle(t *testing.T, v variant, part string) {
	t.Helper()
	c := v.command(t, "lifecycle", part)
	withPrivateEngine(t, c)
	run(t, c)
}

func TestInitializeArguments(t *testing.T) {
	both(t, func(t *testing.T, v variant) { lifecycle(t, v, "arguments") })
}

func TestOneOfManyThreadsInitializes(t *testing.T) {
	both(t, func(t *testing.T, v variant) { lifecycle(t, v, "race") })
}

// H1, H2 of the field reports: a child of fork has nothing until it initialises,
// and its parent is never disturbed.
func TestForks(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		c := v.command(t, "lifecycle", "forks")
		withPrivateEngine(t, c)
		// In a child the leak checker waits for threads that do not exist there.
		c.Env = append(c.Env, "ASAN_OPTIONS=detect_leaks=0")
		run(t, c)
	})
}

// field-H9: an application and the module, both on musl.
func TestMusl(t *testing.T) {
	f, err := elf.Open(musl.module(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if needed, err := f.ImportedLibraries(); err != nil || !slices.Equal(needed, []string{"libc.so"}) {
		t.Errorf("needs %v (%v), want musl alone", needed, err)
	}
	for _, part := range []string{"arguments", "race", "forks", "clone", "reload", "invisible", "ignored"} {
		t.Run(part, func(t *testing.T) { lifecycle(t, musl, part) })
	}
}

func TestRawCloneIsNoticed(t *testing.T) { lifecycle(t, plain, "clone") }

func TestLoadingAHundredTimesGrowsNothing(t *testing.T) {
	both(t, func(t *testing.T, v variant) { lifecycle(t, v, "reload") })
}

func TestPrivateEngineIsInvisible(t *testing.T) {
	for _, part := range []string{"invisible", "ignored"} {
		t.Run(part, func(t *testing.T) {
			both(t, func(t *testing.T, v variant) { lifecycle(t, v, part) })
		})
	}
}

func TestPrivateEngineStartsClean(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		c := v.command(t, "lifecycle", "invisible")
		path := withPrivateEngine(t, c)
		c.Dir = t.TempDir()
		c.Env = append(c.Env, "ONESLOT_CONF=oneslot.toml", "MEMBER_CONF=x")
		run(t, c)
		r, err := readReport(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"oneslot", "engine", "--fd", "3"}; !slices.Equal(r.Args, want) {
			t.Errorf("arguments %q, want %q", r.Args, want)
		}
		if r.Directory != "/" {
			t.Errorf("started in %s, not in the root", r.Directory)
		}
		// Its runtime is set up for as many processors as it uses, and its monitor
		// thread does not wake up all the time.
		processors := "GOMAXPROCS=" + strconv.Itoa(max(1, runtime.NumCPU()/2))
		if own := os.Getenv("GOMAXPROCS"); own != "" {
			processors = "GOMAXPROCS=" + own
		}
		for _, want := range []string{"ONESLOT_CONF=" + filepath.Join(c.Dir, "oneslot.toml"), "MEMBER_CONF=x", processors} {
			if !slices.Contains(r.Environment, want) {
				t.Errorf("no %s in %q", want, r.Environment)
			}
		}
		if r.Slack != "1000000" {
			t.Errorf("its timers may be late by %s ns", r.Slack)
		}
		for _, line := range strings.Split(r.Status, "\n") {
			name, value, _ := strings.Cut(line, ":\t")
			if name != "SigBlk" && name != "SigIgn" {
				continue
			}
			// glibc keeps signals 32 and 33 to itself, and its posix_spawn
			// starts programs with them ignored, as make does.
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err != nil || set&^(3<<31) != 0 {
				t.Errorf("%s: some signals are not as usual (%v)", line, err)
			}
		}
		if f := strings.Fields(r.Stat); len(f) < 6 || f[5] != f[0] {
			t.Errorf("process %s is not the leader of session %s", f[0], f[5])
		}
		checkFiles(t, r.Files)
	})
}

// checkFiles: /dev/null three times, the socket, and nothing of the application.
func checkFiles(t *testing.T, files []string) {
	t.Helper()
	for i, f := range files {
		fd, target, _ := strings.Cut(f, " ")
		switch {
		case fd < "3" && len(fd) == 1:
			if target != "/dev/null" {
				t.Errorf("descriptor %s", f)
			}
		case fd == "3":
			if !strings.HasPrefix(target, "socket:") {
				t.Errorf("descriptor %s", f)
			}
		case strings.HasPrefix(target, "/proc/"), strings.HasPrefix(target, "/sys/fs/cgroup"):
			// the folder being read, and what the Go runtime opens
		default:
			t.Errorf("descriptor %s (number %d) was inherited", f, i)
		}
	}
}

// nginx empties its workers' environment: what was there at the first
// C_Initialize, and the engine's place, are remembered over the fork.
func TestEnvironmentIsRememberedOverFork(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		c := v.command(t, "lifecycle", "emptied")
		path := withPrivateEngine(t, c)
		c.Dir = t.TempDir()
		c.Env = append(c.Env, "ONESLOT_CONF=oneslot.toml", "MEMBER_CONF=x")
		run(t, c)
		r, err := readReport(path)
		if err != nil {
			t.Fatal("the worker's engine was not started: ", err)
		}
		for _, want := range []string{"ONESLOT_CONF=" + filepath.Join(c.Dir, "oneslot.toml"), "MEMBER_CONF=x"} {
			if !slices.Contains(r.Environment, want) {
				t.Errorf("no %s in %q", want, r.Environment)
			}
		}
	})
}

// A socket that is named and cannot be reached is an error, not a reason to
// start an engine that nobody asked for. Nor is there one without a program.
func TestUnreachableEngine(t *testing.T) {
	for name, variable := range map[string]string{
		"socket":  "ONESLOT_SOCKET=/nonexistent/engine.sock",
		"program": "ONESLOT_ENGINE=/nonexistent/oneslot",
		"refused": "ONESLOT_ENGINE=/dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			c := sanitized.command(t, "lifecycle", "unreachable")
			path := withPrivateEngine(t, c)
			c.Env = append(c.Env, variable)
			run(t, c)
			if _, err := os.Stat(path); err == nil {
				t.Error("an engine was started")
			}
		})
	}
}

// The engine of `oneslot serve` is found in the user's runtime directory.
func TestRunningEngineIsFound(t *testing.T) {
	e := &testEngine{answer: polite}
	socket := e.listen(t)
	runtime := t.TempDir()
	if err := os.Symlink(filepath.Dir(socket), filepath.Join(runtime, "oneslot")); err != nil {
		t.Fatal(err)
	}
	c := plain.command(t, "lifecycle", "arguments")
	c.Env = append(c.Env, "XDG_RUNTIME_DIR="+runtime)
	run(t, c)
	if e.count(hello) == 0 {
		t.Error("the running engine was not asked")
	}
}

// Whoever starts a set-user-ID program writes its environment, and must not be
// able to choose the engine that runs with its rights.
func TestSetUserIDProgramIgnoresEnvironment(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make a set-user-ID program")
	}
	text, err := os.ReadFile(plain.application(t, "lifecycle"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "oneslot-setuid")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	program := filepath.Join(dir, "lifecycle")
	os.WriteFile(program, text, 0o755)
	os.Chown(program, 65534, -1)
	os.Chmod(program, 0o4755|os.ModeSetuid)
	module := filepath.Join(dir, "module.so")
	text, _ = os.ReadFile(plain.module(t))
	os.WriteFile(module, text, 0o755)

	e := &testEngine{answer: polite}
	socket := e.listen(t)
	os.Chmod(filepath.Dir(socket), 0o755)
	os.Chmod(socket, 0o777)
	c := exec.Command(program, module, "unreachable")
	c.Env = []string{"ONESLOT_SOCKET=" + socket}
	withPrivateEngine(t, c)
	var mount syscall.Statfs_t
	if syscall.Statfs(dir, &mount) == nil && mount.Flags&syscall.MS_NOSUID != 0 {
		t.Skip("the temporary folder is mounted nosuid")
	}
	run(t, c)
	if e.count(hello) != 0 {
		t.Error("the socket named in the environment was used")
	}
}
