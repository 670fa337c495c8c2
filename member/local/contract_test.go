// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"os"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/member/membertest"
)

// TestContract runs the contract on a member process with a SoftHSM token.
func TestContract(t *testing.T) {
	token := hosttest.Token(t, "contract")
	membertest.Run(t, func(t *testing.T) membertest.Subject {
		return membertest.Subject{PIN: hosttest.UserPIN, Member: local.New(local.Config{
			Name: "a", Program: hosttest.Program(t), Module: hosttest.SoftHSM, Token: token.Label,
			Env: append(os.Environ(), token.Env()),
		})}
	})
}
