// SPDX-License-Identifier: Apache-2.0

//go:build race

package programs

// Race says whether this program has the race detector.
const Race = true
