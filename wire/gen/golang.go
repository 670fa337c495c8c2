// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const goHeader = "// SPDX-License-Identifier: Apache-2.0\n\n// Code generated from calls.def and mechanisms.def by gen; DO NOT EDIT.\n\n"

// goTypes gives the Go type of an argument and the method of Encoder that
// writes it; the Decoder's method of the same name reads it.
var goTypes = map[string]struct{ kind, method string }{
	"bool": {"bool", "Bool"}, "ulong": {"uint64", "Ulong"}, "slot": {"uint64", "Ulong"},
	"session": {"uint64", "Ulong"}, "object": {"uint64", "Ulong"},
	"bytes": {"Bytes", "Bytes"}, "label": {"Bytes", "Bytes"}, "blob": {"[]byte", "Blob"},
	"pin": {"pkcs11.PIN", "PIN"}, "mechanism": {"pkcs11.Mechanism", "Mechanism"},
	"template": {"pkcs11.Template", "Template"}, "query": {"Query", "Query"},
	"ulongs": {"Ulongs", "Ulongs"}, "found": {"Ulongs", "Ulongs"}, "fill": {"Bytes", "Bytes"},
	"info": {"pkcs11.Info", "Info"}, "slotinfo": {"pkcs11.SlotInfo", "SlotInfo"},
	"tokeninfo": {"pkcs11.TokenInfo", "TokenInfo"}, "sessioninfo": {"pkcs11.SessionInfo", "SessionInfo"},
	"mechanisminfo": {"pkcs11.MechanismInfo", "MechanismInfo"},
	"identity":      {"Identity", "Identity"}, "identities": {"[]Identity", "Identities"},
	"description": {"Description", "Description"}, "derived": {"uint64", "Ulong"}, "returned": {"Bytes", "Bytes"}, "blobs": {"[][]byte", "Blobs"},
}

func hasRoom(w Word) bool {
	return w.Type == "bytes" || w.Type == "ulongs" || w.Type == "found" || w.Type == "fill"
}

// goName turns "public_key" into "PublicKey" and "C_Sign" into "Sign".
func goName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "C_"), "X_")
	var out strings.Builder
	for _, part := range strings.Split(name, "_") {
		out.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return out.String()
}

func carried(words []Word) []Word {
	var out []Word
	for _, w := range words {
		if w.Type != "opaque" && w.Type != "callback" {
			out = append(out, w)
		}
	}
	return out
}

// writeGo writes wire/calls_gen.go and pkcs11/mechanisms_gen.go.
func writeGo(root string, t *Table) error {
	if err := writeFormatted(filepath.Join(root, "wire", "calls_gen.go"), goCalls(t)); err != nil {
		return err
	}
	return writeFormatted(filepath.Join(root, "pkcs11", "mechanisms_gen.go"), goMechanisms(t))
}

func writeFormatted(path string, source []byte) error {
	out, err := format.Source(source)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, out, 0o644)
}

func goCalls(t *Table) []byte {
	var b bytes.Buffer
	b.WriteString(goHeader + "package wire\n\nimport (\n\"context\"\n\n\"oneslot.dev/oneslot/pkcs11\"\n)\n\n")
	calls := slices.DeleteFunc(slices.Clone(t.Calls), func(c Call) bool { return c.Class == "none" })
	b.WriteString("// The calls by number.\nconst (\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "\tNumber%s Number = %d\n", goName(c.Name), c.Number)
	}
	b.WriteString(")\n\nvar names = map[Number]string{\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "\t%d: %q,\n", c.Number, c.Name)
	}
	b.WriteString("}\n\nvar classes = map[Number]Class{\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "\t%d: %s,\n", c.Number, goName(c.Class))
	}
	b.WriteString("}\n\n// New returns an empty call of this number, or nil if there is none.\nfunc New(n Number) Call {\n\tswitch n {\n")
	for _, c := range t.Calls {
		if c.Travels() {
			fmt.Fprintf(&b, "\tcase %d:\n\t\treturn new(%s)\n", c.Number, goName(c.Name))
		}
	}
	b.WriteString("\t}\n\treturn nil\n}\n")
	goDispatch(&b, t, "Cryptoki", "the functions of PKCS#11 that travel", func(c Call) bool { return !c.Extension() })
	goDispatch(&b, t, "Once", "Init and what belongs to it in one call", func(c Call) bool { return 1002 <= c.Number && c.Number < 1010 })
	goDispatch(&b, t, "Token", "the calls beyond PKCS#11 that a member answers", func(c Call) bool { return c.Number >= 1010 })
	for _, c := range t.Calls {
		if c.Travels() {
			goCall(&b, c)
		}
	}
	return b.Bytes()
}

