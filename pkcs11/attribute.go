// SPDX-License-Identifier: Apache-2.0

package pkcs11

import "fmt"

// AttributeType is the kind of an attribute (CK_ATTRIBUTE_TYPE).
type AttributeType uint64

const (
	CKA_CLASS                      AttributeType = 0x0
	CKA_TOKEN                      AttributeType = 0x1
	CKA_PRIVATE                    AttributeType = 0x2
	CKA_LABEL                      AttributeType = 0x3
	CKA_APPLICATION                AttributeType = 0x10
	CKA_VALUE                      AttributeType = 0x11
	CKA_OBJECT_ID                  AttributeType = 0x12
	CKA_CERTIFICATE_TYPE           AttributeType = 0x80
	CKA_ISSUER                     AttributeType = 0x81
	CKA_SERIAL_NUMBER              AttributeType = 0x82
	CKA_AC_ISSUER                  AttributeType = 0x83
	CKA_OWNER                      AttributeType = 0x84
	CKA_ATTR_TYPES                 AttributeType = 0x85
	CKA_TRUSTED                    AttributeType = 0x86
	CKA_CERTIFICATE_CATEGORY       AttributeType = 0x87
	CKA_JAVA_MIDP_SECURITY_DOMAIN  AttributeType = 0x88
	CKA_URL                        AttributeType = 0x89
	CKA_HASH_OF_SUBJECT_PUBLIC_KEY AttributeType = 0x8a
	CKA_HASH_OF_ISSUER_PUBLIC_KEY  AttributeType = 0x8b
	CKA_NAME_HASH_ALGORITHM        AttributeType = 0x8c
	CKA_CHECK_VALUE                AttributeType = 0x90
	CKA_KEY_TYPE                   AttributeType = 0x100
	CKA_SUBJECT                    AttributeType = 0x101
	CKA_ID                         AttributeType = 0x102
	CKA_SENSITIVE                  AttributeType = 0x103
	CKA_ENCRYPT                    AttributeType = 0x104
	CKA_DECRYPT                    AttributeType = 0x105
	CKA_WRAP                       AttributeType = 0x106
	CKA_UNWRAP                     AttributeType = 0x107
	CKA_SIGN                       AttributeType = 0x108
	CKA_SIGN_RECOVER               AttributeType = 0x109
	CKA_VERIFY                     AttributeType = 0x10a
	CKA_VERIFY_RECOVER             AttributeType = 0x10b
	CKA_DERIVE                     AttributeType = 0x10c
	CKA_START_DATE                 AttributeType = 0x110
	CKA_END_DATE                   AttributeType = 0x111
	CKA_MODULUS                    AttributeType = 0x120
	CKA_MODULUS_BITS               AttributeType = 0x121
	CKA_PUBLIC_EXPONENT            AttributeType = 0x122
	CKA_PRIVATE_EXPONENT           AttributeType = 0x123
	CKA_PRIME_1                    AttributeType = 0x124
	CKA_PRIME_2                    AttributeType = 0x125
	CKA_EXPONENT_1                 AttributeType = 0x126
	CKA_EXPONENT_2                 AttributeType = 0x127
	CKA_COEFFICIENT                AttributeType = 0x128
	CKA_PUBLIC_KEY_INFO            AttributeType = 0x129
	CKA_PRIME                      AttributeType = 0x130
	CKA_SUBPRIME                   AttributeType = 0x131
	CKA_BASE                       AttributeType = 0x132
	CKA_PRIME_BITS                 AttributeType = 0x133
	CKA_SUB_PRIME_BITS             AttributeType = 0x134
	CKA_VALUE_BITS                 AttributeType = 0x160
	CKA_VALUE_LEN                  AttributeType = 0x161
	CKA_EXTRACTABLE                AttributeType = 0x162
	CKA_LOCAL                      AttributeType = 0x163
	CKA_NEVER_EXTRACTABLE          AttributeType = 0x164
	CKA_ALWAYS_SENSITIVE           AttributeType = 0x165
	CKA_KEY_GEN_MECHANISM          AttributeType = 0x166
	CKA_MODIFIABLE                 AttributeType = 0x170
	CKA_COPYABLE                   AttributeType = 0x171
	CKA_DESTROYABLE                AttributeType = 0x172
	CKA_EC_PARAMS                  AttributeType = 0x180
	CKA_EC_POINT                   AttributeType = 0x181
	CKA_ALWAYS_AUTHENTICATE        AttributeType = 0x202
	CKA_WRAP_WITH_TRUSTED          AttributeType = 0x210
	CKA_HW_FEATURE_TYPE            AttributeType = 0x300
	CKA_RESET_ON_INIT              AttributeType = 0x301
	CKA_HAS_RESET                  AttributeType = 0x302
	CKA_MECHANISM_TYPE             AttributeType = 0x500
	CKA_WRAP_TEMPLATE              AttributeType = 0x40000211
	CKA_UNWRAP_TEMPLATE            AttributeType = 0x40000212
	CKA_DERIVE_TEMPLATE            AttributeType = 0x40000213
	CKA_ALLOWED_MECHANISMS         AttributeType = 0x40000600
	CKA_UNIQUE_ID                  AttributeType = 0x4
)

