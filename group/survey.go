// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Survey is what the members of a group hold, looked at without changing
// anything, and what a sync would do.
type Survey struct {
	Group   string          `json:"group"`
	Members []SurveyMember  `json:"members"`
	Objects []SurveyObject  `json:"objects"`
	Records []SurveyPending `json:"journal"`
}

// A SurveyMember is one member of a survey.
type SurveyMember struct {
	Name    string `json:"name"`
	Serial  string `json:"serial"`
	Objects int    `json:"objects"`
	Error   string `json:"error,omitempty"` // why it could not be looked at
}

// A SurveyObject is one object, wherever it is.
type SurveyObject struct {
	What        string             `json:"what"`
	Fingerprint string             `json:"fingerprint"`          // empty: its identity cannot be established
	On          map[string]int     `json:"on"`                   // how many copies on which member
	Differ      []SurveyDifference `json:"differ"`               // attributes that do not read the same everywhere
	CopyTo      []string           `json:"copy_to"`              // what a sync does
	DestroyOn   []string           `json:"destroy_on"`           // likewise: it was destroyed while these were away
	NotCopied   string             `json:"not_copied,omitempty"` // why it does not
	Proof       *SurveyProof       `json:"proof,omitempty"`      // of keys on several members, if it was asked for

	copies []holding
}

// A holding is one object on one member.
type holding struct {
	link *link
	id   wire.Identity
}

func (h holding) name() string { return h.link.seat.member.Name() }

// A SurveyPending is an event of the journal that some member has not confirmed.
type SurveyPending struct {
	What    string   `json:"what"`
	Time    string   `json:"time"`
	Waiting []string `json:"waiting"` // names, or serial numbers that no member of the group has
}

// Look makes a survey. The PIN is sent to one member after the other, and to no
// further one when it was refused (F7). With prove set keys that are on several
// members are used, to show that their copies are the same (prove.go).
func Look(ctx context.Context, options config.Group, members []member.Member, pin pkcs11.PIN, prove bool) Survey {
	g := New(options, members, wire.GroupView, func(Event) {})
	defer g.Close()
	survey := Survey{Group: options.Name, Members: []SurveyMember{}, Objects: []SurveyObject{}, Records: []SurveyPending{}}
	var holdings []holding
	var links []*link
	var wrong error
	for _, s := range g.seats {
		row := SurveyMember{Name: s.member.Name()}
		l, found, err := g.lookAt(ctx, s, pin, wrong)
		if errors.As(err, new(*mismatch)) && wrong == nil {
			wrong = errors.New("not asked, since the PIN was refused elsewhere")
		}
		row.Serial = s.serial
		if err != nil {
			row.Error = strings.TrimPrefix(err.Error(), "member "+row.Name+": ")
		} else {
			links, row.Objects = append(links, l), len(found)
			for i := range found {
				holdings = append(holdings, holding{l, found[i]})
			}
		}
		if l != nil {
			defer l.leave()
		}
		survey.Members = append(survey.Members, row)
	}
	survey.compare(holdings)
	survey.pending(g, links)
	survey.inspect(g, holdings, prove)
	return survey
}

// inspect compares the copies of each object, and proves them.
func (v *Survey) inspect(g *Group, all []holding, prove bool) {
	var publics []holding
	for _, h := range all {
		if h.id.Class == pkcs11.CKO_PUBLIC_KEY {
			publics = append(publics, h)
		}
	}
	for i := range v.Objects {
		row := &v.Objects[i]
		differ, err := g.differ(row.copies)
		if err == nil {
			row.Differ = append(row.Differ, differ...)
			if prove {
				row.Proof, err = g.prove(row.copies, publics)
			}
		}
		if err != nil {
			row.Proof = unproved("%v", err)
		}
	}
}

// lookAt connects one member and lists it.
func (g *Group) lookAt(ctx context.Context, s *seat, pin pkcs11.PIN, wrong error) (*link, []wire.Identity, error) {
	conn, err := s.member.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	about := conn.Token()
	s.serial = pkcs11.Unpad(about.Token.Serial[:])
	l, err := g.newLink(s, conn, uint64(s.index)+1)
	if err != nil {
		l.leave()
		return nil, nil, err
	}
	g.mu.Lock()
	s.link = l
	g.mu.Unlock()
	switch {
	case pin == nil:
	case wrong != nil:
		return l, nil, wrong
	default:
		if err := g.followAs(l, 0, pkcs11.CKU_USER, pin); err != nil {
			return l, nil, err
		}
	}
	found, err := g.list(l)
	return l, found, err
}

