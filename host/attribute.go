// SPDX-License-Identifier: Apache-2.0

package host

import "oneslot.dev/oneslot/pkcs11"

// kind is the type of an attribute's value.
type kind uint8

const (
	kindBytes kind = iota
	kindBool
	kindUlong
	kindDate
	kindList // a template
)

// kinds says what the values of attributes are, as far as they are not byte
// strings (PKCS#11 2.40, 4).
var kinds = map[pkcs11.AttributeType]kind{
	pkcs11.CKA_CLASS: kindUlong, pkcs11.CKA_KEY_TYPE: kindUlong, pkcs11.CKA_CERTIFICATE_TYPE: kindUlong,
	pkcs11.CKA_CERTIFICATE_CATEGORY: kindUlong, pkcs11.CKA_JAVA_MIDP_SECURITY_DOMAIN: kindUlong,
	pkcs11.CKA_NAME_HASH_ALGORITHM: kindUlong, pkcs11.CKA_MODULUS_BITS: kindUlong, pkcs11.CKA_PRIME_BITS: kindUlong,
	pkcs11.CKA_SUB_PRIME_BITS: kindUlong, pkcs11.CKA_VALUE_BITS: kindUlong, pkcs11.CKA_VALUE_LEN: kindUlong,
	pkcs11.CKA_KEY_GEN_MECHANISM: kindUlong,

	pkcs11.CKA_TOKEN: kindBool, pkcs11.CKA_PRIVATE: kindBool, pkcs11.CKA_MODIFIABLE: kindBool,
	pkcs11.CKA_COPYABLE: kindBool, pkcs11.CKA_DESTROYABLE: kindBool, pkcs11.CKA_TRUSTED: kindBool,
	pkcs11.CKA_SENSITIVE: kindBool, pkcs11.CKA_ENCRYPT: kindBool, pkcs11.CKA_DECRYPT: kindBool,
	pkcs11.CKA_WRAP: kindBool, pkcs11.CKA_UNWRAP: kindBool, pkcs11.CKA_SIGN: kindBool,
	pkcs11.CKA_SIGN_RECOVER: kindBool, pkcs11.CKA_VERIFY: kindBool, pkcs11.CKA_VERIFY_RECOVER: kindBool,
	pkcs11.CKA_DERIVE: kindBool, pkcs11.CKA_EXTRACTABLE: kindBool, pkcs11.CKA_LOCAL: kindBool,
	pkcs11.CKA_NEVER_EXTRACTABLE: kindBool, pkcs11.CKA_ALWAYS_SENSITIVE: kindBool,
	pkcs11.CKA_ALWAYS_AUTHENTICATE: kindBool, pkcs11.CKA_WRAP_WITH_TRUSTED: kindBool,

	pkcs11.CKA_START_DATE: kindDate, pkcs11.CKA_END_DATE: kindDate,

	pkcs11.CKA_WRAP_TEMPLATE: kindList, pkcs11.CKA_UNWRAP_TEMPLATE: kindList, pkcs11.CKA_DERIVE_TEMPLATE: kindList,
}
