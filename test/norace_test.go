// SPDX-License-Identifier: Apache-2.0

//go:build !race

package test_test

const raceDetector = false