// compare finds out for each object what is where and what is to be done.
func (v *Survey) compare(holdings []holding) {
	rows := make(map[identityKey]*SurveyObject)
	copyable := make(map[identityKey]bool)
	var order []identityKey
	for i, h := range holdings {
		key := keyOf(&h.id)
		if len(h.id.Fingerprint) == 0 {
			key.fingerprint = fmt.Sprint(i) // nobody's copy
		}
		if rows[key] == nil {
			rows[key] = &SurveyObject{What: describe(&h.id), Fingerprint: fmt.Sprintf("%x", h.id.Fingerprint), On: map[string]int{},
				Differ: []SurveyDifference{}, CopyTo: []string{}, DestroyOn: []string{}}
			order = append(order, key)
		}
		rows[key].On[h.name()]++
		rows[key].copies = append(rows[key].copies, h)
		copyable[key] = copyable[key] || h.id.Flags&wire.Copyable != 0
	}
	slices.SortStableFunc(order, func(a, b identityKey) int { // halves of a pair side by side
		x, y := &rows[a].copies[0].id, &rows[b].copies[0].id
		return cmp.Or(bytes.Compare(x.Label, y.Label), bytes.Compare(x.ID, y.ID), cmp.Compare(x.Class, y.Class))
	})
	for _, key := range order {
		row := rows[key]
		v.plan(row, copyable[key])
		v.Objects = append(v.Objects, *row)
	}
}

// plan decides what a sync does with an object.
func (v *Survey) plan(row *SurveyObject, copyable bool) {
	most := 0
	for _, n := range row.On {
		most = max(most, n)
	}
	for _, m := range v.Members {
		if m.Error == "" && row.On[m.Name] < most {
			row.CopyTo = append(row.CopyTo, m.Name)
		}
	}
	switch {
	case len(row.CopyTo) == 0:
		return
	case !copyable:
		row.NotCopied = "it was made so that it cannot leave its token"
	case row.Fingerprint == "":
		row.NotCopied = "it cannot be recognised on another member"
	default:
		return
	}
	row.CopyTo = []string{}
}

// Only returns the objects that one member was seen to hold and no other, but for those
// that it was to have destroyed.
func (v *Survey) Only(member string) (only []SurveyObject) {
	for _, o := range v.Objects {
		if o.On[member] > 0 && len(o.On) == 1 && !slices.Contains(o.DestroyOn, member) {
			only = append(only, o)
		}
	}
	return only
}

// pending lists what the journals of the members say.
func (v *Survey) pending(g *Group, links []*link) {
	entries, _ := g.journal(links) // a member that cannot tell its own is missing here only
	for _, e := range entries {
		waiting := []string{}
		for _, name := range e.left {
			i := slices.IndexFunc(g.seats, func(s *seat) bool { return g.called(s, name) })
			if i >= 0 {
				name = g.seats[i].member.Name()
			}
			waiting = append(waiting, name)
		}
		if e.Op == opDestroy {
			v.destroy(&e.Identity, waiting)
		}
		v.Records = append(v.Records, SurveyPending{What: e.String(), Time: e.Time.Format("2006-01-02T15:04:05Z07:00"), Waiting: waiting})
	}
}

// destroy changes the plan for an object that was destroyed.
func (v *Survey) destroy(id *wire.Identity, waiting []string) {
	for i := range v.Objects {
		row := &v.Objects[i]
		if row.Fingerprint != fmt.Sprintf("%x", id.Fingerprint) {
			continue
		}
		for _, name := range waiting {
			if row.On[name] > 0 {
				row.CopyTo, row.NotCopied = []string{}, ""
				row.DestroyOn = append(row.DestroyOn, name)
			}
		}
	}
}

// Sync brings the members of a group to hold the same, as a group does when
// members join, and ends. It returns for each member why it could not take part.
func Sync(ctx context.Context, options config.Group, members []member.Member, pin pkcs11.PIN, report func(Event)) (rv pkcs11.RV, failed map[string]error) {
	g := New(options, members, wire.GroupView, report)
	defer g.Close()
	g.Start()
	g.Settle(ctx)
	if pin != nil {
		if rv := g.Login(pkcs11.CKU_USER, pin); rv != pkcs11.CKR_OK {
			return rv, nil
		}
	}
	g.Settle(ctx)
	failed = make(map[string]error)
	for _, m := range g.Snapshot().Members {
		if m.State != Ready {
			failed[m.Name] = errors.Join(fmt.Errorf("it is %v", m.State), m.Cause)
		}
	}
	return pkcs11.CKR_OK, failed
}
