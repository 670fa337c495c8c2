// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/member"
)

// Deadlines are the ends of both certificates (field-L9): this client's as its
// file is now, the appliance's as it was shown last.
func (m *Member) Deadlines() []member.Deadline {
	var all []member.Deadline
	if own, err := certificate.Read(m.config.Certificate); err == nil { // else connecting says why
		d := member.Deadline{What: "certificate of this client", End: own.NotAfter}
		if text := certificate.Warning(own.NotAfter, time.Now()); text != "" {
			d.Warning = fmt.Sprintf("the certificate %s %s: make the next one with oneslot cert new, and have it registered with --also", m.config.Certificate, text)
		}
		all = append(all, d)
	}
	if shown := m.shown.Load(); shown != nil {
		d := member.Deadline{What: "certificate of the appliance", End: shown.NotAfter}
		if text := certificate.Warning(shown.NotAfter, time.Now()); text != "" {
			d.Warning = fmt.Sprintf("the certificate of the appliance %s %s: its operator has to make the next one; where it is pinned by fingerprint, server has to follow", m.config.Address, text)
		}
		all = append(all, d)
	}
	return all
}

// Dangers tells of a key that others may read: who has it can pass for this client.
func (m *Member) Dangers() []string {
	text := certificate.Exposed(m.config.Key)
	if text == "" {
		return nil
	}
	return []string{fmt.Sprintf("the key %s: %s; who has read it can pass for this client, so make a new one with oneslot cert new", m.config.Key, text)}
}
