// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/pkcs11"
)

// A survey says what is where and what waits, and changes nothing; a sync makes
// the members equal.
func TestSurveyAndSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		gone, _ := b.generate("gone")
		b.generate("kept")
		b.down(1)
		b.generate("new")
		b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity))
		b.g.Close()
		b.members[1].Up()

		v := Look(t.Context(), b.g.options, membersOf(b), pkcs11.PIN(pin), false)
		if len(v.Objects) != 3 || len(v.Records) != 1 || !slices.Equal(v.Records[0].Waiting, []string{"b"}) {
			t.Errorf("survey: %+v", v)
		}
		copies, destructions := 0, 0
		for _, o := range v.Objects {
			copies += len(o.CopyTo)
			destructions += len(o.DestroyOn)
		}
		if copies != 1 || destructions != 1 {
			t.Errorf("the plan: %+v", v.Objects)
		}
		if n := len(b.members[1].Token.Keys()); n != 2 {
			t.Errorf("the survey changed member b: %d keys", n)
		}
		rv, failed := Sync(t.Context(), b.g.options, membersOf(b), pkcs11.PIN(pin), func(Event) {})
		if rv != pkcs11.CKR_OK || len(failed) > 0 {
			t.Errorf("sync: %v %v", rv, failed)
		}
		b.equal(2)
	})
}

// F7: a PIN that one member refuses goes to no other.
func TestSurveyStopsAtAWrongPIN(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.g.Close()
		Look(t.Context(), b.g.options, membersOf(b), pkcs11.PIN("0000"), true)
		tried := 0
		for _, m := range b.members {
			tried += m.Token.PINsTried()
		}
		if tried != 1 {
			t.Errorf("the wrong PIN was tried %d times", tried)
		}
	})
}
