// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// What the applications of the model do, and what they are promised by it.

func (w *world) pick(n int) *expectation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.objects) == 0 {
		return nil
	}
	o := w.objects[n%len(w.objects)]
	if o.fate != alive {
		return nil
	}
	return o
}

func (w *world) create(p *process, b *bench, s step) (rv pkcs11.RV, made bool) {
	w.mu.Lock()
	w.made++
	label := fmt.Sprintf("k%d", w.made)
	old := w.values[s.Key]
	was := gone
	if old != nil {
		was = old.fate
	}
	if s.Deed == "bring" && old != nil && was == gone {
		old.fate = unsure // until it is known what came of it
	}
	w.mu.Unlock()
	var created []Created
	switch s.Deed {
	case "generate":
		created, rv = b.generate(label)
	case "pair":
		created, rv = b.generatePair(label)
	case "bring":
		if was != gone {
			return pkcs11.CKR_OK, false
		}
		created, rv = b.bring(fmt.Sprintf("value %d", s.Key), label)
	case "twin":
		if was != alive {
			return pkcs11.CKR_OK, false
		}
		created, rv = b.bring(fmt.Sprintf("value %d", s.Key), label)
		old = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if rv != pkcs11.CKR_OK {
		if old != nil {
			old.labels = append(old.labels, label)
		}
		w.attempts[label] = map[string]int{"generate": 1, "pair": 2, "bring": 1, "twin": 1}[s.Deed]
		return rv, true
	}
	for _, c := range created {
		o := &expectation{id: c.Identity, fate: alive, labels: []string{label}}
		if s.Deed == "bring" {
			if old != nil {
				*old = *o
				continue
			}
			w.values[s.Key] = o
		}
		w.objects = append(w.objects, o)
	}
	return rv, true
}

func (w *world) becomes(o *expectation, f fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.fate = f
}

// touch destroys, changes or uses an object.
func (w *world) touch(p *process, b *bench, s step, o *expectation) (rv pkcs11.RV) {
	switch s.Deed {
	case "destroy":
		w.becomes(o, unsure)
		if rv = b.g.Destroy(o.id, o.named()); rv == pkcs11.CKR_OK && !p.isDead() {
			w.becomes(o, gone)
		}
	case "label":
		w.mu.Lock()
		w.made++
		label := fmt.Sprintf("l%d", w.made)
		w.mu.Unlock()
		t := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}
		before := o.labels
		o.labels = append(slices.Clip(before), label) // also to an attempt after a lost one
		if rv = b.g.SetAttributes(o.id, t, o.named()); rv == pkcs11.CKR_OK && !p.isDead() {
			o.labels, o.id.Label = []string{label}, []byte(label)
		}
	case "use":
		rv = w.use(b.g, o)
	}
	return rv
}

// named resolves an object of one key by what it may be called, as an engine does for
// what is to be changed.
func (o *expectation) named() Resolver {
	return func(p *Place, stale uint64) (uint64, pkcs11.RV, error) {
		call := wire.Resolve{Wanted: o.id}
		if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
			return 0, call.RV, err
		}
		for _, f := range call.Found {
			if f.Object != stale && slices.Contains(o.labels, string(f.Label)) {
				return f.Object, pkcs11.CKR_OK, nil
			}
		}
		return 0, 0, ErrElsewhere
	}
}

func (w *world) use(g *Group, o *expectation) pkcs11.RV {
	rv, err := g.Do(wire.Use, Balance, func(p *Place) (pkcs11.RV, error) {
		object, rv, err := resolve(o.id)(p, 0)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		begin, sign := wire.SignInit{Key: object}, wire.Sign{}
		n, err := p.Do(&begin, &sign)
		if err != nil || n < 2 {
			return begin.RV, err
		}
		if sign.RV == pkcs11.CKR_OK && string(sign.Signature.Data) != string(o.id.Fingerprint) {
			w.complain("another key signed than the one meant")
		}
		return sign.RV, nil
	})
	if err != nil && rv == pkcs11.CKR_OK {
		return pkcs11.CKR_DEVICE_ERROR
	}
	return rv
}
