// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/token"
)

// check runs `oneslot check`, which must find something wrong, and returns what
// it says.
func (w *world) check() string {
	w.t.Helper()
	out, err := w.Command(w.Program, "check").CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		w.t.Errorf("oneslot check: %v\n%s", err, out)
	}
	return string(out)
}

// edit changes a part of the configuration.
func (w *world) edit(old, new string) {
	w.t.Helper()
	text, err := os.ReadFile(w.Conf)
	w.must(err)
	if !strings.Contains(string(text), old) {
		w.t.Fatalf("%q is not in\n%s", old, text)
	}
	w.must(os.WriteFile(w.Conf, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
}

// newToken makes another token beside those of a member.
func (w *world) newToken(member string) {
	w.t.Helper()
	c := exec.Command("softhsm2-util", "--init-token", "--free", "--label", w.Token, "--so-pin", w.SOPIN, "--pin", w.PIN)
	c.Env = append(os.Environ(), w.Bare(member))
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// noTokens leaves a member a SoftHSM without a token.
func (w *world) noTokens(member string) {
	w.t.Helper()
	tokens := filepath.Join(w.Dir, member, "tokens")
	w.must(os.RemoveAll(tokens))
	w.must(os.Mkdir(tokens, 0o700))
}

// "Each has its own clear message, and the other members serve."
func TestOneBadMember(t *testing.T) {
	for _, bad := range []struct {
		name   string
		do     func(w *world)
		status string // in the last error of the member; empty: it is connected
		check  string // what `oneslot check` says
	}{
		{"vendor module missing", func(w *world) {
			w.edit("name = \"b\"\nmodule = \""+w.SoftHSM, "name = \"b\"\nmodule = \"/none/such.so")
		}, "cannot open shared object", "stat /none/such.so: no such file or directory"},
		{"vendor module is none", func(w *world) {
			w.edit("name = \"b\"\nmodule = \""+w.SoftHSM, "name = \"b\"\nmodule = \""+w.Conf)
		}, "invalid ELF header", "invalid ELF header"},
		{"token missing", func(w *world) { w.noTokens("b") }, "is not there", `token "sandbox" is not there`},
		{"two tokens with one label", func(w *world) { w.newToken("b") }, "name one with serial", "2 tokens fit label"},
		{"no domain", func(w *world) { w.noTokens("b"); w.newToken("b") }, "", "b is in no domain"},
		{"another domain", func(w *world) {
			other, err := cluster.New(bin, filepath.Join(w.Dir, "other"), 1)
			w.must(err)
			w.must(os.RemoveAll(filepath.Join(w.Dir, "b", "tokens")))
			w.must(os.Rename(filepath.Join(other.Dir, "a", "tokens"), filepath.Join(w.Dir, "b", "tokens")))
		}, "", "members are in different domains"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			if !inProcess(t) {
				return
			}
			w := newWorld(t, 3)
			bad.do(w)
			k := w.open()
			s, err := k.Login(w.PIN)
			w.must(err)
			w.must(w.Ready("a", "c"))
			a := &app{Token: k, w: w, s: s}
			load := a.calm(6, a.everything()...)
			w.must(w.Works("a"))
			w.must(w.Works("c"))
			unharmed(t, load)
			if bad.status != "" {
				w.must(w.Wait("b", "says why", func(m control.Member) bool {
					return m.State != "ready" && strings.Contains(m.LastError, bad.status)
				}))
			}
			if said := w.check(); !strings.Contains(said, bad.check) || !strings.Contains(said, "member b") {
				t.Errorf("oneslot check does not say %q:\n%s", bad.check, said)
			}
		})
	}
}

// A configuration that cannot be used offers nothing at all. The reason stands
// in the log and in `oneslot check`, with the line.
func TestBadConfiguration(t *testing.T) {
	for _, bad := range []struct{ name, line, want string }{
		{"unknown key", "nonsense = 1", `unknown key "nonsense"`},
		{"impossible value", `probe_interval = "-1s"`, "probe_interval"},
		{"no TOML", "[[[", "oneslot.toml:"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			if !inProcess(t) {
				return
			}
			w := newWorld(t, 1)
			w.must(w.Set(bad.line))
			w.refused()
			if said := w.check(); !strings.Contains(said, bad.want) || !strings.Contains(said, w.Conf+":") {
				t.Errorf("oneslot check does not say %q:\n%s", bad.want, said)
			}
			w.logged(w.Log, bad.want) // the log is where the broken file says
		})
	}
	t.Run("none", func(t *testing.T) {
		if !inProcess(t) {
			return
		}
		w := newWorld(t, 1)
		w.must(os.Remove(w.Conf))
		w.refused()
		if said := w.check(); !strings.Contains(said, w.Conf) {
			t.Errorf("oneslot check does not say where it looked:\n%s", said)
		}
		w.logged(config.Here().LogFile(), "none found")
	})
}

// refused: C_Initialize says that nothing can be offered.
func (w *world) refused() {
	w.t.Helper()
	w.t.Setenv("XDG_STATE_HOME", w.Dir)
	ctx := p11.New(w.Module)
	defer ctx.Destroy()
	if err := ctx.Initialize(); !errors.Is(err, p11.Error(p11.CKR_GENERAL_ERROR)) {
		w.t.Errorf("C_Initialize: %v", err)
	}
	w.alone()
}

// logged looks for a reason in a log.
func (w *world) logged(file, want string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	w.must(err)
	said := ""
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, w.Conf) {
			said += strings.ReplaceAll(line, `\"`, `"`) // within a message they are escaped
		}
	}
	if !strings.Contains(said, want) {
		w.t.Errorf("%s does not say %q:\n%s", file, want, said)
	}
}

// Field-G10: an application can start while no member is there, and works as
// soon as one is.
func TestStartWithoutAnyMember(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	for _, member := range w.Members {
		w.must(w.Away(member))
	}
	k, err := token.New(w.Module)
	w.must(err)
	t.Cleanup(func() { k.Close() })
	if all, err := k.GetSlotList(false); err != nil || len(all) != 1 {
		t.Errorf("slots without any member: %v, %v", all, err)
	}
	if err := k.Choose(w.Token); err == nil {
		t.Error("a token is present without any member")
	}
	w.must(w.Back("b"))
	w.must(w.Ready("b"))
	w.must(k.Choose(w.Token))
	s, err := k.Session()
	w.must(err)
	w.must(k.Ctx.Login(s, p11.CKU_USER, w.PIN))
	a := &app{Token: k, w: w, s: s}
	a.use(a.everything()...)
	w.must(w.Back("a"))
	w.must(w.Ready())
	a.use(a.everything()...)
}
