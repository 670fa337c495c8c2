// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// R6: a member in another domain, or in none, is quarantined with a clear
// reason, gets no PIN from then on, and the others serve.
func TestOtherDomainIsQuarantined(t *testing.T) {
	for name, domains := range map[string][]string{
		"another domain":       {"one", "two"},
		"none":                 {"one", ""},
		"the first is in none": {"", "one"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, func(*config.Group) {})
			b.g.Close()
			for i, m := range b.members {
				m.Token.SetDomain(domains[i])
			}
			b.g = New(b.g.options, membersOf(b), wire.GroupView, func(Event) {})
			b.g.Start()
			defer b.g.Close()
			b.g.Settle(t.Context())
			if b.state(0) != Ready || b.state(1) != Quarantined {
				t.Fatalf("%s: members are %v and %v", name, b.state(0), b.state(1))
			}
			before := b.members[1].Token.PINsTried()
			b.login()
			if n := b.members[1].Token.PINsTried(); n != before {
				t.Errorf("%s: the quarantined member got a PIN", name)
			}
			time.Sleep(time.Minute)
			if n := b.members[1].Token.PINsTried(); n != before {
				t.Errorf("%s: the quarantined member got a PIN when it was tried again", name)
			}
			if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
				t.Errorf("%s: the other member does not serve: %v", name, rv)
			}
		})
	}
}
