// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// onVirtual says what a virtual slot makes of the functions that it does not
// simply answer. All others work there.
var onVirtual = map[string]string{
	"C_InitToken":         "no: `CKR_FUNCTION_NOT_SUPPORTED`; on a physical slot the token does it",
	"C_InitPIN":           "no: `CKR_FUNCTION_NOT_SUPPORTED`; on a physical slot the token does it",
	"C_SetPIN":            "yes: all members change, or none",
	"C_GetOperationState": "no: `CKR_STATE_UNSAVEABLE`",
	"C_SetOperationState": "no: `CKR_SAVED_STATE_INVALID`",
	"C_GetFunctionStatus": "as the standard says: `CKR_FUNCTION_NOT_PARALLEL`",
	"C_CancelFunction":    "as the standard says: `CKR_FUNCTION_NOT_PARALLEL`",
	"C_LoginUser":         "yes, with an empty user name",
	"C_WaitForSlotEvent":  "yes: reports its loss and return",
}

const docsHead = `<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Code generated from wire/calls.def and wire/mechanisms.def by wire/gen. DO NOT EDIT. -->
# What oneslot supports

## Functions

The interfaces are "PKCS 11" 3.0 and 2.40. The class says what may happen to a
call when its answer is lost:

| class | |
| --- | --- |
| module | answered inside the module, never sent |
| local | the engine answers, no member is asked |
| ask | reads; any member may repeat it |
| use | works with a key and changes nothing; may be repeated |
| make | creates, changes or destroys; never repeated blindly once sent |
| none | no member offers it |

| function | since | class | on a virtual slot |
| --- | --- | --- | --- |
`

const mechanismsHead = `
## Mechanisms

A slot lists those of these mechanisms that its token has, a virtual slot those
that all its members have. The parameter travels in the form that is named here
(wire/PROTOCOL.md, "Mechanism parameters"). A mechanism that is not in the table
is not listed; called nevertheless, it passes if it has no parameter.

Among those that are not carried, for their parameters:

- ` + "`CKM_PKCS5_PBKD2`" + `: its two structures have the same size, and one has a pointer
  where the other has a length.
- ` + "`CKM_SP800_108_…`, `CKM_IKE…`, `CKM_X3DH_…`, `CKM_X2RATCHET_…`, `CKM_KIP_…`, `CKM_CMS_SIG`" + `:
  structures within structures, or handles of further objects.
- ` + "`CKM_HKDF_DERIVE`, `CKM_HKDF_DATA`, `CKM_CHACHA20…`, `CKM_SALSA20…`, `CKM_ECDH_AES_KEY_WRAP`, `CKM_WTLS_…`" + `.
- An initialisation vector for ` + "`CKM_AES_GCM`" + ` that the token writes only in
  ` + "`C_Encrypt`" + ` cannot return: the pointer belongs to the application again by then. Such
  an encryption fails with ` + "`CKR_MECHANISM_PARAM_INVALID`" + `.

| mechanism | number | parameter |
| --- | --- | --- |
`

// parameters names the C type behind each form.
var parameters = map[string]string{
	"none":       "none",
	"raw":        "bytes, or a structure without pointers",
	"oaep":       "`CK_RSA_PKCS_OAEP_PARAMS`",
	"gcm":        "`CK_GCM_PARAMS`, with or without `ulIvBits`; an IV that the token chooses in `C_EncryptInit` or `C_WrapKey` returns",
	"ccm":        "`CK_CCM_PARAMS`",
	"ecdh":       "`CK_ECDH1_DERIVE_PARAMS`",
	"string":     "`CK_KEY_DERIVATION_STRING_DATA`",
	"cbcdata8":   "`CK_DES_CBC_ENCRYPT_DATA_PARAMS`",
	"cbcdata16":  "`CK_AES_CBC_ENCRYPT_DATA_PARAMS`",
	"eddsa":      "`CK_EDDSA_PARAMS`, or none",
	"rsawrap":    "`CK_RSA_AES_KEY_WRAP_PARAMS`",
	"key":        "`CK_OBJECT_HANDLE`",
	"master":     "`CK_SSL3_MASTER_KEY_DERIVE_PARAMS`; the version returns",
	"master12":   "`CK_TLS12_MASTER_KEY_DERIVE_PARAMS`; the version returns",
	"material":   "`CK_SSL3_KEY_MAT_PARAMS`; handles and IVs return",
	"material12": "`CK_TLS12_KEY_MAT_PARAMS`; handles and IVs return",
	"prf":        "`CK_TLS_PRF_PARAMS`; the output returns",
	"kdf":        "`CK_TLS_KDF_PARAMS`",
	"pbe":        "`CK_PBE_PARAMS`; the IV returns",
}

// writeDocs writes docs/support.md.
func writeDocs(root string, t *Table) error {
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "support.md"), []byte(support(t)), 0o666)
}

func support(t *Table) string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, c := range t.visible() {
		since, works := "2.40", onVirtual[c.Name]
		if c.New() {
			since = "3.0"
		}
		switch {
		case works != "":
		case c.Class == "none":
			works = "no: `CKR_FUNCTION_NOT_SUPPORTED`"
		default:
			works = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, since, c.Class, works)
	}
	b.WriteString(mechanismsHead)
	for _, m := range t.Mechanisms {
		fmt.Fprintf(&b, "| `%s` | %#08x | %s |\n", m.Name, m.Number, parameters[m.Form])
	}
	return b.String()
}
