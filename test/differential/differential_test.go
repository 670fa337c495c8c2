// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"oneslot.dev/oneslot/pkcs11"
)

// An act is one step of a sequence.
type act func(*world)

func times(n int, a act) []act {
	var list []act
	for range n {
		list = append(list, a)
	}
	return list
}

func mix(lists ...[]act) (all []act) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var (
	sessionActs = mix(times(3, (*world).actOpen), times(3, (*world).actClose), times(1, (*world).actCloseAll), times(4, (*world).actLogin),
		times(3, (*world).actLogout), times(3, (*world).actSessionInfo), times(1, (*world).actSetPIN), times(1, (*world).actRandom),
		times(1, (*world).actSeed), times(1, (*world).actLegacy), times(1, (*world).actMechanismInfo))
	objectActs = mix(times(6, (*world).actCreate), times(3, (*world).actTwin), times(2, (*world).actCopy), times(2, (*world).actDestroy), times(5, (*world).actGetAttributes),
		times(2, (*world).actSetAttributes), times(4, (*world).actFind), times(1, (*world).actFindWrongly), times(1, (*world).actSize),
		times(2, (*world).actGenerate), times(1, (*world).actGeneratePair))
	cryptoActs = mix(times(8, (*world).actWhole), times(2, (*world).actInit), times(2, (*world).actSingle), times(2, (*world).actUpdate),
		times(2, (*world).actFinal), times(1, (*world).actDigestKey), times(1, (*world).actRecover), times(1, (*world).actDualAlone), times(2, (*world).actDual))
	wrapActs = mix(times(3, (*world).actWrap), times(3, (*world).actUnwrap), times(5, (*world).actDerive), times(2, (*world).actGetAttributes), times(1, (*world).actWhole))
)

// sequences runs random sequences of these acts. Those of crypto start with
// keys that work.
func sequences(t *testing.T, keys bool, acts []act) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{T: rt}
		w.reset()
		if keys {
			w.makeKeys()
		}
		for range between(5, 25).Draw(rt, "steps") {
			oneOf(acts).Draw(rt, "act")(w)
			if w.over {
				return
			}
		}
	})
}

// makeKeys makes one of each kind, as objects of the first session or the token.
func (w *world) makeKeys() {
	for _, k := range kinds {
		if k.name == "bad AES" || k.name == "data" || k.name == "certificate" {
			continue
		}
		list := k.template
		if w.chance(20, "token") {
			list = append(append([]attribute{}, list...), yes(pkcs11.CKA_TOKEN))
		}
		a := w.all("C_CreateObject", k.name, func(side int, c *call) {
			c.number(w.sessions[0].handles[side])
			c.attributes(list, false, false)
			c.handle()
		})
		w.made(a, 0, w.sessions[0], k.name, list)
	}
}

func TestSessions(t *testing.T) {
	sequences(t, false, mix(sessionActs, times(4, (*world).actCreate), times(3, (*world).actFind)))
}
func TestObjects(t *testing.T)  { sequences(t, false, mix(objectActs, times(1, (*world).actOpen))) }
func TestCrypto(t *testing.T)   { sequences(t, true, mix(cryptoActs, times(1, (*world).actOpen))) }
func TestWrapping(t *testing.T) { sequences(t, true, wrapActs) }
func TestAll(t *testing.T)      { sequences(t, true, mix(sessionActs, objectActs, cryptoActs, wrapActs)) }

// TestUndestroyable comes last: nothing removes what it leaves on the tokens.
func TestUndestroyable(t *testing.T) {
	done := false
	rapid.Check(t, func(rt *rapid.T) {
		if done {
			return
		}
		done = true
		w := &world{T: rt}
		w.reset()
		s := w.sessions[0]
		for _, k := range kinds {
			if k.name == "bad AES" {
				continue
			}
			w.create(s, "", k.name, append(append([]attribute{}, k.template...), yes(pkcs11.CKA_TOKEN), no(pkcs11.CKA_DESTROYABLE), text(pkcs11.CKA_LABEL, "kept")), false)
			o := w.objects[len(w.objects)-1]
			w.destroy(s, "", o, k.name)
			w.set(s, "", o, k.name, []attribute{yes(pkcs11.CKA_DESTROYABLE)})
			w.destroy(s, "", o, k.name)
			w.set(s, "", o, k.name, []attribute{text(pkcs11.CKA_LABEL, "kept, and renamed")})
		}
		w.find(s, "", nil)
		w.fetch(s, "", 100)
		w.endFind(s, "")
	})
}

func TestDifferencesAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if !strings.Contains(string(text), "**"+d.name) {
			t.Errorf("docs/differences.md does not explain %q", d.name)
		}
	}
}
