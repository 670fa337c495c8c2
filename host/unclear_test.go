// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

//go:embed testdata/unclear.c
var unclearSource string

// F1: a search, and a session that is opened, get over an answer that says nothing:
// SoftHSM gives it while another process writes. A token that says nothing else is an
// error, and no empty token.
func TestUnclearAnswersToSearches(t *testing.T) {
	folder := t.TempDir()
	so := hosttest.Module(t, unclearSource, "-Wall", "-Wextra", "-Werror", `-DSOFTHSM="`+hosttest.SoftHSM+`"`)
	soft := hosttest.Token(t, "unclear")
	client := hosttest.StartModule(t, []string{soft.Env(), "UNCLEAR=" + folder}, "--module", so, "--token", soft.Label)
	s := hosttest.Open(t, client, wire.GroupView)
	s.Login()
	s.Must(&wire.CreateObject{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_DATA),
		pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("it"))}})
	wanted := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("it"))}
	for _, function := range []string{"C_FindObjectsInit", "C_FindObjects"} {
		path := filepath.Join(folder, function)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		find := wire.Find{Template: wanted}
		s.Must(&find)
		if len(find.Found) != 1 {
			t.Errorf("%s unclear once: %d objects", function, len(find.Found))
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was not called", function)
		}

		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		find = wire.Find{Template: wanted}
		if s.Do(&find); find.RV != pkcs11.CKR_GENERAL_ERROR {
			t.Errorf("%s always unclear: %v, %d objects", function, find.RV, len(find.Found))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		s.Must(&wire.Find{Template: wanted}) // nothing is left of the search that failed
	}
	if err := os.WriteFile(filepath.Join(folder, "C_GetTokenInfo"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hosttest.Open(t, client, wire.GroupView).Must(&wire.Find{Template: wanted})
}
