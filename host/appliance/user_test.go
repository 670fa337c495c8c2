// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/wire"
)

// What the vendor's module can do is decided before a line of it has run: it is the
// user of the configuration with that user's groups, cannot become root again, gets
// no new privileges, and reads no key of the appliance (N1).
func TestPrivilegesAreGivenUp(t *testing.T) {
	const spy = `#include <glob.h>
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		__attribute__((constructor)) static void load(void) {
			char line[256];
			FILE *f = fopen("/proc/self/status", "r");
			int back = setuid(0);
			printf("uid=%d/%d gid=%d/%d groups=%d", getuid(), geteuid(), getgid(), getegid(), getgroups(0, NULL));
			while (f && fgets(line, sizeof line, f)) {
				line[strcspn(line, "\n")] = 0;
				if (!strncmp(line, "NoNewPrivs:", 11) || !strncmp(line, "CapEff:", 7))
					printf(" %s", line);
			}
			glob_t threads;
			int may = 0; // gain new privileges
			glob("/proc/self/task/*/status", 0, NULL, &threads);
			for (size_t i = 0; i < threads.gl_pathc; i++) {
				FILE *of = fopen(threads.gl_pathv[i], "r");
				while (of && fgets(line, sizeof line, of))
					may += !strncmp(line, "NoNewPrivs:\t0", 13);
			}
			printf(" threads=%s\n", may || threads.gl_pathc < 2 ? "free" : "confined");
			printf(" root=%s key=%s\n", back && getuid() ? "no" : "yes", access(KEY, R_OK) ? "no" : "yes");
			fflush(stdout);
		}`
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid, groups := account.Uid, account.Gid, 1
	if os.Getuid() != 0 { // the listener has nothing to give up but the way to more
		all, err := os.Getgroups()
		if err != nil {
			t.Fatal(err)
		}
		uid, gid, groups = fmt.Sprint(os.Getuid()), fmt.Sprint(os.Getgid()), len(all)
	}
	b := start(t, func(c *appliance.Config) {
		c.User = account.Username
		c.Tokens[0].Module = library(t, spy, fmt.Sprintf("-DKEY=%q", c.Key))
	})
	web := b.client("web", ca)
	// The user has to read the register.
	for _, folder := range []string{filepath.Dir(b.folder), b.folder, b.config.Register} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(b.config.Register, "web.client.toml"), b.config.Tokens[0].Module} {
		if err := os.Chmod(file, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(b.config.Tokens[0].Module), 0o755); err != nil {
		t.Fatal(err)
	}
	web.refused("ca") // it is no module
	b.tells("module-printed", "client=web", fmt.Sprintf("uid=%s/%s gid=%s/%s groups=%d ", uid, uid, gid, gid, groups),
		`CapEff:\t0000000000000000`, `NoNewPrivs:\t1`, "threads=confined", "root=no")
	if os.Getuid() == 0 {
		b.tells("module-printed", "key=no")
	}

	// A user that cannot see whether its client may stay is not let loose.
	if err := os.Chmod(b.config.Register, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		web.refused("ca")
		b.tells("connection-refused", "code="+string(wire.RefusedOutOfOrder), "let that user read the register")
	}
}
