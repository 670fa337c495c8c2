// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const cHeader = `/* SPDX-License-Identifier: Apache-2.0 */
/* Code generated from wire/%s by wire/gen. DO NOT EDIT. */
`

// writeC writes the generated part of the module.
func writeC(root string, t *Table) error {
	files := map[string]string{
		"calls_gen.h":      callNumbers(t),
		"stubs_gen.c":      stubs(t),
		"exports_gen.map":  exports(t),
		"mechanisms_gen.h": mechanismForms(),
		"mechanisms_gen.c": mechanisms(t),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, "module", name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// visible lists the functions of PKCS#11.
func (t *Table) visible() []Call {
	return slices.DeleteFunc(slices.Clone(t.Calls), Call.Extension)
}

func callNumbers(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, cHeader, "calls.def")
	b.WriteString("#ifndef ONESLOT_CALLS_GEN_H\n#define ONESLOT_CALLS_GEN_H\n\nenum {\n")
	for _, c := range t.Calls {
		fmt.Fprintf(&b, "\tCALL_%s = %d,\n", strings.ToUpper(snake(c.Name)), c.Number)
	}
	b.WriteString("};\n\n#endif\n")
	return b.String()
}

// snake turns C_GetSlotList into C_Get_Slot_List.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		upper := 'A' <= r && r <= 'Z'
		if upper && lower {
			b.WriteByte('_')
		}
		lower = !upper && r != '_'
		b.WriteRune(r)
	}
	return b.String()
}

func exports(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, cHeader, "calls.def")
	b.WriteString("{\nglobal:\n")
	for _, c := range t.visible() {
		fmt.Fprintf(&b, "\t%s;\n", c.Name)
	}
	b.WriteString("local:\n\t*;\n};\n")
	return b.String()
}

func stubs(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, cHeader, "calls.def")
	b.WriteString("#include \"call.h\"\n#include \"calls_gen.h\"\n#include \"interface.h\"\n")
	for _, c := range t.visible() {
		switch {
		case c.Travels():
			b.WriteString(stub(c))
		case c.Class == "none":
			b.WriteString(refusal(c))
		}
	}
	b.WriteString(functionLists(t))
	return b.String()
}

// stub is one function: put the arguments, then the rooms; send; get the reply.
func stub(c Call) string {
	var params, put, get []string
	for _, w := range c.Args {
		s := cArgument(w)
		if w.Type == "mechanism" && c.Begins() {
			s.put = []string{"put_beginning(&c, " + w.Name + ")"}
		}
		params = append(params, s.params...)
		put = append(put, s.put...)
		get = append(get, s.get...)
	}
	// What a query adds to the reply stands at its end.
	var replies []string
	for _, w := range c.Replies {
		s := cReply(w)
		params = append(params, s.params...)
		put = append(put, s.put...)
		replies = append(replies, s.get...)
	}
	get = append(replies, get...)

	var b strings.Builder
	fmt.Fprintf(&b, "\nCK_RV %s(%s)\n{\n\tstruct call c;\n\n", c.Name, wrapped(c.Name, params))
	for _, w := range c.Args {
		if w.Type == "opaque" || w.Type == "callback" {
			fmt.Fprintf(&b, "\t(void)%s;\n", w.Name)
		}
	}
	if c.Name == "C_GetSessionInfo" {
		b.WriteString("\tif (session_known(session, info))\n\t\treturn CKR_OK;\n")
		get = append(get, "session_learn(&c, session, info)")
	}
	fmt.Fprintf(&b, "\tif (!call_begin(&c, CALL_%s))\n\t\treturn c.rv;\n", strings.ToUpper(snake(c.Name)))
	for _, line := range put {
		fmt.Fprintf(&b, "\t%s;\n", line)
	}
	switch len(get) {
	case 0:
		b.WriteString("\tcall_send(&c);\n")
	case 1:
		fmt.Fprintf(&b, "\tif (call_send(&c))\n\t\t%s;\n", get[0])
	default:
		b.WriteString("\tif (call_send(&c)) {\n")
		for _, line := range get {
			fmt.Fprintf(&b, "\t\t%s;\n", line)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("\treturn call_end(&c);\n}\n")
	return b.String()
}

// refusal is a function that nobody offers.
func refusal(c Call) string {
	var params []string
	for _, w := range c.Args {
		params = append(params, cArgument(w).params...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nCK_RV %s(%s)\n{\n", c.Name, wrapped(c.Name, params))
	for _, p := range params {
		fmt.Fprintf(&b, "\t(void)%s;\n", p[strings.LastIndex(p, " ")+1:])
	}
	b.WriteString("\treturn call_unsupported();\n}\n")
	return b.String()
}

// wrapped breaks a list of parameters before it gets too wide.
func wrapped(name string, params []string) string {
	const width = 88
	line := len("CK_RV (") + len(name)
	indent := "\n" + strings.Repeat(" ", line)
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
			if line+len(p)+2 > width {
				b.WriteString(indent)
				line = len(indent) - 1
			} else {
				b.WriteByte(' ')
				line++
			}
		}
		b.WriteString(p)
		line += len(p) + 1
	}
	return b.String()
}

// A cWord is what one word of the table is in C: parameters of the function,
// lines before and after the call is sent.
type cWord struct{ params, put, get []string }

func cArgument(w Word) cWord {
	scalars := map[string]string{
		"bool": "CK_BBOOL", "ulong": "CK_ULONG", "slot": "CK_SLOT_ID",
		"session": "CK_SESSION_HANDLE", "object": "CK_OBJECT_HANDLE",
	}
	put := func(format string, params ...string) cWord {
		return cWord{params: params, put: []string{strings.ReplaceAll(format, "NAME", w.Name)}}
	}
	switch w.Type {
	case "bool":
		return put("put_bool(&c, NAME)", "CK_BBOOL "+w.Name)
	case "session":
		return put("put_session(&c, NAME)", scalars[w.Type]+" "+w.Name)
	case "ulong", "slot", "object":
		return put("put_ulong(&c, NAME)", scalars[w.Type]+" "+w.Name)
	case "bytes", "pin":
		return put("put_bytes(&c, NAME, NAME_len)", "CK_BYTE_PTR "+w.Name, "CK_ULONG "+w.Name+"_len")
	case "label":
		return put("put_label(&c, NAME)", "CK_UTF8CHAR_PTR "+w.Name)
	case "mechanism":
		return put("put_mechanism(&c, NAME)", "CK_MECHANISM_PTR "+w.Name)
	case "template":
		return put("put_template(&c, NAME, NAME_count)", "CK_ATTRIBUTE_PTR "+w.Name, "CK_ULONG "+w.Name+"_count")
	case "query":
		q := put("put_query(&c, NAME, NAME_count)", "CK_ATTRIBUTE_PTR "+w.Name, "CK_ULONG "+w.Name+"_count")
		q.get = []string{strings.ReplaceAll("get_answers(&c, NAME, NAME_count)", "NAME", w.Name)}
		return q
	case "opaque":
		return cWord{params: []string{"CK_VOID_PTR " + w.Name}}
	case "callback":
		return cWord{params: []string{"CK_NOTIFY " + w.Name}}
	case "room":
		return cWord{params: []string{"CK_BYTE_PTR " + w.Name, "CK_ULONG_PTR " + w.Name + "_len"}}
	}
	panic("no C argument for type " + w.Type)
}

func cReply(w Word) cWord {
	pointers := map[string]string{
		"ulong": "CK_ULONG_PTR", "slot": "CK_SLOT_ID_PTR",
		"session": "CK_SESSION_HANDLE_PTR", "object": "CK_OBJECT_HANDLE_PTR",
		"info": "CK_INFO_PTR", "slotinfo": "CK_SLOT_INFO_PTR", "tokeninfo": "CK_TOKEN_INFO_PTR",
		"sessioninfo": "CK_SESSION_INFO_PTR", "mechanisminfo": "CK_MECHANISM_INFO_PTR",
	}
	reply := func(put, get string, params ...string) cWord {
		name := strings.NewReplacer("NAME", w.Name).Replace
		return cWord{params: params, put: []string{name(put)}, get: []string{name(get)}}
	}
	switch w.Type {
	case "bytes":
		return reply("put_room(&c, NAME, NAME_len)", "get_bytes(&c, NAME, NAME_len)",
			"CK_BYTE_PTR "+w.Name, "CK_ULONG_PTR "+w.Name+"_len")
	case "ulongs":
		return reply("put_room(&c, NAME, NAME_count)", "get_ulongs(&c, NAME, NAME_count)",
			"CK_ULONG_PTR "+w.Name, "CK_ULONG_PTR "+w.Name+"_count")
	case "found":
		return reply("put_found(&c, NAME, NAME_max, NAME_count)", "get_ulongs(&c, NAME, NAME_count)",
			"CK_OBJECT_HANDLE_PTR "+w.Name, "CK_ULONG "+w.Name+"_max", "CK_ULONG_PTR "+w.Name+"_count")
	case "fill":
		return reply("put_fill(&c, NAME, NAME_len)", "get_fill(&c, NAME, NAME_len)",
			"CK_BYTE_PTR "+w.Name, "CK_ULONG "+w.Name+"_len")
	case "ulong", "slot", "session", "object":
		return reply("need(&c, NAME)", "get_ulong(&c, NAME)", pointers[w.Type]+" "+w.Name)
	case "derived":
		return reply("need_derived(&c, NAME)", "get_derived(&c, NAME)", "CK_OBJECT_HANDLE_PTR "+w.Name)
	case "returned":
		return cWord{get: []string{"get_returned(&c)"}}
	case "info", "slotinfo", "tokeninfo", "sessioninfo", "mechanisminfo":
		return reply("need(&c, NAME)", "get_"+w.Type+"(&c, NAME)", pointers[w.Type]+" "+w.Name)
	case "opaque":
		return cWord{params: []string{"CK_VOID_PTR " + w.Name},
			put: []string{"need_null(&c, " + w.Name + ")"}}
	}
	panic("no C reply for type " + w.Type)
}

// functionLists are the lists of both versions. C_GetInfo of the newer one tells
// of the newer version.
func functionLists(t *Table) string {
	var old, all strings.Builder
	for _, c := range t.visible() {
		name := c.Name
		if !c.New() {
			fmt.Fprintf(&old, "\t.%s = %s,\n", c.Name, name)
		}
		if name == "C_GetInfo" {
			name = "get_info_3_0"
		}
		fmt.Fprintf(&all, "\t.%s = %s,\n", c.Name, name)
	}
	return "\nconst CK_FUNCTION_LIST functions_2_40 = {\n\t.version = { 2, 40 },\n" + old.String() + "};\n" +
		"\nconst CK_FUNCTION_LIST_3_0 functions_3_0 = {\n\t.version = { 3, 0 },\n" + all.String() + "};\n"
}

func mechanismForms() string {
	var b strings.Builder
	fmt.Fprintf(&b, cHeader, "mechanisms.def")
	b.WriteString(`#ifndef ONESLOT_MECHANISMS_GEN_H
#define ONESLOT_MECHANISMS_GEN_H

#include "cryptoki.h"

/* How the parameter of a mechanism travels; PROTOCOL.md, "Mechanism parameters". */
enum mechanism_form {
	FORM_UNKNOWN,
`)
	for _, form := range forms {
		fmt.Fprintf(&b, "\tFORM_%s,\n", strings.ToUpper(form))
	}
	b.WriteString("};\n\nenum mechanism_form mechanism_form(CK_MECHANISM_TYPE type);\n\n#endif\n")
	return b.String()
}

func mechanisms(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, cHeader, "mechanisms.def")
	b.WriteString("#include \"mechanisms_gen.h\"\n\nenum mechanism_form mechanism_form(CK_MECHANISM_TYPE type)\n{\n\tswitch (type) {\n")
	for _, form := range forms {
		for _, m := range t.Mechanisms {
			if m.Form == form {
				fmt.Fprintf(&b, "\tcase %#08x: /* %s */\n", m.Number, m.Name)
			}
		}
		fmt.Fprintf(&b, "\t\treturn FORM_%s;\n", strings.ToUpper(form))
	}
	b.WriteString("\t}\n\treturn FORM_UNKNOWN;\n}\n")
	return b.String()
}
