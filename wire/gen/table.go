// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Table is what calls.def and mechanisms.def say, in their order.
type Table struct {
	Calls      []Call
	Mechanisms []Mechanism
}

// A Call is one line of calls.def.
type Call struct {
	Number  uint32
	Name    string // as in C: "C_Sign"
	Args    []Word // in the order of the C signature
	Replies []Word // what the reply fills in; in C they follow the arguments
	Class   string // module, local, ask, use, make or none
}

// A Word is one argument or one piece of a reply. The name is that of the type
// where the table gives none.
type Word struct{ Type, Name string }

// A Mechanism is one line of mechanisms.def.
type Mechanism struct {
	Number uint64
	Name   string // "CKM_RSA_PKCS"
	Form   string // how the parameter travels: "none", "raw", "oaep", …
}

// Extension reports whether the call is one of oneslot's own, which
// applications never see.
func (c Call) Extension() bool { return strings.HasPrefix(c.Name, "X_") }

// Travels reports whether the call is ever sent.
func (c Call) Travels() bool { return c.Class != "module" && c.Class != "none" }

// last240 is the last function of CK_FUNCTION_LIST, which ends with PKCS#11
// 2.40; CK_FUNCTION_LIST_3_0 has those after it as well.
const last240 = 68

// New reports whether the function came with PKCS#11 3.0.
func (c Call) New() bool { return !c.Extension() && c.Number > last240 }

// Begins reports whether the call is the Init of an operation.
func (c Call) Begins() bool {
	return strings.HasSuffix(c.Name, "Init") && slices.ContainsFunc(c.Args, func(w Word) bool { return w.Type == "mechanism" })
}

// The words of the tables' language. PROTOCOL.md says what they mean.
var (
	argTypes = strings.Fields(`bool ulong slot session object bytes pin blob label
		mechanism template query identity opaque callback room`)
	replyTypes = strings.Fields(`bytes ulongs found fill ulong slot session object derived returned
		info slotinfo tokeninfo sessioninfo mechanisminfo opaque
		identity identities description blob blobs`)
	classes = strings.Fields(`module local ask use make none`)
	forms   = strings.Fields(`none raw oaep gcm ccm ecdh string cbcdata8 cbcdata16
		eddsa rsawrap key master master12 material material12 prf kdf pbe`)
)

// readTable reads both tables from the directory that holds them.
func readTable(dir string) (*Table, error) {
	t := new(Table)
	err := eachLine(filepath.Join(dir, "calls.def"), 5, t.addCall)
	if err == nil {
		err = eachLine(filepath.Join(dir, "mechanisms.def"), 3, t.addMechanism)
	}
	return t, err
}

// eachLine calls add with the columns of each line that is not empty and no
// comment.
func eachLine(path string, columns int, add func([]string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		fields := strings.Split(text, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if len(fields) != columns {
			return fmt.Errorf("%s:%d: %d columns, want %d", path, n, len(fields), columns)
		}
		if err := add(fields); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}

// addCall keeps the numbers rising, so none is given twice.
func (t *Table) addCall(f []string) error {
	number, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil {
		return err
	}
	if n := len(t.Calls); n > 0 && uint32(number) <= t.Calls[n-1].Number {
		return fmt.Errorf("number %d is out of order", number)
	}
	c := Call{Number: uint32(number), Name: f[1], Class: f[4]}
	if !slices.Contains(classes, c.Class) {
		return fmt.Errorf("%s: no class %q", c.Name, c.Class)
	}
	if c.Args, err = words(f[2], argTypes); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if c.Replies, err = words(f[3], replyTypes); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	t.Calls = append(t.Calls, c)
	return nil
}

func (t *Table) addMechanism(f []string) error {
	number, err := strconv.ParseUint(f[0], 0, 64)
	if err != nil {
		return err
	}
	if n := len(t.Mechanisms); n > 0 && number <= t.Mechanisms[n-1].Number {
		return fmt.Errorf("number %#x is out of order", number)
	}
	if !slices.Contains(forms, f[2]) {
		return fmt.Errorf("%s: no form %q", f[1], f[2])
	}
	t.Mechanisms = append(t.Mechanisms, Mechanism{number, f[1], f[2]})
	return nil
}

// words reads "type" or "name:type", separated by blanks.
func words(text string, types []string) ([]Word, error) {
	var list []Word
	for _, w := range strings.Fields(text) {
		name, typ, named := strings.Cut(w, ":")
		if !named {
			typ = name
		}
		if !slices.Contains(types, typ) {
			return nil, fmt.Errorf("no type %q here", typ)
		}
		list = append(list, Word{Type: typ, Name: name})
	}
	return list, nil
}
