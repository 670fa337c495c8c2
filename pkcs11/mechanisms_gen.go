// SPDX-License-Identifier: Apache-2.0

// Code generated from calls.def and mechanisms.def by gen; DO NOT EDIT.

package pkcs11

// The mechanisms that oneslot carries.
const (
	CKM_RSA_PKCS_KEY_PAIR_GEN      MechanismType = 0x0
	CKM_RSA_PKCS                   MechanismType = 0x1
	CKM_RSA_9796                   MechanismType = 0x2
	CKM_RSA_X_509                  MechanismType = 0x3
	CKM_MD2_RSA_PKCS               MechanismType = 0x4
	CKM_MD5_RSA_PKCS               MechanismType = 0x5
	CKM_SHA1_RSA_PKCS              MechanismType = 0x6
	CKM_RSA_PKCS_OAEP              MechanismType = 0x9
	CKM_RSA_X9_31_KEY_PAIR_GEN     MechanismType = 0xa
	CKM_RSA_X9_31                  MechanismType = 0xb
	CKM_SHA1_RSA_X9_31             MechanismType = 0xc
	CKM_RSA_PKCS_PSS               MechanismType = 0xd
	CKM_SHA1_RSA_PKCS_PSS          MechanismType = 0xe
	CKM_DSA_KEY_PAIR_GEN           MechanismType = 0x10
	CKM_DSA                        MechanismType = 0x11
	CKM_DSA_SHA1                   MechanismType = 0x12
	CKM_DSA_SHA224                 MechanismType = 0x13
	CKM_DSA_SHA256                 MechanismType = 0x14
	CKM_DSA_SHA384                 MechanismType = 0x15
	CKM_DSA_SHA512                 MechanismType = 0x16
	CKM_DH_PKCS_KEY_PAIR_GEN       MechanismType = 0x20
	CKM_DH_PKCS_DERIVE             MechanismType = 0x21
	CKM_X9_42_DH_KEY_PAIR_GEN      MechanismType = 0x30
	CKM_SHA256_RSA_PKCS            MechanismType = 0x40
	CKM_SHA384_RSA_PKCS            MechanismType = 0x41
	CKM_SHA512_RSA_PKCS            MechanismType = 0x42
	CKM_SHA256_RSA_PKCS_PSS        MechanismType = 0x43
	CKM_SHA384_RSA_PKCS_PSS        MechanismType = 0x44
	CKM_SHA512_RSA_PKCS_PSS        MechanismType = 0x45
	CKM_SHA224_RSA_PKCS            MechanismType = 0x46
	CKM_SHA224_RSA_PKCS_PSS        MechanismType = 0x47
	CKM_SHA512_224                 MechanismType = 0x48
	CKM_SHA512_224_HMAC            MechanismType = 0x49
	CKM_SHA512_224_HMAC_GENERAL    MechanismType = 0x4a
	CKM_SHA512_256                 MechanismType = 0x4c
	CKM_SHA512_256_HMAC            MechanismType = 0x4d
	CKM_SHA512_256_HMAC_GENERAL    MechanismType = 0x4e
	CKM_SHA3_256_RSA_PKCS          MechanismType = 0x60
	CKM_SHA3_384_RSA_PKCS          MechanismType = 0x61
	CKM_SHA3_512_RSA_PKCS          MechanismType = 0x62
	CKM_SHA3_256_RSA_PKCS_PSS      MechanismType = 0x63
	CKM_SHA3_384_RSA_PKCS_PSS      MechanismType = 0x64
	CKM_SHA3_512_RSA_PKCS_PSS      MechanismType = 0x65
	CKM_DES_KEY_GEN                MechanismType = 0x120
	CKM_DES_ECB                    MechanismType = 0x121
	CKM_DES_CBC                    MechanismType = 0x122
	CKM_DES_MAC                    MechanismType = 0x123
	CKM_DES_MAC_GENERAL            MechanismType = 0x124
	CKM_DES_CBC_PAD                MechanismType = 0x125
	CKM_DES2_KEY_GEN               MechanismType = 0x130
	CKM_DES3_KEY_GEN               MechanismType = 0x131
	CKM_DES3_ECB                   MechanismType = 0x132
	CKM_DES3_CBC                   MechanismType = 0x133
	CKM_DES3_MAC                   MechanismType = 0x134
	CKM_DES3_MAC_GENERAL           MechanismType = 0x135
	CKM_DES3_CBC_PAD               MechanismType = 0x136
	CKM_DES3_CMAC_GENERAL          MechanismType = 0x137
	CKM_DES3_CMAC                  MechanismType = 0x138
	CKM_MD2                        MechanismType = 0x200
	CKM_MD5                        MechanismType = 0x210
	CKM_MD5_HMAC                   MechanismType = 0x211
	CKM_MD5_HMAC_GENERAL           MechanismType = 0x212
	CKM_SHA_1                      MechanismType = 0x220
	CKM_SHA_1_HMAC                 MechanismType = 0x221
	CKM_SHA_1_HMAC_GENERAL         MechanismType = 0x222
	CKM_RIPEMD160                  MechanismType = 0x240
	CKM_RIPEMD160_HMAC             MechanismType = 0x241
	CKM_SHA256                     MechanismType = 0x250
	CKM_SHA256_HMAC                MechanismType = 0x251
	CKM_SHA256_HMAC_GENERAL        MechanismType = 0x252
	CKM_SHA224                     MechanismType = 0x255
	CKM_SHA224_HMAC                MechanismType = 0x256
	CKM_SHA224_HMAC_GENERAL        MechanismType = 0x257
	CKM_SHA384                     MechanismType = 0x260
	CKM_SHA384_HMAC                MechanismType = 0x261
	CKM_SHA384_HMAC_GENERAL        MechanismType = 0x262
	CKM_SHA512                     MechanismType = 0x270
	CKM_SHA512_HMAC                MechanismType = 0x271
	CKM_SHA512_HMAC_GENERAL        MechanismType = 0x272
	CKM_SHA3_256                   MechanismType = 0x2b0
	CKM_SHA3_256_HMAC              MechanismType = 0x2b1
	CKM_SHA3_224                   MechanismType = 0x2b5
	CKM_SHA3_224_HMAC              MechanismType = 0x2b6
	CKM_SHA3_384                   MechanismType = 0x2c0
	CKM_SHA3_384_HMAC              MechanismType = 0x2c1
	CKM_SHA3_512                   MechanismType = 0x2d0
	CKM_SHA3_512_HMAC              MechanismType = 0x2d1
	CKM_GENERIC_SECRET_KEY_GEN     MechanismType = 0x350
	CKM_CONCATENATE_BASE_AND_KEY   MechanismType = 0x360
	CKM_CONCATENATE_BASE_AND_DATA  MechanismType = 0x362
	CKM_CONCATENATE_DATA_AND_BASE  MechanismType = 0x363
	CKM_XOR_BASE_AND_DATA          MechanismType = 0x364
	CKM_EXTRACT_KEY_FROM_KEY       MechanismType = 0x365
	CKM_MD5_KEY_DERIVATION         MechanismType = 0x390
	CKM_SHA1_KEY_DERIVATION        MechanismType = 0x392
	CKM_SHA256_KEY_DERIVATION      MechanismType = 0x393
	CKM_SHA384_KEY_DERIVATION      MechanismType = 0x394
	CKM_SHA512_KEY_DERIVATION      MechanismType = 0x395
	CKM_SHA224_KEY_DERIVATION      MechanismType = 0x396
	CKM_EC_KEY_PAIR_GEN            MechanismType = 0x1040
	CKM_ECDSA                      MechanismType = 0x1041
	CKM_ECDSA_SHA1                 MechanismType = 0x1042
	CKM_ECDSA_SHA224               MechanismType = 0x1043
	CKM_ECDSA_SHA256               MechanismType = 0x1044
	CKM_ECDSA_SHA384               MechanismType = 0x1045
	CKM_ECDSA_SHA512               MechanismType = 0x1046
	CKM_ECDSA_SHA3_224             MechanismType = 0x1047
	CKM_ECDSA_SHA3_256             MechanismType = 0x1048
	CKM_ECDSA_SHA3_384             MechanismType = 0x1049
	CKM_ECDSA_SHA3_512             MechanismType = 0x104a
	CKM_ECDH1_DERIVE               MechanismType = 0x1050
	CKM_ECDH1_COFACTOR_DERIVE      MechanismType = 0x1051
	CKM_RSA_AES_KEY_WRAP           MechanismType = 0x1054
	CKM_EC_EDWARDS_KEY_PAIR_GEN    MechanismType = 0x1055
	CKM_EC_MONTGOMERY_KEY_PAIR_GEN MechanismType = 0x1056
	CKM_EDDSA                      MechanismType = 0x1057
	CKM_AES_KEY_GEN                MechanismType = 0x1080
	CKM_AES_ECB                    MechanismType = 0x1081
	CKM_AES_CBC                    MechanismType = 0x1082
	CKM_AES_MAC                    MechanismType = 0x1083
	CKM_AES_MAC_GENERAL            MechanismType = 0x1084
	CKM_AES_CBC_PAD                MechanismType = 0x1085
	CKM_AES_CTR                    MechanismType = 0x1086
	CKM_AES_GCM                    MechanismType = 0x1087
	CKM_AES_CCM                    MechanismType = 0x1088
	CKM_AES_CTS                    MechanismType = 0x1089
	CKM_AES_CMAC                   MechanismType = 0x108a
	CKM_AES_CMAC_GENERAL           MechanismType = 0x108b
	CKM_AES_XCBC_MAC               MechanismType = 0x108c
	CKM_AES_XCBC_MAC_96            MechanismType = 0x108d
	CKM_AES_GMAC                   MechanismType = 0x108e
	CKM_DES_ECB_ENCRYPT_DATA       MechanismType = 0x1100
	CKM_DES_CBC_ENCRYPT_DATA       MechanismType = 0x1101
	CKM_DES3_ECB_ENCRYPT_DATA      MechanismType = 0x1102
	CKM_DES3_CBC_ENCRYPT_DATA      MechanismType = 0x1103
	CKM_AES_ECB_ENCRYPT_DATA       MechanismType = 0x1104
	CKM_AES_CBC_ENCRYPT_DATA       MechanismType = 0x1105
	CKM_DSA_PARAMETER_GEN          MechanismType = 0x2000
	CKM_DH_PKCS_PARAMETER_GEN      MechanismType = 0x2001
	CKM_AES_OFB                    MechanismType = 0x2104
	CKM_AES_CFB64                  MechanismType = 0x2105
	CKM_AES_CFB8                   MechanismType = 0x2106
	CKM_AES_CFB128                 MechanismType = 0x2107
	CKM_AES_CFB1                   MechanismType = 0x2108
	CKM_AES_KEY_WRAP               MechanismType = 0x2109
	CKM_AES_KEY_WRAP_PAD           MechanismType = 0x210a
)

