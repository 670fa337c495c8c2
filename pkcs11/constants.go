// SPDX-License-Identifier: Apache-2.0

package pkcs11

// Object classes (CK_OBJECT_CLASS).
const (
	CKO_DATA              uint64 = 0x0
	CKO_CERTIFICATE       uint64 = 0x1
	CKO_PUBLIC_KEY        uint64 = 0x2
	CKO_PRIVATE_KEY       uint64 = 0x3
	CKO_SECRET_KEY        uint64 = 0x4
	CKO_HW_FEATURE        uint64 = 0x5
	CKO_DOMAIN_PARAMETERS uint64 = 0x6
	CKO_MECHANISM         uint64 = 0x7
	CKO_OTP_KEY           uint64 = 0x8
)

// Key types (CK_KEY_TYPE).
const (
	CKK_RSA            uint64 = 0x0
	CKK_DSA            uint64 = 0x1
	CKK_DH             uint64 = 0x2
	CKK_EC             uint64 = 0x3
	CKK_X9_42_DH       uint64 = 0x4
	CKK_GENERIC_SECRET uint64 = 0x10
	CKK_RC2            uint64 = 0x11
	CKK_RC4            uint64 = 0x12
	CKK_DES            uint64 = 0x13
	CKK_DES2           uint64 = 0x14
	CKK_DES3           uint64 = 0x15
	CKK_CAST128        uint64 = 0x18
	CKK_RC5            uint64 = 0x19
	CKK_AES            uint64 = 0x1f
	CKK_BLOWFISH       uint64 = 0x20
	CKK_TWOFISH        uint64 = 0x21
	CKK_HOTP           uint64 = 0x23
	CKK_CAMELLIA       uint64 = 0x25
	CKK_ARIA           uint64 = 0x26
	CKK_MD5_HMAC       uint64 = 0x27
	CKK_SHA_1_HMAC     uint64 = 0x28
	CKK_RIPEMD128_HMAC uint64 = 0x29
	CKK_RIPEMD160_HMAC uint64 = 0x2a
	CKK_SHA256_HMAC    uint64 = 0x2b
	CKK_SHA384_HMAC    uint64 = 0x2c
	CKK_SHA512_HMAC    uint64 = 0x2d
	CKK_SHA224_HMAC    uint64 = 0x2e
	CKK_SEED           uint64 = 0x2f
	CKK_GOSTR3410      uint64 = 0x30
	CKK_GOSTR3411      uint64 = 0x31
	CKK_GOST28147      uint64 = 0x32
	CKK_EC_EDWARDS     uint64 = 0x40
	CKK_EC_MONTGOMERY  uint64 = 0x41
	CKK_HSS            uint64 = 0x46
	CKK_XMSS           uint64 = 0x47
	CKK_XMSSMT         uint64 = 0x48
)

// Certificate types (CK_CERTIFICATE_TYPE).
const (
	CKC_X_509           uint64 = 0x0
	CKC_X_509_ATTR_CERT uint64 = 0x1
	CKC_WTLS            uint64 = 0x2
	CKC_OPENPGP         uint64 = 0x504750
)

// Flags of slots, tokens, sessions, mechanisms and C_Initialize (CK_FLAGS).
const (
	CKF_TOKEN_PRESENT                  uint64 = 0x1
	CKF_REMOVABLE_DEVICE               uint64 = 0x2
	CKF_HW_SLOT                        uint64 = 0x4
	CKF_RNG                            uint64 = 0x1
	CKF_WRITE_PROTECTED                uint64 = 0x2
	CKF_LOGIN_REQUIRED                 uint64 = 0x4
	CKF_USER_PIN_INITIALIZED           uint64 = 0x8
	CKF_RESTORE_KEY_NOT_NEEDED         uint64 = 0x20
	CKF_CLOCK_ON_TOKEN                 uint64 = 0x40
	CKF_PROTECTED_AUTHENTICATION_PATH  uint64 = 0x100
	CKF_DUAL_CRYPTO_OPERATIONS         uint64 = 0x200
	CKF_TOKEN_INITIALIZED              uint64 = 0x400
	CKF_SECONDARY_AUTHENTICATION       uint64 = 0x800
	CKF_USER_PIN_COUNT_LOW             uint64 = 0x10000
	CKF_USER_PIN_FINAL_TRY             uint64 = 0x20000
	CKF_USER_PIN_LOCKED                uint64 = 0x40000
	CKF_USER_PIN_TO_BE_CHANGED         uint64 = 0x80000
	CKF_SO_PIN_COUNT_LOW               uint64 = 0x100000
	CKF_SO_PIN_FINAL_TRY               uint64 = 0x200000
	CKF_SO_PIN_LOCKED                  uint64 = 0x400000
	CKF_SO_PIN_TO_BE_CHANGED           uint64 = 0x800000
	CKF_RW_SESSION                     uint64 = 0x2
	CKF_SERIAL_SESSION                 uint64 = 0x4
	CKF_HW                             uint64 = 0x1
	CKF_FIND_OBJECTS                   uint64 = 0x40
	CKF_ENCRYPT                        uint64 = 0x100
	CKF_DECRYPT                        uint64 = 0x200
	CKF_DIGEST                         uint64 = 0x400
	CKF_SIGN                           uint64 = 0x800
	CKF_SIGN_RECOVER                   uint64 = 0x1000
	CKF_VERIFY                         uint64 = 0x2000
	CKF_VERIFY_RECOVER                 uint64 = 0x4000
	CKF_GENERATE                       uint64 = 0x8000
	CKF_GENERATE_KEY_PAIR              uint64 = 0x10000
	CKF_WRAP                           uint64 = 0x20000
	CKF_UNWRAP                         uint64 = 0x40000
	CKF_DERIVE                         uint64 = 0x80000
	CKF_EC_F_P                         uint64 = 0x100000
	CKF_EC_NAMEDCURVE                  uint64 = 0x800000
	CKF_EC_UNCOMPRESS                  uint64 = 0x1000000
	CKF_EC_COMPRESS                    uint64 = 0x2000000
	CKF_DONT_BLOCK                     uint64 = 0x1
	CKF_LIBRARY_CANT_CREATE_OS_THREADS uint64 = 0x1
	CKF_OS_LOCKING_OK                  uint64 = 0x2
)

// Session states (CK_STATE).
const (
	CKS_RO_PUBLIC_SESSION uint64 = 0x0
	CKS_RO_USER_FUNCTIONS uint64 = 0x1
	CKS_RW_PUBLIC_SESSION uint64 = 0x2
	CKS_RW_USER_FUNCTIONS uint64 = 0x3
	CKS_RW_SO_FUNCTIONS   uint64 = 0x4
)

// Users (CK_USER_TYPE).
const (
	CKU_SO               uint64 = 0x0
	CKU_USER             uint64 = 0x1
	CKU_CONTEXT_SPECIFIC uint64 = 0x2
)

// Mask generation functions.
const (
	CKG_MGF1_SHA1   uint64 = 0x1
	CKG_MGF1_SHA224 uint64 = 0x5
	CKG_MGF1_SHA256 uint64 = 0x2
	CKG_MGF1_SHA384 uint64 = 0x3
	CKG_MGF1_SHA512 uint64 = 0x4
)

// Unavailable is CK_UNAVAILABLE_INFORMATION.
const Unavailable = ^uint64(0)
