// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// older are the forms that records of the journal once had, as they were written by who
// had followed while member b was away. I stands for the identity of the object, T for
// the time.
var older = []struct {
	name, raw string
	did       func(object uint64) wire.Call // what it says
	twins     bool                          // there is another object of the key
	labels    string                        // that all have in the end
}{
	{name: "a destruction that nobody signed", raw: `{"version":1,"op":"destroy","time":T,"identity":I,"pending":["serial-b"]}`, did: destruction},
	{name: "a change that nobody signed", raw: `{"version":1,"op":"change","time":T,"identity":I,"changes":[` +
		`{"Type":3,"Value":"bmV3","Array":null,"IsList":false,"Null":false,"Length":0}],"pending":["serial-b"]}`, did: renaming, labels: "new"},
	{name: "a destruction by a process", raw: `{"version":1,"op":"destroy","time":T,"identity":I,"by":"P","pending":["serial-b"]}`, did: destruction},
	{name: "a member by its name", raw: `{"version":1,"op":"destroy","time":T,"identity":I,"pending":["@b"]}`, did: destruction},
	{name: "twins of its name only", raw: `{"version":1,"op":"destroy","time":T,"identity":I,"twins":{"others":1},"pending":["serial-b"]}`, did: destruction, twins: true, labels: "old"},
	{name: "twins of its name, and what tells them apart", raw: `{"version":1,"op":"destroy","time":T,"identity":I,"twins":{"others":1,"traits":"X"},"pending":["serial-b"]}`, did: destruction, twins: true, labels: "old"},
	{name: "a creation that is over", raw: `{"version":1,"op":"create","time":T,"identity":I,"pending":["serial-b"]}`, labels: "old"},
	{name: "a creation whose process died", raw: `{"version":1,"op":"create","time":T,"identity":I,"with":[I],"open":true,"pending":["serial-a","serial-b","serial-c"]}`, labels: "old"},
	{name: "a filler that died", raw: `{"version":1,"op":"fill","time":T,"identity":{"Object":0,"Class":0,"KeyType":0,"Size":0,"Flags":0,"Fingerprint":null,"Label":null,"ID":null},"by":"P","pending":null}`, labels: "old"},
}

func destruction(object uint64) wire.Call { return &wire.DestroyObject{Object: object} }

func renaming(object uint64) wire.Call {
	return &wire.SetAttributeValue{Object: object, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}}
}

// K5: records of all forms that were ever written are carried out, and go away.
func TestRecordsOfOlderForms(t *testing.T) {
	for _, form := range older {
		t.Run(form.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := start(t, 3, nil)
				b.login()
				object := b.twin("old", "20250101")
				dates := []string{"20250101"}
				if form.twins {
					b.twin("old", "20260101")
					dates = []string{"20260101"}
				}
				if form.labels == "" {
					dates = nil
				}
				b.down(1)
				id := object.Identity
				id.Object = 0
				about, _ := json.Marshal(id)
				raw := strings.NewReplacer("T,", fmt.Sprintf("%q,", time.Now().UTC().Format(time.RFC3339Nano)), ":I,", ":"+string(about)+",", "[I]", "["+string(about)+"]").Replace(form.raw)
				if r, ok := decodeRecord([]byte(raw)); !ok || !strings.HasPrefix(form.raw, `{"version":1,"op":"`+r.Op) {
					t.Fatalf("it cannot be read: %s", raw)
				}
				for _, i := range []int{0, 2} {
					l := b.g.seats[i].link
					if form.did != nil {
						call := form.did(object.Places[i].Object)
						if _, err := l.background(t.Context(), b.g.limits(nil), call); err != nil || call.Result() != pkcs11.CKR_OK {
							t.Fatal(call.Result(), err)
						}
					}
					if rv, err := b.g.writeRaw(l, []byte(raw)); rv != pkcs11.CKR_OK || err != nil {
						t.Fatal(rv, err)
					}
				}
				b.members[1].Up()
				b.await(1, Ready)
				time.Sleep(time.Hour)
				var labels []string
				if form.labels != "" {
					labels = []string{form.labels}
				}
				b.holdsOnly(labels, dates)
			})
		})
	}
}

// K5: a roster and a note about a token that was given up once named the group; what they
// say counts all the same, and one roster is left.
func TestRostersOfOlderForms(t *testing.T) {
	const identity = `"time":"0001-01-01T00:00:00Z","identity":{"Object":0,"Class":0,"KeyType":0,"Size":0,"Flags":0,"Fingerprint":null,"Label":null,"ID":null},"by":"another"`
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.down(1)
		for _, raw := range []string{
			`{"version":1,"op":"roster",` + identity + `,"pending":["serial-a","serial-b","serial-d","serial-e"]}`,
			`{"version":1,"op":"forgotten",` + identity + `,"pending":["serial-e"]}`,
		} {
			if rv, err := b.g.writeRaw(b.g.seats[0].link, []byte(raw)); rv != pkcs11.CKR_OK || err != nil {
				t.Fatal(rv, err)
			}
		}
		b.members[1].Up()
		b.await(1, Ready)
		time.Sleep(10 * time.Minute)
		if left := b.g.removed(); !slices.Equal(left, []string{"serial-d"}) {
			t.Errorf("tokens that are waited for: %q", left)
		}
		for _, s := range b.g.seats {
			_, records, err := b.g.readRecords(s.link)
			rosters := slices.DeleteFunc(records, func(r record) bool { return r.Op != opRoster })
			if err != nil || len(rosters) != 1 || !slices.Equal(rosters[0].Pending, []string{"serial-a", "serial-b", "serial-d"}) && s.index == 1 {
				t.Errorf("member %d: %v %+v", s.index, err, rosters)
			}
		}
	})
}