var mechanisms = map[MechanismType]struct {
	name string
	form ParameterForm
}{
	CKM_RSA_PKCS_KEY_PAIR_GEN:      {"CKM_RSA_PKCS_KEY_PAIR_GEN", FormNone},
	CKM_RSA_PKCS:                   {"CKM_RSA_PKCS", FormNone},
	CKM_RSA_9796:                   {"CKM_RSA_9796", FormNone},
	CKM_RSA_X_509:                  {"CKM_RSA_X_509", FormNone},
	CKM_MD2_RSA_PKCS:               {"CKM_MD2_RSA_PKCS", FormNone},
	CKM_MD5_RSA_PKCS:               {"CKM_MD5_RSA_PKCS", FormNone},
	CKM_SHA1_RSA_PKCS:              {"CKM_SHA1_RSA_PKCS", FormNone},
	CKM_RSA_PKCS_OAEP:              {"CKM_RSA_PKCS_OAEP", FormOaep},
	CKM_RSA_X9_31_KEY_PAIR_GEN:     {"CKM_RSA_X9_31_KEY_PAIR_GEN", FormNone},
	CKM_RSA_X9_31:                  {"CKM_RSA_X9_31", FormNone},
	CKM_SHA1_RSA_X9_31:             {"CKM_SHA1_RSA_X9_31", FormNone},
	CKM_RSA_PKCS_PSS:               {"CKM_RSA_PKCS_PSS", FormRaw},
	CKM_SHA1_RSA_PKCS_PSS:          {"CKM_SHA1_RSA_PKCS_PSS", FormRaw},
	CKM_DSA_KEY_PAIR_GEN:           {"CKM_DSA_KEY_PAIR_GEN", FormNone},
	CKM_DSA:                        {"CKM_DSA", FormNone},
	CKM_DSA_SHA1:                   {"CKM_DSA_SHA1", FormNone},
	CKM_DSA_SHA224:                 {"CKM_DSA_SHA224", FormNone},
	CKM_DSA_SHA256:                 {"CKM_DSA_SHA256", FormNone},
	CKM_DSA_SHA384:                 {"CKM_DSA_SHA384", FormNone},
	CKM_DSA_SHA512:                 {"CKM_DSA_SHA512", FormNone},
	CKM_DH_PKCS_KEY_PAIR_GEN:       {"CKM_DH_PKCS_KEY_PAIR_GEN", FormNone},
	CKM_DH_PKCS_DERIVE:             {"CKM_DH_PKCS_DERIVE", FormRaw},
	CKM_X9_42_DH_KEY_PAIR_GEN:      {"CKM_X9_42_DH_KEY_PAIR_GEN", FormNone},
	CKM_SHA256_RSA_PKCS:            {"CKM_SHA256_RSA_PKCS", FormNone},
	CKM_SHA384_RSA_PKCS:            {"CKM_SHA384_RSA_PKCS", FormNone},
	CKM_SHA512_RSA_PKCS:            {"CKM_SHA512_RSA_PKCS", FormNone},
	CKM_SHA256_RSA_PKCS_PSS:        {"CKM_SHA256_RSA_PKCS_PSS", FormRaw},
	CKM_SHA384_RSA_PKCS_PSS:        {"CKM_SHA384_RSA_PKCS_PSS", FormRaw},
	CKM_SHA512_RSA_PKCS_PSS:        {"CKM_SHA512_RSA_PKCS_PSS", FormRaw},
	CKM_SHA224_RSA_PKCS:            {"CKM_SHA224_RSA_PKCS", FormNone},
	CKM_SHA224_RSA_PKCS_PSS:        {"CKM_SHA224_RSA_PKCS_PSS", FormRaw},
	CKM_SHA512_224:                 {"CKM_SHA512_224", FormNone},
	CKM_SHA512_224_HMAC:            {"CKM_SHA512_224_HMAC", FormNone},
	CKM_SHA512_224_HMAC_GENERAL:    {"CKM_SHA512_224_HMAC_GENERAL", FormRaw},
	CKM_SHA512_256:                 {"CKM_SHA512_256", FormNone},
	CKM_SHA512_256_HMAC:            {"CKM_SHA512_256_HMAC", FormNone},
	CKM_SHA512_256_HMAC_GENERAL:    {"CKM_SHA512_256_HMAC_GENERAL", FormRaw},
	CKM_SHA3_256_RSA_PKCS:          {"CKM_SHA3_256_RSA_PKCS", FormNone},
	CKM_SHA3_384_RSA_PKCS:          {"CKM_SHA3_384_RSA_PKCS", FormNone},
	CKM_SHA3_512_RSA_PKCS:          {"CKM_SHA3_512_RSA_PKCS", FormNone},
	CKM_SHA3_256_RSA_PKCS_PSS:      {"CKM_SHA3_256_RSA_PKCS_PSS", FormRaw},
	CKM_SHA3_384_RSA_PKCS_PSS:      {"CKM_SHA3_384_RSA_PKCS_PSS", FormRaw},
	CKM_SHA3_512_RSA_PKCS_PSS:      {"CKM_SHA3_512_RSA_PKCS_PSS", FormRaw},
	CKM_DES_KEY_GEN:                {"CKM_DES_KEY_GEN", FormNone},
	CKM_DES_ECB:                    {"CKM_DES_ECB", FormNone},
	CKM_DES_CBC:                    {"CKM_DES_CBC", FormRaw},
	CKM_DES_MAC:                    {"CKM_DES_MAC", FormNone},
	CKM_DES_MAC_GENERAL:            {"CKM_DES_MAC_GENERAL", FormRaw},
	CKM_DES_CBC_PAD:                {"CKM_DES_CBC_PAD", FormRaw},
	CKM_DES2_KEY_GEN:               {"CKM_DES2_KEY_GEN", FormNone},
	CKM_DES3_KEY_GEN:               {"CKM_DES3_KEY_GEN", FormNone},
	CKM_DES3_ECB:                   {"CKM_DES3_ECB", FormNone},
	CKM_DES3_CBC:                   {"CKM_DES3_CBC", FormRaw},
	CKM_DES3_MAC:                   {"CKM_DES3_MAC", FormNone},
	CKM_DES3_MAC_GENERAL:           {"CKM_DES3_MAC_GENERAL", FormRaw},
	CKM_DES3_CBC_PAD:               {"CKM_DES3_CBC_PAD", FormRaw},
	CKM_DES3_CMAC_GENERAL:          {"CKM_DES3_CMAC_GENERAL", FormRaw},
	CKM_DES3_CMAC:                  {"CKM_DES3_CMAC", FormNone},
	CKM_MD2:                        {"CKM_MD2", FormNone},
	CKM_MD5:                        {"CKM_MD5", FormNone},
	CKM_MD5_HMAC:                   {"CKM_MD5_HMAC", FormNone},
	CKM_MD5_HMAC_GENERAL:           {"CKM_MD5_HMAC_GENERAL", FormRaw},
	CKM_SHA_1:                      {"CKM_SHA_1", FormNone},
	CKM_SHA_1_HMAC:                 {"CKM_SHA_1_HMAC", FormNone},
	CKM_SHA_1_HMAC_GENERAL:         {"CKM_SHA_1_HMAC_GENERAL", FormRaw},
	CKM_RIPEMD160:                  {"CKM_RIPEMD160", FormNone},
	CKM_RIPEMD160_HMAC:             {"CKM_RIPEMD160_HMAC", FormNone},
	CKM_SHA256:                     {"CKM_SHA256", FormNone},
	CKM_SHA256_HMAC:                {"CKM_SHA256_HMAC", FormNone},
	CKM_SHA256_HMAC_GENERAL:        {"CKM_SHA256_HMAC_GENERAL", FormRaw},
	CKM_SHA224:                     {"CKM_SHA224", FormNone},
	CKM_SHA224_HMAC:                {"CKM_SHA224_HMAC", FormNone},
	CKM_SHA224_HMAC_GENERAL:        {"CKM_SHA224_HMAC_GENERAL", FormRaw},
	CKM_SHA384:                     {"CKM_SHA384", FormNone},
	CKM_SHA384_HMAC:                {"CKM_SHA384_HMAC", FormNone},
	CKM_SHA384_HMAC_GENERAL:        {"CKM_SHA384_HMAC_GENERAL", FormRaw},
	CKM_SHA512:                     {"CKM_SHA512", FormNone},
	CKM_SHA512_HMAC:                {"CKM_SHA512_HMAC", FormNone},
	CKM_SHA512_HMAC_GENERAL:        {"CKM_SHA512_HMAC_GENERAL", FormRaw},
	CKM_SHA3_256:                   {"CKM_SHA3_256", FormNone},
	CKM_SHA3_256_HMAC:              {"CKM_SHA3_256_HMAC", FormNone},
	CKM_SHA3_224:                   {"CKM_SHA3_224", FormNone},
	CKM_SHA3_224_HMAC:              {"CKM_SHA3_224_HMAC", FormNone},
	CKM_SHA3_384:                   {"CKM_SHA3_384", FormNone},
	CKM_SHA3_384_HMAC:              {"CKM_SHA3_384_HMAC", FormNone},
	CKM_SHA3_512:                   {"CKM_SHA3_512", FormNone},
	CKM_SHA3_512_HMAC:              {"CKM_SHA3_512_HMAC", FormNone},
	CKM_GENERIC_SECRET_KEY_GEN:     {"CKM_GENERIC_SECRET_KEY_GEN", FormNone},
	CKM_CONCATENATE_BASE_AND_KEY:   {"CKM_CONCATENATE_BASE_AND_KEY", FormKey},
	CKM_CONCATENATE_BASE_AND_DATA:  {"CKM_CONCATENATE_BASE_AND_DATA", FormString},
	CKM_CONCATENATE_DATA_AND_BASE:  {"CKM_CONCATENATE_DATA_AND_BASE", FormString},
	CKM_XOR_BASE_AND_DATA:          {"CKM_XOR_BASE_AND_DATA", FormString},
	CKM_EXTRACT_KEY_FROM_KEY:       {"CKM_EXTRACT_KEY_FROM_KEY", FormRaw},
	CKM_MD5_KEY_DERIVATION:         {"CKM_MD5_KEY_DERIVATION", FormNone},
	CKM_SHA1_KEY_DERIVATION:        {"CKM_SHA1_KEY_DERIVATION", FormNone},
	CKM_SHA256_KEY_DERIVATION:      {"CKM_SHA256_KEY_DERIVATION", FormNone},
	CKM_SHA384_KEY_DERIVATION:      {"CKM_SHA384_KEY_DERIVATION", FormNone},
	CKM_SHA512_KEY_DERIVATION:      {"CKM_SHA512_KEY_DERIVATION", FormNone},
	CKM_SHA224_KEY_DERIVATION:      {"CKM_SHA224_KEY_DERIVATION", FormNone},
	CKM_EC_KEY_PAIR_GEN:            {"CKM_EC_KEY_PAIR_GEN", FormNone},
	CKM_ECDSA:                      {"CKM_ECDSA", FormNone},
	CKM_ECDSA_SHA1:                 {"CKM_ECDSA_SHA1", FormNone},
	CKM_ECDSA_SHA224:               {"CKM_ECDSA_SHA224", FormNone},
	CKM_ECDSA_SHA256:               {"CKM_ECDSA_SHA256", FormNone},
	CKM_ECDSA_SHA384:               {"CKM_ECDSA_SHA384", FormNone},
	CKM_ECDSA_SHA512:               {"CKM_ECDSA_SHA512", FormNone},
	CKM_ECDSA_SHA3_224:             {"CKM_ECDSA_SHA3_224", FormNone},
	CKM_ECDSA_SHA3_256:             {"CKM_ECDSA_SHA3_256", FormNone},
	CKM_ECDSA_SHA3_384:             {"CKM_ECDSA_SHA3_384", FormNone},
	CKM_ECDSA_SHA3_512:             {"CKM_ECDSA_SHA3_512", FormNone},
	CKM_ECDH1_DERIVE:               {"CKM_ECDH1_DERIVE", FormEcdh},
	CKM_ECDH1_COFACTOR_DERIVE:      {"CKM_ECDH1_COFACTOR_DERIVE", FormEcdh},
	CKM_RSA_AES_KEY_WRAP:           {"CKM_RSA_AES_KEY_WRAP", FormRsawrap},
	CKM_EC_EDWARDS_KEY_PAIR_GEN:    {"CKM_EC_EDWARDS_KEY_PAIR_GEN", FormNone},
	CKM_EC_MONTGOMERY_KEY_PAIR_GEN: {"CKM_EC_MONTGOMERY_KEY_PAIR_GEN", FormNone},
	CKM_EDDSA:                      {"CKM_EDDSA", FormEddsa},
	CKM_AES_KEY_GEN:                {"CKM_AES_KEY_GEN", FormNone},
	CKM_AES_ECB:                    {"CKM_AES_ECB", FormNone},
	CKM_AES_CBC:                    {"CKM_AES_CBC", FormRaw},
	CKM_AES_MAC:                    {"CKM_AES_MAC", FormNone},
	CKM_AES_MAC_GENERAL:            {"CKM_AES_MAC_GENERAL", FormRaw},
	CKM_AES_CBC_PAD:                {"CKM_AES_CBC_PAD", FormRaw},
	CKM_AES_CTR:                    {"CKM_AES_CTR", FormRaw},
	CKM_AES_GCM:                    {"CKM_AES_GCM", FormGcm},
	CKM_AES_CCM:                    {"CKM_AES_CCM", FormCcm},
	CKM_AES_CTS:                    {"CKM_AES_CTS", FormRaw},
	CKM_AES_CMAC:                   {"CKM_AES_CMAC", FormNone},
	CKM_AES_CMAC_GENERAL:           {"CKM_AES_CMAC_GENERAL", FormRaw},
	CKM_AES_XCBC_MAC:               {"CKM_AES_XCBC_MAC", FormNone},
	CKM_AES_XCBC_MAC_96:            {"CKM_AES_XCBC_MAC_96", FormNone},
	CKM_AES_GMAC:                   {"CKM_AES_GMAC", FormRaw},
	CKM_DES_ECB_ENCRYPT_DATA:       {"CKM_DES_ECB_ENCRYPT_DATA", FormString},
	CKM_DES_CBC_ENCRYPT_DATA:       {"CKM_DES_CBC_ENCRYPT_DATA", FormCbcdata8},
	CKM_DES3_ECB_ENCRYPT_DATA:      {"CKM_DES3_ECB_ENCRYPT_DATA", FormString},
	CKM_DES3_CBC_ENCRYPT_DATA:      {"CKM_DES3_CBC_ENCRYPT_DATA", FormCbcdata8},
	CKM_AES_ECB_ENCRYPT_DATA:       {"CKM_AES_ECB_ENCRYPT_DATA", FormString},
	CKM_AES_CBC_ENCRYPT_DATA:       {"CKM_AES_CBC_ENCRYPT_DATA", FormCbcdata16},
	CKM_DSA_PARAMETER_GEN:          {"CKM_DSA_PARAMETER_GEN", FormNone},
	CKM_DH_PKCS_PARAMETER_GEN:      {"CKM_DH_PKCS_PARAMETER_GEN", FormNone},
	CKM_AES_OFB:                    {"CKM_AES_OFB", FormRaw},
	CKM_AES_CFB64:                  {"CKM_AES_CFB64", FormRaw},
	CKM_AES_CFB8:                   {"CKM_AES_CFB8", FormRaw},
	CKM_AES_CFB128:                 {"CKM_AES_CFB128", FormRaw},
	CKM_AES_CFB1:                   {"CKM_AES_CFB1", FormRaw},
	CKM_AES_KEY_WRAP:               {"CKM_AES_KEY_WRAP", FormRaw},
	CKM_AES_KEY_WRAP_PAD:           {"CKM_AES_KEY_WRAP_PAD", FormRaw},
}
