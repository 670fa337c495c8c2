// SPDX-License-Identifier: Apache-2.0

//go:build !race

package appliance_test

const raceDetector = false
