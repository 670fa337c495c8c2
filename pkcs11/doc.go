// SPDX-License-Identifier: Apache-2.0

// Package pkcs11 is the vocabulary of oneslot: return values, attributes and
// templates, mechanisms, constants and PINs, as PKCS#11 2.40 and 3.0 name and
// number them. It does no I/O and keeps no state.
package pkcs11
