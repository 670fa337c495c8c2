// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"slices"
)

// What a token holds, for tests that look at it behind the group's back.

// Keys are the fingerprints of the token objects, in the order of creation.
func (t *Token) Keys() (keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.objects {
		keys = append(keys, fmt.Sprintf("%x", o.id.Fingerprint[:4]))
	}
	slices.Sort(keys)
	return keys
}

// Labels are the labels of the token objects.
func (t *Token) Labels() (labels []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.objects {
		labels = append(labels, string(o.id.Label))
	}
	slices.Sort(labels)
	return labels
}

// JournalLength is the number of records on the token.
func (t *Token) JournalLength() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, r := range t.journal {
		if !isRoster(r) {
			n++
		}
	}
	return n
}

// Journal is the records on the token.
func (t *Token) Journal() (records []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.journal {
		if !isRoster(r) {
			records = append(records, string(r))
		}
	}
	return records
}

// Holds are the labels of the token objects with each fingerprint.
func (t *Token) Holds() map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	holds := make(map[string][]string)
	for _, o := range t.objects {
		key := fmt.Sprintf("%x", o.id.Fingerprint[:4])
		holds[key] = append(holds[key], string(o.id.Label))
	}
	return holds
}

// Dates are the CKA_START_DATE of the token objects.
func (t *Token) Dates() (dates []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.objects {
		dates = append(dates, string(o.start))
	}
	slices.Sort(dates)
	return dates
}
