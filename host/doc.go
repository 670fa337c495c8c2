// SPDX-License-Identifier: Apache-2.0

// Package host is the token behind a member process: a vendor module behind the
// protocol, and what the group needs of a token beyond PKCS#11. It finds the
// token, tells which object is which, and copies keys to other members without
// ever seeing them (rules H3, K6). It knows no group and repeats nothing.
package host
