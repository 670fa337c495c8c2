// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"runtime"
	"testing"

	"oneslot.dev/oneslot/host/cryptoki"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A module whose signatures take their time elsewhere, or here.
const paceModule = `
#include <p11-kit/pkcs11.h>
#include <time.h>

static CK_RV initialize(void *args) { (void)args; return CKR_OK; }
static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, void *app, CK_NOTIFY notify, CK_SESSION_HANDLE *out)
{
	(void)slot, (void)flags, (void)app, (void)notify;
	*out = 1;
	return CKR_OK;
}
static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG n, CK_BYTE *out, CK_ULONG *length)
{
	const struct timespec elsewhere = { .tv_nsec = 1000 };

	(void)session, (void)out;
	if (n && data[0] == 'w')
		nanosleep(&elsewhere, NULL);
	*length = 0;
	return CKR_OK;
}
CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list)
{
	static CK_FUNCTION_LIST l = { .C_Initialize = initialize, .C_OpenSession = open_session, .C_Sign = sign };

	*list = &l;
	return CKR_OK;
}`

// Calls that wait for an HSM do not keep others from theirs: Go has a processor for each
// of many. Calls that compute leave it those that the process began with.
func TestProcessorsFollowWhatTheModuleDoes(t *testing.T) {
	m, err := cryptoki.Load(hosttest.Module(t, paceModule))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Initialize(""); err != nil {
		t.Fatal(err)
	}
	s, rv := m.Open(0, 0)
	if rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	began := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(began)
	// So many that those of before do not count.
	for i, data := range []string{"compute", "wait", "compute", "wait", "compute"} {
		for range 1000 {
			if rv := s.Sign(t.Context(), &wire.Sign{Data: wire.Data([]byte(data)), SignatureRoom: wire.Room{Capacity: 8}}); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
		}
		want := began
		if data == "wait" {
			want = max(began, 32)
		}
		if n := runtime.GOMAXPROCS(0); n != want {
			t.Errorf("calls %d %s: Go has %d processors, want %d", i, data, n, want)
		}
	}
}
