// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// An index tells which fingerprints are on the token. It is made anew when it is
// older than indexAge: other processes write to the token too. A search costs
// 33 µs for each object that SoftHSM 2.6.1 holds, whatever it finds; one for
// each of a thousand copies would take longer than the copies.
type index struct {
	made    time.Time
	cost    time.Duration // of making it
	handles map[string][]uint64
}

const (
	indexAge = 250 * time.Millisecond

	// A member that is filled looks at the end for twins that came of an index that
	// was too old, and removes them. So on a full token one may be older there: ten
	// times what it took to make, up to indexAgeMax.
	indexShare  = 10
	indexAgeMax = time.Second
)

// current says whether the index may still be used, in a fill or otherwise.
func (i *index) current(fill bool) bool {
	age := indexAge
	if fill {
		age = min(max(indexAge, indexShare*i.cost), indexAgeMax)
	}
	return time.Since(i.made) < age
}

// copies finds the objects on the token that are the one wanted: at least enough
// of them if there are as many, and all otherwise. fill says that the caller will look
// once more for those of other processes.
func (s *session) copies(wanted *wire.Identity, enough uint64, fill bool) (same []wire.Identity, rv pkcs11.RV) {
	switch {
	case len(wanted.Fingerprint) == 0:
		return nil, pkcs11.CKR_OK
	case !s.token.countsHandles || wanted.Class == pkcs11.CKO_DATA:
		// Fingerprints of these are not remembered, so there is no index.
		all := hints(wanted)[len(hints(wanted))-1]
		return s.same(wanted, all.With(pkcs11.Bool(pkcs11.CKA_TOKEN, true)))
	}
	if rv := s.refreshIndex(fill); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	s.token.state.Lock()
	handles := slices.Clone(s.token.index.handles[string(wanted.Fingerprint)])
	s.token.state.Unlock()
	for _, object := range handles {
		k, rv := s.identifyFound(object)
		switch {
		case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
		case rv != pkcs11.CKR_OK:
			return nil, rv
		case k.Same(wanted) && k.Flags&wire.OnToken != 0:
			same = append(same, k.Identity)
		}
		if len(same) > 0 && uint64(len(same)) >= enough {
			break
		}
	}
	return same, pkcs11.CKR_OK
}

func (s *session) refreshIndex(fill bool) pkcs11.RV {
	s.token.state.Lock()
	fresh := s.token.index.current(fill)
	s.token.state.Unlock()
	if fresh {
		return pkcs11.CKR_OK
	}
	made := time.Now()
	handles := map[string][]uint64{}
	all, rv := s.objects(pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)})
	if rv != pkcs11.CKR_OK {
		return rv
	}
	for _, object := range all {
		if s.token.isHidden(object) {
			continue
		}
		print := s.printOf(object)
		if print == nil {
			k, rv := s.identifyFound(object)
			if rv != pkcs11.CKR_OK && rv != pkcs11.CKR_OBJECT_HANDLE_INVALID {
				return rv
			}
			if hides(&k) {
				s.token.hide(object)
				continue
			}
			print = bytes.Clone(k.Fingerprint)
		}
		if len(print) > 0 {
			handles[string(print)] = append(handles[string(print)], object)
		}
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	s.token.index = index{made: made, cost: time.Since(made), handles: handles}
	return pkcs11.CKR_OK
}

// indexed adds an object that we just made.
func (s *session) indexed(k *known) {
	s.token.state.Lock()
	defer s.token.state.Unlock()
	if s.token.index.handles == nil || len(k.Fingerprint) == 0 {
		return
	}
	list := &s.token.index
	list.handles[string(k.Fingerprint)] = append(list.handles[string(k.Fingerprint)], k.Object)
}
