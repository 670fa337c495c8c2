// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

// A difference is one that docs/differences.md explains.
type difference struct {
	name     string // as in the document
	harmless bool   // the sequence can go on
	applies  func(w *world, function string, rvs [3]pkcs11.RV) bool
	count    int
}

// answers is a difference in what one function returns: bare, and on groups.
func answers(functions string, bare, ours pkcs11.RV) func(*world, string, [3]pkcs11.RV) bool {
	return func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return slices.Contains(strings.Fields(functions), function) && rvs == [3]pkcs11.RV{bare, ours, ours}
	}
}

var remnants = &difference{name: "Remnants of failed creations", applies: func(*world, string, [3]pkcs11.RV) bool { return false }}

var differences = []*difference{
	{name: "C_GetFunctionStatus and C_CancelFunction", harmless: true,
		applies: answers("C_GetFunctionStatus C_CancelFunction", pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_FUNCTION_NOT_PARALLEL)},
	{name: "C_Logout without a login", harmless: true,
		applies: answers("C_Logout", pkcs11.CKR_OK, pkcs11.CKR_USER_NOT_LOGGED_IN)},
	{name: "C_SetPIN with two things wrong", harmless: true,
		applies: answers("C_SetPIN", pkcs11.CKR_PIN_LEN_RANGE, pkcs11.CKR_SESSION_READ_ONLY)},
	{name: "Two things wrong in one call", harmless: true, applies: argumentsFirst},
	{name: "Functions that SoftHSM lacks", harmless: true, applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return (isDual(function) || strings.Contains(function, "Recover")) && rvs[0] == pkcs11.CKR_FUNCTION_NOT_SUPPORTED &&
			(rvs[1] == pkcs11.CKR_OPERATION_NOT_INITIALIZED || rvs[1] == pkcs11.CKR_KEY_HANDLE_INVALID) && rvs[2] == rvs[1]
	}},
	{name: "Two things wrong in deriving", harmless: true, applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return function == "C_DeriveKey" && rvs[0] != pkcs11.CKR_OK && rvs[1] == rvs[2] && (rvs[1] == pkcs11.CKR_KEY_HANDLE_INVALID ||
			rvs[1] == pkcs11.CKR_MECHANISM_PARAM_INVALID || rvs[1] == pkcs11.CKR_FUNCTION_FAILED && rvs[0] == pkcs11.CKR_ATTRIBUTE_READ_ONLY)
	}},
	{name: "Two things wrong in wrapping", harmless: true, applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return (function == "C_WrapKey" || function == "C_UnwrapKey") && rvs[0] != pkcs11.CKR_OK && rvs[1] == rvs[2] && slices.Contains([]pkcs11.RV{
			pkcs11.CKR_KEY_HANDLE_INVALID, pkcs11.CKR_KEY_UNEXTRACTABLE, pkcs11.CKR_UNWRAPPING_KEY_HANDLE_INVALID,
			pkcs11.CKR_WRAPPING_KEY_HANDLE_INVALID, pkcs11.CKR_SESSION_READ_ONLY}, rvs[1])
	}},
	{name: "Truth values of the wrong size", applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return (strings.HasPrefix(function, "C_Generate") || function == "C_UnwrapKey" || function == "C_DeriveKey") && rvs == [3]pkcs11.RV{pkcs11.CKR_OK, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID}
	}},
	{name: "Handles", applies: func(w *world, _ string, rvs [3]pkcs11.RV) bool {
		return (w.stale || w.again) && (rvs[0] == pkcs11.CKR_OBJECT_HANDLE_INVALID || rvs[0] == pkcs11.CKR_KEY_HANDLE_INVALID) && rvs[1] == rvs[2]
	}},
	{name: "Lengths asked for without data", applies: answers("C_Sign C_Encrypt C_Digest", pkcs11.CKR_ARGUMENTS_BAD, pkcs11.CKR_OK)},
	{name: "Dates of private objects", harmless: true, applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return function == "C_GetAttributeValue" && rvs[0] == pkcs11.CKR_GENERAL_ERROR && rvs[1] == rvs[2] && rvs[1].HasReply()
	}},
	{name: "Private keys without all their parts", applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return function == "C_CreateObject" && rvs[0] == pkcs11.CKR_OK && rvs[2] == pkcs11.CKR_TEMPLATE_INCOMPLETE &&
			(rvs[1] == rvs[0] || rvs[1] == rvs[2])
	}},
	{name: "Readable keys that only trusted keys may wrap", harmless: true, applies: func(w *world, function string, rvs [3]pkcs11.RV) bool {
		return (function == "C_GetAttributeValue" && rvs[1].HasReply() || function == "C_SetAttributeValue" && rvs[1] == pkcs11.CKR_ATTRIBUTE_READ_ONLY) &&
			w.asked.trusted && rvs[1] == rvs[2]
	}},
	{name: "Equal private or secret keys", harmless: true, applies: func(w *world, function string, rvs [3]pkcs11.RV) bool {
		return function == "C_GetAttributeValue" && rvs[0].HasReply() && w.hasTwin(w.asked) &&
			exceptOfTwins(w.described[0]) == exceptOfTwins(w.described[1]) && exceptOfTwins(w.described[1]) == exceptOfTwins(w.described[2])
	}},
	{name: "Secret keys of an odd length", applies: func(w *world, function string, rvs [3]pkcs11.RV) bool {
		return rvs == [3]pkcs11.RV{pkcs11.CKR_OK, pkcs11.CKR_ATTRIBUTE_READ_ONLY, pkcs11.CKR_ATTRIBUTE_READ_ONLY} && strings.Contains(w.log[len(w.log)-1], "CKA_COPYABLE=00")
	}},
	{name: "Two things wrong in one template", harmless: true, applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return slices.Contains(strings.Fields("C_CreateObject C_CopyObject C_GenerateKey C_GenerateKeyPair C_UnwrapKey C_DeriveKey C_SetAttributeValue"), function) &&
			slices.Contains([]pkcs11.RV{pkcs11.CKR_ATTRIBUTE_VALUE_INVALID, pkcs11.CKR_ATTRIBUTE_TYPE_INVALID, pkcs11.CKR_SESSION_READ_ONLY, pkcs11.CKR_TEMPLATE_INCOMPLETE}, rvs[1]) &&
			rvs[2] == rvs[1] && rvs[0] != pkcs11.CKR_OK || (rvs[0] == pkcs11.CKR_ATTRIBUTE_TYPE_INVALID || rvs[0] == pkcs11.CKR_TEMPLATE_INCONSISTENT) && rvs[1] == pkcs11.CKR_ATTRIBUTE_READ_ONLY && rvs[2] == rvs[1]
	}},
	{name: "Handles of keys that are none", harmless: true,
		applies: answers("C_EncryptInit C_DecryptInit C_SignInit C_VerifyInit", pkcs11.CKR_OBJECT_HANDLE_INVALID, pkcs11.CKR_KEY_HANDLE_INVALID)},
	{name: "Copies of objects that cannot be modified", applies: answers("C_CopyObject", pkcs11.CKR_ATTRIBUTE_READ_ONLY, pkcs11.CKR_OK)},
	{name: "Derived keys that cannot be modified", applies: answers("C_DeriveKey", pkcs11.CKR_ATTRIBUTE_READ_ONLY, pkcs11.CKR_OK)},
	{name: "Setting what is set", applies: answers("C_SetAttributeValue", pkcs11.CKR_ATTRIBUTE_READ_ONLY, pkcs11.CKR_OK)},
	{name: "Single-part calls in the middle of parts", applies: func(w *world, function string, rvs [3]pkcs11.RV) bool {
		return rvs[1] == pkcs11.CKR_OPERATION_NOT_INITIALIZED && rvs[2] == rvs[1] && w.partly(function)
	}},
	{name: "Lengths where there are no parts", applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return function == "C_SignFinal" && rvs[0] == pkcs11.CKR_OPERATION_NOT_INITIALIZED && rvs[1] == rvs[2] &&
			(rvs[1] == pkcs11.CKR_OK || rvs[1] == pkcs11.CKR_BUFFER_TOO_SMALL)
	}},
	{name: "Several operations at once", applies: func(_ *world, function string, rvs [3]pkcs11.RV) bool {
		return strings.HasSuffix(function, "Init") && rvs[0] == pkcs11.CKR_OPERATION_ACTIVE && rvs[1] == rvs[2]
	}},
	{name: "AES keys of a wrong length", applies: func(_ *world, _ string, rvs [3]pkcs11.RV) bool {
		return rvs == [3]pkcs11.RV{pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_OK}
	}},
	{name: "Errors end an operation", applies: func(w *world, function string, rvs [3]pkcs11.RV) bool {
		return rvs[1] == pkcs11.CKR_OPERATION_NOT_INITIALIZED && rvs[2] == rvs[1] && w.failedBefore(function)
	}},
	remnants,
}

