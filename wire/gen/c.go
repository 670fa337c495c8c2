// SPDX-License-Identifier: Apache-2.0

package main

func writeC(root string, t *Table) error { return nil }
