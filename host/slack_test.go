// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host/cryptoki"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
)

// A module that says how late its timers may be, and those of a thread that it starts.
const slackModule = `
#include <p11-kit/pkcs11.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static void *own(void *slack) { *(int *)slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); return NULL; }
static CK_RV initialize(void *args) { (void)args; return CKR_OK; }
static CK_RV info(CK_INFO *info)
{
	int here, there = 0;
	pthread_t t;
	char text[33];

	own(&here);
	if (!pthread_create(&t, NULL, own, &there))
		pthread_join(t, NULL);
	memset(info, 0, sizeof *info);
	snprintf(text, sizeof text, "slack %d %d%32s", here, there, "");
	memcpy(info->libraryDescription, text, 32);
	return CKR_OK;
}
CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list)
{
	static CK_FUNCTION_LIST l = { .C_Initialize = initialize, .C_GetInfo = info };

	*list = &l;
	return CKR_OK;
}`

// Members are started with timers that may be 1 ms late, for Go's monitor thread. A vendor's
// library that polls its HSM must not be slowed down by it, in whatever thread it runs; what
// an administrator chose stays.
func TestTimersOfModulesAreOnTime(t *testing.T) {
	const asked = "ONESLOT_TEST_SLACK"
	if path := os.Getenv(asked); path != "" {
		m, err := cryptoki.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Initialize(""); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			said := make(chan string)
			go func() {
				runtime.LockOSThread() // for good: each has a thread of its own
				info, rv := m.Info()
				if rv != pkcs11.CKR_OK {
					t.Error(rv)
				}
				said <- pkcs11.Unpad(info.Description[:])
			}()
			os.Stdout.WriteString(<-said + "\n")
		}
		return
	}
	path := hosttest.Module(t, slackModule, "-pthread")
	for has, want := range map[int]string{1000000: "slack 50000 50000", 50000: "slack 50000 50000", 70000: "slack 70000 70000"} {
		got := make(chan string)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with its slack
			c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			c.Env = append(os.Environ(), asked+"="+path)
			out := []byte("no slack of timers")
			err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(has), 0, 0, 0)
			if err == nil {
				out, err = c.CombinedOutput()
			}
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			got <- string(out)
		}()
		if out := <-got; strings.Count(out, want+"\n") != 4 {
			t.Errorf("started with %d ns: %s\nwant four times: %s", has, out, want)
		}
	}
}
