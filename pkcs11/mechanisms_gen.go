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
	CKM_DSA_SHA3_224               MechanismType = 0x18
	CKM_DSA_SHA3_256               MechanismType = 0x19
	CKM_DSA_SHA3_384               MechanismType = 0x1a
	CKM_DSA_SHA3_512               MechanismType = 0x1b
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
	CKM_SHA3_224_RSA_PKCS          MechanismType = 0x66
	CKM_SHA3_224_RSA_PKCS_PSS      MechanismType = 0x67
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
	CKM_SHA3_256_HMAC_GENERAL      MechanismType = 0x2b2
	CKM_SHA3_256_KEY_GEN           MechanismType = 0x2b3
	CKM_SHA3_224                   MechanismType = 0x2b5
	CKM_SHA3_224_HMAC              MechanismType = 0x2b6
	CKM_SHA3_224_HMAC_GENERAL      MechanismType = 0x2b7
	CKM_SHA3_224_KEY_GEN           MechanismType = 0x2b8
	CKM_SHA3_384                   MechanismType = 0x2c0
	CKM_SHA3_384_HMAC              MechanismType = 0x2c1
	CKM_SHA3_384_HMAC_GENERAL      MechanismType = 0x2c2
	CKM_SHA3_384_KEY_GEN           MechanismType = 0x2c3
	CKM_SHA3_512                   MechanismType = 0x2d0
	CKM_SHA3_512_HMAC              MechanismType = 0x2d1
	CKM_SHA3_512_HMAC_GENERAL      MechanismType = 0x2d2
	CKM_SHA3_512_KEY_GEN           MechanismType = 0x2d3
	CKM_GENERIC_SECRET_KEY_GEN     MechanismType = 0x350
	CKM_CONCATENATE_BASE_AND_KEY   MechanismType = 0x360
	CKM_CONCATENATE_BASE_AND_DATA  MechanismType = 0x362
	CKM_CONCATENATE_DATA_AND_BASE  MechanismType = 0x363
	CKM_XOR_BASE_AND_DATA          MechanismType = 0x364
	CKM_EXTRACT_KEY_FROM_KEY       MechanismType = 0x365
	CKM_SSL3_PRE_MASTER_KEY_GEN    MechanismType = 0x370
	CKM_SSL3_MASTER_KEY_DERIVE     MechanismType = 0x371
	CKM_SSL3_KEY_AND_MAC_DERIVE    MechanismType = 0x372
	CKM_SSL3_MASTER_KEY_DERIVE_DH  MechanismType = 0x373
	CKM_TLS_PRE_MASTER_KEY_GEN     MechanismType = 0x374
	CKM_TLS_MASTER_KEY_DERIVE      MechanismType = 0x375
	CKM_TLS_KEY_AND_MAC_DERIVE     MechanismType = 0x376
	CKM_TLS_MASTER_KEY_DERIVE_DH   MechanismType = 0x377
	CKM_TLS_PRF                    MechanismType = 0x378
	CKM_SSL3_MD5_MAC               MechanismType = 0x380
	CKM_SSL3_SHA1_MAC              MechanismType = 0x381
	CKM_MD5_KEY_DERIVATION         MechanismType = 0x390
	CKM_SHA1_KEY_DERIVATION        MechanismType = 0x392
	CKM_SHA256_KEY_DERIVATION      MechanismType = 0x393
	CKM_SHA384_KEY_DERIVATION      MechanismType = 0x394
	CKM_SHA512_KEY_DERIVATION      MechanismType = 0x395
	CKM_SHA224_KEY_DERIVATION      MechanismType = 0x396
	CKM_SHA3_256_KEY_DERIVATION    MechanismType = 0x397
	CKM_SHA3_224_KEY_DERIVATION    MechanismType = 0x398
	CKM_SHA3_384_KEY_DERIVATION    MechanismType = 0x399
	CKM_SHA3_512_KEY_DERIVATION    MechanismType = 0x39a
	CKM_PBE_MD2_DES_CBC            MechanismType = 0x3a0
	CKM_PBE_MD5_DES_CBC            MechanismType = 0x3a1
	CKM_PBE_SHA1_RC4_128           MechanismType = 0x3a6
	CKM_PBE_SHA1_RC4_40            MechanismType = 0x3a7
	CKM_PBE_SHA1_DES3_EDE_CBC      MechanismType = 0x3a8
	CKM_PBE_SHA1_DES2_EDE_CBC      MechanismType = 0x3a9
	CKM_PBE_SHA1_RC2_128_CBC       MechanismType = 0x3aa
	CKM_PBE_SHA1_RC2_40_CBC        MechanismType = 0x3ab
	CKM_PBA_SHA1_WITH_SHA1_HMAC    MechanismType = 0x3c0
	CKM_TLS12_MAC                  MechanismType = 0x3d8
	CKM_TLS12_KDF                  MechanismType = 0x3d9
	CKM_TLS12_MASTER_KEY_DERIVE    MechanismType = 0x3e0
	CKM_TLS12_KEY_AND_MAC_DERIVE   MechanismType = 0x3e1
	CKM_TLS12_MASTER_KEY_DERIVE_DH MechanismType = 0x3e2
	CKM_TLS12_KEY_SAFE_DERIVE      MechanismType = 0x3e3
	CKM_TLS_MAC                    MechanismType = 0x3e4
	CKM_TLS_KDF                    MechanismType = 0x3e5
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
	CKM_AES_XTS                    MechanismType = 0x1071
	CKM_AES_XTS_KEY_GEN            MechanismType = 0x1072
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
	CKM_CHACHA20_KEY_GEN           MechanismType = 0x1225
	CKM_POLY1305_KEY_GEN           MechanismType = 0x1227
	CKM_POLY1305                   MechanismType = 0x1228
	CKM_DSA_PARAMETER_GEN          MechanismType = 0x2000
	CKM_DH_PKCS_PARAMETER_GEN      MechanismType = 0x2001
	CKM_AES_OFB                    MechanismType = 0x2104
	CKM_AES_CFB64                  MechanismType = 0x2105
	CKM_AES_CFB8                   MechanismType = 0x2106
	CKM_AES_CFB128                 MechanismType = 0x2107
	CKM_AES_CFB1                   MechanismType = 0x2108
	CKM_AES_KEY_WRAP               MechanismType = 0x2109
	CKM_AES_KEY_WRAP_PAD           MechanismType = 0x210a
	CKM_AES_KEY_WRAP_KWP           MechanismType = 0x210b
	CKM_AES_KEY_WRAP_PKCS7         MechanismType = 0x210c
	CKM_SHA_1_KEY_GEN              MechanismType = 0x4003
	CKM_SHA224_KEY_GEN             MechanismType = 0x4004
	CKM_SHA256_KEY_GEN             MechanismType = 0x4005
	CKM_SHA384_KEY_GEN             MechanismType = 0x4006
	CKM_SHA512_KEY_GEN             MechanismType = 0x4007
	CKM_SHA512_224_KEY_GEN         MechanismType = 0x4008
	CKM_SHA512_256_KEY_GEN         MechanismType = 0x4009
	CKM_BLAKE2B_160                MechanismType = 0x400c
	CKM_BLAKE2B_160_HMAC           MechanismType = 0x400d
	CKM_BLAKE2B_160_HMAC_GENERAL   MechanismType = 0x400e
	CKM_BLAKE2B_160_KEY_DERIVE     MechanismType = 0x400f
	CKM_BLAKE2B_160_KEY_GEN        MechanismType = 0x4010
	CKM_BLAKE2B_256                MechanismType = 0x4011
	CKM_BLAKE2B_256_HMAC           MechanismType = 0x4012
	CKM_BLAKE2B_256_HMAC_GENERAL   MechanismType = 0x4013
	CKM_BLAKE2B_256_KEY_DERIVE     MechanismType = 0x4014
	CKM_BLAKE2B_256_KEY_GEN        MechanismType = 0x4015
	CKM_BLAKE2B_384                MechanismType = 0x4016
	CKM_BLAKE2B_384_HMAC           MechanismType = 0x4017
	CKM_BLAKE2B_384_HMAC_GENERAL   MechanismType = 0x4018
	CKM_BLAKE2B_384_KEY_DERIVE     MechanismType = 0x4019
	CKM_BLAKE2B_384_KEY_GEN        MechanismType = 0x401a
	CKM_BLAKE2B_512                MechanismType = 0x401b
	CKM_BLAKE2B_512_HMAC           MechanismType = 0x401c
	CKM_BLAKE2B_512_HMAC_GENERAL   MechanismType = 0x401d
	CKM_BLAKE2B_512_KEY_DERIVE     MechanismType = 0x401e
	CKM_BLAKE2B_512_KEY_GEN        MechanismType = 0x401f
	CKM_XEDDSA                     MechanismType = 0x4029
	CKM_HKDF_KEY_GEN               MechanismType = 0x402c
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
	CKM_DSA_SHA3_224:               {"CKM_DSA_SHA3_224", FormNone},
	CKM_DSA_SHA3_256:               {"CKM_DSA_SHA3_256", FormNone},
	CKM_DSA_SHA3_384:               {"CKM_DSA_SHA3_384", FormNone},
	CKM_DSA_SHA3_512:               {"CKM_DSA_SHA3_512", FormNone},
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
	CKM_SHA3_224_RSA_PKCS:          {"CKM_SHA3_224_RSA_PKCS", FormNone},
	CKM_SHA3_224_RSA_PKCS_PSS:      {"CKM_SHA3_224_RSA_PKCS_PSS", FormRaw},
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
	CKM_SHA3_256_HMAC_GENERAL:      {"CKM_SHA3_256_HMAC_GENERAL", FormRaw},
	CKM_SHA3_256_KEY_GEN:           {"CKM_SHA3_256_KEY_GEN", FormNone},
	CKM_SHA3_224:                   {"CKM_SHA3_224", FormNone},
	CKM_SHA3_224_HMAC:              {"CKM_SHA3_224_HMAC", FormNone},
	CKM_SHA3_224_HMAC_GENERAL:      {"CKM_SHA3_224_HMAC_GENERAL", FormRaw},
	CKM_SHA3_224_KEY_GEN:           {"CKM_SHA3_224_KEY_GEN", FormNone},
	CKM_SHA3_384:                   {"CKM_SHA3_384", FormNone},
	CKM_SHA3_384_HMAC:              {"CKM_SHA3_384_HMAC", FormNone},
	CKM_SHA3_384_HMAC_GENERAL:      {"CKM_SHA3_384_HMAC_GENERAL", FormRaw},
	CKM_SHA3_384_KEY_GEN:           {"CKM_SHA3_384_KEY_GEN", FormNone},
	CKM_SHA3_512:                   {"CKM_SHA3_512", FormNone},
	CKM_SHA3_512_HMAC:              {"CKM_SHA3_512_HMAC", FormNone},
	CKM_SHA3_512_HMAC_GENERAL:      {"CKM_SHA3_512_HMAC_GENERAL", FormRaw},
	CKM_SHA3_512_KEY_GEN:           {"CKM_SHA3_512_KEY_GEN", FormNone},
	CKM_GENERIC_SECRET_KEY_GEN:     {"CKM_GENERIC_SECRET_KEY_GEN", FormNone},
	CKM_CONCATENATE_BASE_AND_KEY:   {"CKM_CONCATENATE_BASE_AND_KEY", FormKey},
	CKM_CONCATENATE_BASE_AND_DATA:  {"CKM_CONCATENATE_BASE_AND_DATA", FormString},
	CKM_CONCATENATE_DATA_AND_BASE:  {"CKM_CONCATENATE_DATA_AND_BASE", FormString},
	CKM_XOR_BASE_AND_DATA:          {"CKM_XOR_BASE_AND_DATA", FormString},
	CKM_EXTRACT_KEY_FROM_KEY:       {"CKM_EXTRACT_KEY_FROM_KEY", FormRaw},
	CKM_SSL3_PRE_MASTER_KEY_GEN:    {"CKM_SSL3_PRE_MASTER_KEY_GEN", FormRaw},
	CKM_SSL3_MASTER_KEY_DERIVE:     {"CKM_SSL3_MASTER_KEY_DERIVE", FormMaster},
	CKM_SSL3_KEY_AND_MAC_DERIVE:    {"CKM_SSL3_KEY_AND_MAC_DERIVE", FormMaterial},
	CKM_SSL3_MASTER_KEY_DERIVE_DH:  {"CKM_SSL3_MASTER_KEY_DERIVE_DH", FormMaster},
	CKM_TLS_PRE_MASTER_KEY_GEN:     {"CKM_TLS_PRE_MASTER_KEY_GEN", FormRaw},
	CKM_TLS_MASTER_KEY_DERIVE:      {"CKM_TLS_MASTER_KEY_DERIVE", FormMaster},
	CKM_TLS_KEY_AND_MAC_DERIVE:     {"CKM_TLS_KEY_AND_MAC_DERIVE", FormMaterial},
	CKM_TLS_MASTER_KEY_DERIVE_DH:   {"CKM_TLS_MASTER_KEY_DERIVE_DH", FormMaster},
	CKM_TLS_PRF:                    {"CKM_TLS_PRF", FormPrf},
	CKM_SSL3_MD5_MAC:               {"CKM_SSL3_MD5_MAC", FormRaw},
	CKM_SSL3_SHA1_MAC:              {"CKM_SSL3_SHA1_MAC", FormRaw},
	CKM_MD5_KEY_DERIVATION:         {"CKM_MD5_KEY_DERIVATION", FormNone},
	CKM_SHA1_KEY_DERIVATION:        {"CKM_SHA1_KEY_DERIVATION", FormNone},
	CKM_SHA256_KEY_DERIVATION:      {"CKM_SHA256_KEY_DERIVATION", FormNone},
	CKM_SHA384_KEY_DERIVATION:      {"CKM_SHA384_KEY_DERIVATION", FormNone},
	CKM_SHA512_KEY_DERIVATION:      {"CKM_SHA512_KEY_DERIVATION", FormNone},
	CKM_SHA224_KEY_DERIVATION:      {"CKM_SHA224_KEY_DERIVATION", FormNone},
	CKM_SHA3_256_KEY_DERIVATION:    {"CKM_SHA3_256_KEY_DERIVATION", FormNone},
	CKM_SHA3_224_KEY_DERIVATION:    {"CKM_SHA3_224_KEY_DERIVATION", FormNone},
	CKM_SHA3_384_KEY_DERIVATION:    {"CKM_SHA3_384_KEY_DERIVATION", FormNone},
	CKM_SHA3_512_KEY_DERIVATION:    {"CKM_SHA3_512_KEY_DERIVATION", FormNone},
	CKM_PBE_MD2_DES_CBC:            {"CKM_PBE_MD2_DES_CBC", FormPbe},
	CKM_PBE_MD5_DES_CBC:            {"CKM_PBE_MD5_DES_CBC", FormPbe},
	CKM_PBE_SHA1_RC4_128:           {"CKM_PBE_SHA1_RC4_128", FormPbe},
	CKM_PBE_SHA1_RC4_40:            {"CKM_PBE_SHA1_RC4_40", FormPbe},
	CKM_PBE_SHA1_DES3_EDE_CBC:      {"CKM_PBE_SHA1_DES3_EDE_CBC", FormPbe},
	CKM_PBE_SHA1_DES2_EDE_CBC:      {"CKM_PBE_SHA1_DES2_EDE_CBC", FormPbe},
	CKM_PBE_SHA1_RC2_128_CBC:       {"CKM_PBE_SHA1_RC2_128_CBC", FormPbe},
	CKM_PBE_SHA1_RC2_40_CBC:        {"CKM_PBE_SHA1_RC2_40_CBC", FormPbe},
	CKM_PBA_SHA1_WITH_SHA1_HMAC:    {"CKM_PBA_SHA1_WITH_SHA1_HMAC", FormPbe},
	CKM_TLS12_MAC:                  {"CKM_TLS12_MAC", FormRaw},
	CKM_TLS12_KDF:                  {"CKM_TLS12_KDF", FormKdf},
	CKM_TLS12_MASTER_KEY_DERIVE:    {"CKM_TLS12_MASTER_KEY_DERIVE", FormMaster12},
	CKM_TLS12_KEY_AND_MAC_DERIVE:   {"CKM_TLS12_KEY_AND_MAC_DERIVE", FormMaterial12},
	CKM_TLS12_MASTER_KEY_DERIVE_DH: {"CKM_TLS12_MASTER_KEY_DERIVE_DH", FormMaster12},
	CKM_TLS12_KEY_SAFE_DERIVE:      {"CKM_TLS12_KEY_SAFE_DERIVE", FormMaterial12},
	CKM_TLS_MAC:                    {"CKM_TLS_MAC", FormRaw},
	CKM_TLS_KDF:                    {"CKM_TLS_KDF", FormKdf},
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
	CKM_AES_XTS:                    {"CKM_AES_XTS", FormRaw},
	CKM_AES_XTS_KEY_GEN:            {"CKM_AES_XTS_KEY_GEN", FormNone},
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
	CKM_CHACHA20_KEY_GEN:           {"CKM_CHACHA20_KEY_GEN", FormNone},
	CKM_POLY1305_KEY_GEN:           {"CKM_POLY1305_KEY_GEN", FormNone},
	CKM_POLY1305:                   {"CKM_POLY1305", FormNone},
	CKM_DSA_PARAMETER_GEN:          {"CKM_DSA_PARAMETER_GEN", FormNone},
	CKM_DH_PKCS_PARAMETER_GEN:      {"CKM_DH_PKCS_PARAMETER_GEN", FormNone},
	CKM_AES_OFB:                    {"CKM_AES_OFB", FormRaw},
	CKM_AES_CFB64:                  {"CKM_AES_CFB64", FormRaw},
	CKM_AES_CFB8:                   {"CKM_AES_CFB8", FormRaw},
	CKM_AES_CFB128:                 {"CKM_AES_CFB128", FormRaw},
	CKM_AES_CFB1:                   {"CKM_AES_CFB1", FormRaw},
	CKM_AES_KEY_WRAP:               {"CKM_AES_KEY_WRAP", FormRaw},
	CKM_AES_KEY_WRAP_PAD:           {"CKM_AES_KEY_WRAP_PAD", FormRaw},
	CKM_AES_KEY_WRAP_KWP:           {"CKM_AES_KEY_WRAP_KWP", FormRaw},
	CKM_AES_KEY_WRAP_PKCS7:         {"CKM_AES_KEY_WRAP_PKCS7", FormRaw},
	CKM_SHA_1_KEY_GEN:              {"CKM_SHA_1_KEY_GEN", FormNone},
	CKM_SHA224_KEY_GEN:             {"CKM_SHA224_KEY_GEN", FormNone},
	CKM_SHA256_KEY_GEN:             {"CKM_SHA256_KEY_GEN", FormNone},
	CKM_SHA384_KEY_GEN:             {"CKM_SHA384_KEY_GEN", FormNone},
	CKM_SHA512_KEY_GEN:             {"CKM_SHA512_KEY_GEN", FormNone},
	CKM_SHA512_224_KEY_GEN:         {"CKM_SHA512_224_KEY_GEN", FormNone},
	CKM_SHA512_256_KEY_GEN:         {"CKM_SHA512_256_KEY_GEN", FormNone},
	CKM_BLAKE2B_160:                {"CKM_BLAKE2B_160", FormNone},
	CKM_BLAKE2B_160_HMAC:           {"CKM_BLAKE2B_160_HMAC", FormNone},
	CKM_BLAKE2B_160_HMAC_GENERAL:   {"CKM_BLAKE2B_160_HMAC_GENERAL", FormRaw},
	CKM_BLAKE2B_160_KEY_DERIVE:     {"CKM_BLAKE2B_160_KEY_DERIVE", FormNone},
	CKM_BLAKE2B_160_KEY_GEN:        {"CKM_BLAKE2B_160_KEY_GEN", FormNone},
	CKM_BLAKE2B_256:                {"CKM_BLAKE2B_256", FormNone},
	CKM_BLAKE2B_256_HMAC:           {"CKM_BLAKE2B_256_HMAC", FormNone},
	CKM_BLAKE2B_256_HMAC_GENERAL:   {"CKM_BLAKE2B_256_HMAC_GENERAL", FormRaw},
	CKM_BLAKE2B_256_KEY_DERIVE:     {"CKM_BLAKE2B_256_KEY_DERIVE", FormNone},
	CKM_BLAKE2B_256_KEY_GEN:        {"CKM_BLAKE2B_256_KEY_GEN", FormNone},
	CKM_BLAKE2B_384:                {"CKM_BLAKE2B_384", FormNone},
	CKM_BLAKE2B_384_HMAC:           {"CKM_BLAKE2B_384_HMAC", FormNone},
	CKM_BLAKE2B_384_HMAC_GENERAL:   {"CKM_BLAKE2B_384_HMAC_GENERAL", FormRaw},
	CKM_BLAKE2B_384_KEY_DERIVE:     {"CKM_BLAKE2B_384_KEY_DERIVE", FormNone},
	CKM_BLAKE2B_384_KEY_GEN:        {"CKM_BLAKE2B_384_KEY_GEN", FormNone},
	CKM_BLAKE2B_512:                {"CKM_BLAKE2B_512", FormNone},
	CKM_BLAKE2B_512_HMAC:           {"CKM_BLAKE2B_512_HMAC", FormNone},
	CKM_BLAKE2B_512_HMAC_GENERAL:   {"CKM_BLAKE2B_512_HMAC_GENERAL", FormRaw},
	CKM_BLAKE2B_512_KEY_DERIVE:     {"CKM_BLAKE2B_512_KEY_DERIVE", FormNone},
	CKM_BLAKE2B_512_KEY_GEN:        {"CKM_BLAKE2B_512_KEY_GEN", FormNone},
	CKM_XEDDSA:                     {"CKM_XEDDSA", FormRaw},
	CKM_HKDF_KEY_GEN:               {"CKM_HKDF_KEY_GEN", FormNone},
}
