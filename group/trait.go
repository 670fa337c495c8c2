// SPDX-License-Identifier: Apache-2.0

package group

import (
	"strings"

	"oneslot.dev/oneslot/wire"
)

// Traits is what tells an object of a member from others of its identity, label
// and ID: its attributes as they are shown, the same on every member (H5).
func (p *Place) Traits(id wire.Identity) (string, error) {
	values, err := readTraits(id.Object, traits(id.Class), func(call wire.Call) error {
		_, err := p.Do(call)
		return err
	})
	return strings.Join(values, "\n"), err
}
