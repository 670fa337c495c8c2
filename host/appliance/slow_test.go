// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// slow is SoftHSM whose random numbers take longer than a member may be silent:
// seed 1 for 5 s, for ever after seed 2.
const slow = `
#include <p11-kit/pkcs11.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
static CK_FUNCTION_LIST list;
static CK_FUNCTION_LIST_PTR real;
static int seed;
static CK_RV remember(CK_SESSION_HANDLE s, CK_BYTE_PTR p, CK_ULONG n) { seed = n ? p[0] : 0; return CKR_OK; }
static CK_RV wait(CK_SESSION_HANDLE s, CK_BYTE_PTR p, CK_ULONG n) {
	if (n == 32 && seed) sleep(seed == 1 ? 5 : 3600);
	return real->C_GenerateRandom(s, p, n);
}
CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR out) {
	CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR) = dlsym(dlopen(MODULE, RTLD_NOW), "C_GetFunctionList");
	CK_RV rv = get(&real);
	memcpy(&list, real, sizeof list);
	list.C_SeedRandom = remember;
	list.C_GenerateRandom = wait;
	*out = &list;
	return rv;
}`

// F2: a slow command beats, on the way through TLS too; one that hangs in the
// module is given up, and its process does not stay.
func TestSlowCommandsBeat(t *testing.T) {
	flags, err := exec.Command("pkg-config", "--cflags", "p11-kit-1").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := library(t, slow, append(strings.Fields(string(flags)), `-DMODULE="`+hosttest.SoftHSM+`"`)...)
	b := start(t, func(c *appliance.Config) { c.Tokens[0].Module = module })
	a := b.client("web", ca).connect()
	random := func(limits member.Limits) (pkcs11.RV, error) {
		call := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 32}}
		_, err := a.session.Do(t.Context(), limits, &call)
		return call.RV, err
	}
	a.must(&wire.SeedRandom{Seed: wire.Data([]byte{1})})
	begin := time.Now()
	if rv, err := random(member.Limits{Silence: 4 * time.Second, Stuck: patience}); rv != pkcs11.CKR_OK || err != nil {
		t.Errorf("a command that beats: %v, %v", rv, err)
	}
	if took := time.Since(begin); took < 5*time.Second {
		t.Errorf("it took %v and was not slow", took)
	}
	a.must(&wire.SeedRandom{Seed: wire.Data([]byte{2})})
	if _, err := random(member.Limits{Silence: 4 * time.Second, Stuck: 5 * time.Second}); err == nil {
		t.Error("a command that hangs was answered")
	}
	a.Close()
	b.tells("client-disconnected", "client=web")
	b.await("the process to end", func() bool { return b.listener.Connections() == 0 })
}

// A client has as many calls in the vendor's module as it may: the next one waits for
// them, and beats meanwhile. A probe is none of them.
func TestCallsAreLimited(t *testing.T) {
	slow := hosttest.NewSlow(t)
	b := start(t, func(c *appliance.Config) {
		c.Tokens[0].Module = slow.Path
		c.Tokens[0].Env["SLOW"] = slow.Folder
		c.Limits.Calls = 1
	})
	a := b.client("web", ca).connect()
	a.must(&wire.Probe{})
	answer := slow.Make("C_SignInit", "3600")
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.do(&wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256_HMAC}, Key: 1})
	}()
	b.await("a call in the module", func() bool { return slow.Calls("C_SignInit") > 0 })
	other := a.open()
	random := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 16}}
	_, err := other.Do(t.Context(), member.Limits{Silence: patience, Stuck: 5 * time.Second}, &random)
	if err == nil || !strings.Contains(err.Error(), "still at work after 5s") {
		t.Errorf("a second call: %v, %v", random.RV, err)
	}
	third := &application{Conn: a.Conn, t: t, session: a.open()}
	third.must(&wire.Probe{})
	answer()
	<-done
	third.must(&random)
}
