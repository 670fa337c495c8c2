// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
)

// shared is what the sessions of a token know together.
type shared struct {
	state sync.Mutex // guards what follows; never held during a call of the module
	open  int        // sessions
	epoch uint64     // counts logins and logouts: handles of private objects end with them
}

func (s *shared) init() {}

func (s *shared) opened() {
	s.state.Lock()
	s.open++
	s.state.Unlock()
}

// closed ends the login with the last session (PKCS#11 2.40, 5.6: closing the
// last session logs out).
func (s *shared) closed() {
	s.state.Lock()
	s.open--
	last := s.open == 0
	s.state.Unlock()
	if last {
		s.loginChanged()
	}
}

// loginChanged forgets what is known of private objects.
func (s *shared) loginChanged() {
	s.state.Lock()
	s.epoch++
	s.state.Unlock()
}