// goDispatch writes an interface of calls, its dispatch, and an implementation
// that supports nothing, to embed.
func goDispatch(b *bytes.Buffer, t *Table, name, what string, in func(Call) bool) {
	var methods, cases, refusals strings.Builder
	for _, c := range t.Calls {
		if !c.Travels() || !in(c) {
			continue
		}
		n := goName(c.Name)
		fmt.Fprintf(&methods, "\t%s(context.Context, *%s) pkcs11.RV\n", n, n)
		fmt.Fprintf(&cases, "\tcase *%s:\n\t\tc.RV = h.%s(ctx, c)\n", n, n)
		fmt.Fprintf(&refusals, "func (No%s) %s(context.Context, *%s) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }\n", name, n, n)
	}
	fmt.Fprintf(b, "\n// %s is whoever answers %s.\ntype %s interface {\n%s}\n", name, what, name, methods.String())
	fmt.Fprintf(b, "\n// Dispatch%s has h answer the call, and sets its RV. False: the call is not h's to answer.\nfunc Dispatch%s(ctx context.Context, h %s, call Call) bool {\n\tswitch c := call.(type) {\n%s\tdefault:\n\t\treturn false\n\t}\n\treturn true\n}\n", name, name, name, cases.String())
	fmt.Fprintf(b, "\n// No%s answers every call with CKR_FUNCTION_NOT_SUPPORTED. Embed it and write\n// the methods that are supported.\ntype No%s struct{}\n\n%s", name, name, refusals.String())
}

func goCall(b *bytes.Buffer, c Call) {
	name := goName(c.Name)
	args, replies := carried(c.Args), carried(c.Replies)
	fmt.Fprintf(b, "\n// %s is %s, its arguments and its reply.\ntype %s struct {\n\tAnswer\n", name, c.Name, name)
	for _, w := range args {
		fmt.Fprintf(b, "\t%s %s\n", goName(w.Name), goTypes[w.Type].kind)
	}
	for _, w := range replies {
		if hasRoom(w) {
			fmt.Fprintf(b, "\t%sRoom Room\n", goName(w.Name))
		}
	}
	for _, w := range replies {
		fmt.Fprintf(b, "\t%s %s\n", goName(w.Name), goTypes[w.Type].kind)
	}
	for _, w := range args {
		if w.Type == "query" {
			b.WriteString("\tValues Values\n")
		}
	}
	fmt.Fprintf(b, "}\n\nfunc (*%s) Number() Number { return %d }\n", name, c.Number)
	for _, coder := range []struct{ receiver, verb string }{{"*Encoder", "encode"}, {"*Decoder", "decode"}} {
		fmt.Fprintf(b, "\nfunc (c *%s) %sArgs(x %s) {\n", name, coder.verb, coder.receiver)
		for _, w := range args {
			goField(b, coder.verb, goName(w.Name), goTypes[w.Type].method)
		}
		for _, w := range replies {
			if hasRoom(w) {
				goField(b, coder.verb, goName(w.Name)+"Room", "Room")
			}
		}
		fmt.Fprintf(b, "}\n\nfunc (c *%s) %sReply(x %s) {\n", name, coder.verb, coder.receiver)
		for _, w := range replies {
			goField(b, coder.verb, goName(w.Name), goTypes[w.Type].method)
		}
		for _, w := range args {
			if w.Type == "query" {
				goField(b, coder.verb, "Values", "Values")
			}
		}
		b.WriteString("}\n")
	}
}

func goField(b *bytes.Buffer, verb, field, method string) {
	if verb == "encode" {
		fmt.Fprintf(b, "\tx.%s(c.%s)\n", method, field)
	} else {
		fmt.Fprintf(b, "\tc.%s = x.%s()\n", field, method)
	}
}

func goMechanisms(t *Table) []byte {
	var b bytes.Buffer
	b.WriteString(goHeader + "package pkcs11\n\n// The mechanisms that oneslot carries.\nconst (\n")
	for _, m := range t.Mechanisms {
		fmt.Fprintf(&b, "\t%s MechanismType = %#x\n", m.Name, m.Number)
	}
	b.WriteString(")\n\nvar mechanisms = map[MechanismType]struct {\n\tname string\n\tform ParameterForm\n}{\n")
	for _, m := range t.Mechanisms {
		fmt.Fprintf(&b, "\t%s: {%q, Form%s},\n", m.Name, m.Name, goName(m.Form))
	}
	b.WriteString("}\n")
	return b.Bytes()
}