func isDual(function string) bool {
	return slices.ContainsFunc(duals, func(d dual) bool { return d.name == function })
}

// exceptOfTwins leaves out of a description what equal keys may have in common.
func exceptOfTwins(described string) string {
	lines := strings.Split(described, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc([]pkcs11.AttributeType{pkcs11.CKA_START_DATE, pkcs11.CKA_SENSITIVE, pkcs11.CKA_WRAP_WITH_TRUSTED},
			func(kind pkcs11.AttributeType) bool {
				return strings.HasPrefix(line, fmt.Sprintf("\t%#x:", uint64(kind)))
			})
	}), "\n")
}

// argumentsFirst: SoftHSM looks for NULL before it looks for anything else.
func argumentsFirst(_ *world, function string, rvs [3]pkcs11.RV) bool {
	if rvs[0] != pkcs11.CKR_ARGUMENTS_BAD || rvs[1] != rvs[2] {
		return false
	}
	switch rvs[1] {
	case pkcs11.CKR_OPERATION_NOT_INITIALIZED, pkcs11.CKR_BUFFER_TOO_SMALL, pkcs11.CKR_SESSION_HANDLE_INVALID:
		return true
	case pkcs11.CKR_OBJECT_HANDLE_INVALID:
		return function == "C_GetAttributeValue" || function == "C_SetAttributeValue"
	}
	return false
}

