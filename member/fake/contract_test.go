// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/member/membertest"
)

// TestContract proves the fake on the contract of the real ones.
func TestContract(t *testing.T) {
	membertest.Run(t, func(*testing.T) membertest.Subject {
		return membertest.Subject{Member: fake.New("a", "1234"), PIN: "1234"}
	})
}
