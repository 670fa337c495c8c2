// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/rand"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A process that stalls may write down who is left of a destruction after others had
// settled it, and the key came back from its value: the record would destroy the new one.
// The process would find that it was late, and take the record back, unless it dies first.
// So such a record does not count from the moment it is written. Its writer looks whether
// the destruction still stands, and only then puts a second one beside it, that vouches for
// it. Each of the two may come late without harm. The first alone says nothing. The second
// alone says nothing either: the first stood before its writer looked, so whoever settled
// the destruction after that has seen it and removed it, and it is not written again.
//
// So whoever has settled a destruction must have looked into the journals once more before
// something of the key is made (settleFor), or a creation is no longer noted (shielded).

// A rumour is a record of a destruction that does not count: nobody vouches for it yet, or
// it vouches for none.
type rumour struct {
	copyOf
	record record
}

// divide leaves those records that count among what was read of a journal.
func (r *reading) divide() {
	first, sure := make(map[string]bool), make(map[string][]byte)
	for i, one := range r.records {
		switch {
		case one.Voucher == "":
		case one.Sure:
			sure[one.Voucher] = r.copies[i].raw
		default:
			first[one.Voucher] = true
		}
	}
	copies, records := r.copies, r.records
	r.copies, r.records = nil, nil
	for i, one := range records {
		c := copies[i]
		switch c.voucher = sure[one.Voucher]; {
		case one.Voucher != "" && (c.voucher == nil || !first[one.Voucher]):
			r.hearsay = append(r.hearsay, rumour{copyOf{link: c.link, raw: c.raw}, one})
		case !one.Sure:
			r.copies, r.records = append(r.copies, c), append(r.records, one)
		}
	}
}

// needsVoucher says whether a record of who is left needs to be vouched for. One that
// nobody waits for does no harm.
func (r *record) needsVoucher() bool { return r.Op == opDestroy && len(r.Pending) > 0 }

// unvouched is the record as it is written before its writer has looked.
func (r record) unvouched() record {
	r.Voucher, r.Sure = rand.Text(), false
	return r
}

// vouch has records count that were written on members, now that their writer has looked.
// It returns, for each of them, where it counts.
func (g *Group) vouch(raws []string, on [][]*link, fail func(*link, error)) (counts [][]*link) {
	counts = make([][]*link, len(raws))
	calls, of := make(map[*link][]wire.Call), make(map[*link][]int)
	var order []*link
	for i, raw := range raws {
		r, _ := decodeRecord([]byte(raw))
		if r.Voucher == "" {
			counts[i] = on[i]
			continue
		}
		r.Sure = true
		for _, l := range on[i] {
			if calls[l] == nil {
				order = append(order, l)
			}
			calls[l], of[l] = append(calls[l], &wire.Record{Record: r.encode()}), append(of[l], i)
		}
	}
	for _, l := range order {
		for from := 0; from < len(calls[l]); from += batchCalls {
			part := calls[l][from:min(from+batchCalls, len(calls[l]))]
			run, err := g.each(l, part)
			for k := range run {
				if i := of[l][from+k]; part[k].Result() == pkcs11.CKR_OK {
					counts[i] = append(counts[i], l)
				}
			}
			if err != nil {
				fail(l, err)
				break
			}
		}
	}
	return counts
}

// wasHeld says whether the record of a destruction came long after its object was looked for.
// What others took for dead, and carried out before that, it would begin anew: so it is taken
// back, and the object looked for once more.
func (g *Group) wasHeld(c *change, begin time.Time) bool {
	if c.record.Op != opDestroy || !c.written || c.held || time.Since(begin) < turnPatience {
		return false
	}
	c.held = true
	return true
}

// overtaken says whether others have taken this process for dead, since it was held up in the
// middle of a destruction, and carried that out: what it destroys now may have been made since.
func (g *Group) overtaken(c *change) bool {
	if c.record.Op != opDestroy || c.on == nil || time.Since(c.stood) < turnPatience {
		return false
	}
	c.over = g.isGone(c)
	c.stood = time.Now()
	return c.over
}

// isGone says whether others have removed the record with which a change began.
func (g *Group) isGone(c *change) bool {
	primary := c.on
	g.mu.Lock()
	if now := primary.seat.link; now != nil && primary.seat.state == Ready {
		primary = now
	}
	g.mu.Unlock()
	now := g.look(nil, primary)
	return !now.blind[primary] && len(now.of[primary][c.intent.event()]) == 0
}

// leaveVouched writes down who has not followed a destruction of this process, once it is
// seen that the record with which it began still stands, or nobody can tell any more. Else
// others have taken this process for dead, and know who is left.
func (g *Group) leaveVouched(c *change, rest record) {
	first := rest.unvouched()
	on := g.writeOn(g.readyBut(nil), first)
	if len(on) == 0 {
		g.owe(rest)
		return
	}
	if g.isGone(c) {
		for _, l := range on {
			g.eraseRecord(l, first)
		}
		return
	}
	counts := g.vouch([]string{string(first.encode())}, [][]*link{on}, func(l *link, err error) { g.drop(l, err) })
	if len(counts[0]) == 0 {
		g.owe(rest)
	}
}

// assign gives events those of their records that do not count. It returns the events that
// have no others.
func assign(hearsay []rumour, byEvent map[string]*entry, members []*link) (idle []*entry) {
	for _, t := range hearsay {
		event := t.record.event()
		e := byEvent[event]
		if e == nil {
			e = &entry{record: t.record, among: members}
			byEvent[event], idle = e, append(idle, e)
		}
		e.hearsay = append(e.hearsay, t.copyOf)
	}
	return idle
}

// shielded says whether a creation is noted as long as a destruction of its key was in the
// journals when they were read: that may have been written down once more since.
func (j *job) shielded() bool {
	return j.Op == opCreate && !j.Open && slices.ContainsFunc(slices.Concat(j.before, j.later, j.idle), func(n *entry) bool {
		return n.Op == opDestroy && j.concerns(&n.Identity)
	})
}

// sweep removes the records of events that are over for all that anybody can tell, where
// nobody vouches for them. That is so only if the journals of all members were read once,
// and nobody had vouched for them after that: before, who wrote one leaves an older
// record where it is.
func (g *Group) sweep(idle []*entry, members []*link, which func(*entry) bool) {
	var jobs []*job
	for _, e := range idle {
		if which == nil || which(e) {
			jobs = append(jobs, &job{entry: e})
		}
	}
	if len(jobs) == 0 || len(members) < g.size() {
		return
	}
	once, again := g.look(nil, members...), g.look(nil, members...)
	patient := len(g.removed()) > 0 // they cannot be asked
	for _, j := range jobs {
		event := j.event()
		stands := slices.ContainsFunc(members, func(l *link) bool {
			return once.blind[l] || again.blind[l] || len(once.of[l][event])+len(again.of[l][event]) > 0
		})
		if stands {
			continue
		}
		for _, c := range j.hearsay {
			if slices.ContainsFunc(again.hearsay[c.link], func(t rumour) bool { return string(t.raw) == string(c.raw) }) && (!patient || g.stoodFor(c, claimPatience)) {
				g.eraseRaw(c.link, c.raw)
			}
		}
	}
}