// partly says whether some session has fed parts to the operation of a function.
func (w *world) partly(function string) bool {
	return slices.ContainsFunc(w.sessions, func(s *session) bool { return s.parts && "C_"+s.running == function })
}

// failedBefore says whether an operation of the kind that the function is for
// has failed in some session.
func (w *world) failedBefore(function string) bool {
	return slices.ContainsFunc(w.sessions, func(s *session) bool {
		return s.failed != "" && strings.HasPrefix(function, "C_"+s.failed)
	})
}

// What a survey found: how often each difference came, and the shortest way to it.
var (
	surveyed = map[string]int{}
	first    = map[string]string{}
	logged   = map[string]int{}
)

func (w *world) note(function string, described [3]string) {
	var codes []string
	for _, d := range described {
		code, _, _ := strings.Cut(d, " ")
		code, _, _ = strings.Cut(code, "\n")
		codes = append(codes, code)
	}
	key := function + ": " + strings.Join(codes, ", ")
	if surveyed[key]++; surveyed[key] == 1 || len(w.log) < logged[key] {
		logged[key] = len(w.log)
		first[key] = w.log[len(w.log)-1] + "\n\tbare:  " + described[0] + "\n\tone:   " + described[1] + "\n\tthree: " + described[2] +
			"\n\tafter\n\t" + strings.Join(w.log[max(0, len(w.log)-9):len(w.log)-1], "\n\t") + saidOfFaults(described)
	}
}

// saidOfFaults are the ends of the engines' logs, where they may tell more.
func saidOfFaults(described [3]string) (said string) {
	for i, d := range described {
		if strings.HasPrefix(d, pkcs11.CKR_DEVICE_ERROR.String()) {
			said += "\n" + sides[i].said()
		}
	}
	return said
}

func printSurvey() {
	for _, key := range slices.Sorted(maps.Keys(surveyed)) {
		fmt.Printf("%5d × %s\n\t%s\n\n", surveyed[key], key, first[key])
	}
	for _, d := range differences {
		fmt.Printf("%5d × known: %s\n", d.count, d.name)
	}
}
