// SPDX-License-Identifier: Apache-2.0

//go:build race

package hosttest

// raceFlag builds member processes as the tests themselves are built.
const raceFlag = "-race=true"