func (t AttributeType) String() string {
	if name, ok := attributeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("CKA_%#x", uint64(t))
}

// IsArray says whether the value is itself a list of attributes.
func (t AttributeType) IsArray() bool {
	return t == CKA_WRAP_TEMPLATE || t == CKA_UNWRAP_TEMPLATE || t == CKA_DERIVE_TEMPLATE
}

var attributeNames = map[AttributeType]string{
	CKA_CLASS:                      "CKA_CLASS",
	CKA_TOKEN:                      "CKA_TOKEN",
	CKA_PRIVATE:                    "CKA_PRIVATE",
	CKA_LABEL:                      "CKA_LABEL",
	CKA_APPLICATION:                "CKA_APPLICATION",
	CKA_VALUE:                      "CKA_VALUE",
	CKA_OBJECT_ID:                  "CKA_OBJECT_ID",
	CKA_CERTIFICATE_TYPE:           "CKA_CERTIFICATE_TYPE",
	CKA_ISSUER:                     "CKA_ISSUER",
	CKA_SERIAL_NUMBER:              "CKA_SERIAL_NUMBER",
	CKA_AC_ISSUER:                  "CKA_AC_ISSUER",
	CKA_OWNER:                      "CKA_OWNER",
	CKA_ATTR_TYPES:                 "CKA_ATTR_TYPES",
	CKA_TRUSTED:                    "CKA_TRUSTED",
	CKA_CERTIFICATE_CATEGORY:       "CKA_CERTIFICATE_CATEGORY",
	CKA_JAVA_MIDP_SECURITY_DOMAIN:  "CKA_JAVA_MIDP_SECURITY_DOMAIN",
	CKA_URL:                        "CKA_URL",
	CKA_HASH_OF_SUBJECT_PUBLIC_KEY: "CKA_HASH_OF_SUBJECT_PUBLIC_KEY",
	CKA_HASH_OF_ISSUER_PUBLIC_KEY:  "CKA_HASH_OF_ISSUER_PUBLIC_KEY",
	CKA_NAME_HASH_ALGORITHM:        "CKA_NAME_HASH_ALGORITHM",
	CKA_CHECK_VALUE:                "CKA_CHECK_VALUE",
	CKA_KEY_TYPE:                   "CKA_KEY_TYPE",
	CKA_SUBJECT:                    "CKA_SUBJECT",
	CKA_ID:                         "CKA_ID",
	CKA_SENSITIVE:                  "CKA_SENSITIVE",
	CKA_ENCRYPT:                    "CKA_ENCRYPT",
	CKA_DECRYPT:                    "CKA_DECRYPT",
	CKA_WRAP:                       "CKA_WRAP",
	CKA_UNWRAP:                     "CKA_UNWRAP",
	CKA_SIGN:                       "CKA_SIGN",
	CKA_SIGN_RECOVER:               "CKA_SIGN_RECOVER",
	CKA_VERIFY:                     "CKA_VERIFY",
	CKA_VERIFY_RECOVER:             "CKA_VERIFY_RECOVER",
	CKA_DERIVE:                     "CKA_DERIVE",
	CKA_START_DATE:                 "CKA_START_DATE",
	CKA_END_DATE:                   "CKA_END_DATE",
	CKA_MODULUS:                    "CKA_MODULUS",
	CKA_MODULUS_BITS:               "CKA_MODULUS_BITS",
	CKA_PUBLIC_EXPONENT:            "CKA_PUBLIC_EXPONENT",
	CKA_PRIVATE_EXPONENT:           "CKA_PRIVATE_EXPONENT",
	CKA_PRIME_1:                    "CKA_PRIME_1",
	CKA_PRIME_2:                    "CKA_PRIME_2",
	CKA_EXPONENT_1:                 "CKA_EXPONENT_1",
	CKA_EXPONENT_2:                 "CKA_EXPONENT_2",
	CKA_COEFFICIENT:                "CKA_COEFFICIENT",
	CKA_PUBLIC_KEY_INFO:            "CKA_PUBLIC_KEY_INFO",
	CKA_PRIME:                      "CKA_PRIME",
	CKA_SUBPRIME:                   "CKA_SUBPRIME",
	CKA_BASE:                       "CKA_BASE",
	CKA_PRIME_BITS:                 "CKA_PRIME_BITS",
	CKA_SUB_PRIME_BITS:             "CKA_SUB_PRIME_BITS",
	CKA_VALUE_BITS:                 "CKA_VALUE_BITS",
	CKA_VALUE_LEN:                  "CKA_VALUE_LEN",
	CKA_EXTRACTABLE:                "CKA_EXTRACTABLE",
	CKA_LOCAL:                      "CKA_LOCAL",
	CKA_NEVER_EXTRACTABLE:          "CKA_NEVER_EXTRACTABLE",
	CKA_ALWAYS_SENSITIVE:           "CKA_ALWAYS_SENSITIVE",
	CKA_KEY_GEN_MECHANISM:          "CKA_KEY_GEN_MECHANISM",
	CKA_MODIFIABLE:                 "CKA_MODIFIABLE",
	CKA_COPYABLE:                   "CKA_COPYABLE",
	CKA_DESTROYABLE:                "CKA_DESTROYABLE",
	CKA_EC_PARAMS:                  "CKA_EC_PARAMS",
	CKA_EC_POINT:                   "CKA_EC_POINT",
	CKA_ALWAYS_AUTHENTICATE:        "CKA_ALWAYS_AUTHENTICATE",
	CKA_WRAP_WITH_TRUSTED:          "CKA_WRAP_WITH_TRUSTED",
	CKA_HW_FEATURE_TYPE:            "CKA_HW_FEATURE_TYPE",
	CKA_RESET_ON_INIT:              "CKA_RESET_ON_INIT",
	CKA_HAS_RESET:                  "CKA_HAS_RESET",
	CKA_MECHANISM_TYPE:             "CKA_MECHANISM_TYPE",
	CKA_WRAP_TEMPLATE:              "CKA_WRAP_TEMPLATE",
	CKA_UNWRAP_TEMPLATE:            "CKA_UNWRAP_TEMPLATE",
	CKA_DERIVE_TEMPLATE:            "CKA_DERIVE_TEMPLATE",
	CKA_ALLOWED_MECHANISMS:         "CKA_ALLOWED_MECHANISMS",
	CKA_UNIQUE_ID:                  "CKA_UNIQUE_ID",
}
