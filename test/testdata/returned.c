/* SPDX-License-Identifier: Apache-2.0 */
/* Uses mechanisms that write into their parameter, on the tokens of vendor.c. */
#include "signer.h"
#include "parameters.h"

static CK_SESSION_HANDLE s;
static CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
static CK_OBJECT_CLASS secret = CKO_SECRET_KEY;
static CK_KEY_TYPE generic = CKK_GENERIC_SECRET;

static struct tls_random randoms = { (CK_BYTE *)"client", 6, (CK_BYTE *)"server", 6 };

static void value_is(CK_OBJECT_HANDLE key, const void *want, CK_ULONG length)
{
	CK_BYTE value[64];
	CK_ATTRIBUTE a = { CKA_VALUE, value, sizeof(value) };

	RETURNS(CKR_OK, p11->C_GetAttributeValue(s, key, &a, 1));
	CHECK(a.ulValueLen == length && !memcmp(value, want, length));
}

static CK_OBJECT_HANDLE master(CK_OBJECT_HANDLE base, CK_ATTRIBUTE *t, CK_ULONG n)
{
	CK_VERSION version = { 0, 0 };
	struct master12 p = { randoms, &version, CKM_SHA256 };
	CK_MECHANISM m = { CKM_TLS12_MASTER_KEY_DERIVE, &p, sizeof(p) };
	CK_OBJECT_HANDLE key = 0;

	RETURNS(CKR_OK, p11->C_DeriveKey(s, &m, base, t, n, &key));
	CHECK(version.major == 3 && version.minor == 3);
	value_is(key, "012345678901234567890123456789012345678901234567", 48);
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_DeriveKey(s, &m, base, t, n, NULL));
	return key;
}

static void material(CK_OBJECT_HANDLE base, CK_ATTRIBUTE *t, CK_ULONG n, CK_ULONG mac_bits)
{
	CK_BYTE client[17] = { 0 }, server[17] = { 0 }, want[32];
	struct key_material out = { { 0 }, client, server };
	struct material12 p = { mac_bits, 128, 128, CK_FALSE, randoms, &out, CKM_SHA256 };
	CK_MECHANISM m = { CKM_TLS12_KEY_AND_MAC_DERIVE, &p, sizeof(p) };

	RETURNS(CKR_OK, p11->C_DeriveKey(s, &m, base, t, n, NULL));
	for (int i = 0; i < 4; i++) {
		if (i < 2 && !mac_bits) {
			CHECK(!out.keys[i]);
			continue;
		}
		memset(want, 'A' + i, sizeof(want));
		value_is(out.keys[i], want, i < 2 ? mac_bits / 8 : 16);
	}
	CHECK(!strcmp((char *)client, "cccccccccccccccc") && !strcmp((char *)server, "ssssssssssssssss"));
	p.out = NULL;
	RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_DeriveKey(s, &m, base, t, n, NULL));
}

static void pseudo_random(CK_OBJECT_HANDLE base)
{
	CK_BYTE output[13] = { 0 };
	CK_ULONG length = 12;
	struct prf p = { (CK_BYTE *)"x", 1, (CK_BYTE *)"label", 5, output, &length };
	CK_MECHANISM m = { CKM_TLS_PRF, &p, sizeof(p) };

	RETURNS(CKR_OK, p11->C_DeriveKey(s, &m, base, NULL, 0, NULL));
	CHECK(length == 12 && !strcmp((char *)output, "labelxxxxxxx"));
}

static void password(CK_ATTRIBUTE *t, CK_ULONG n)
{
	CK_BYTE iv[9] = { 0 };
	struct pbe p = { iv, (CK_BYTE *)"0123456789abcdef01234567", 24, (CK_BYTE *)"saltsalt", 8, 1000 };
	CK_MECHANISM m = { CKM_PBE_SHA1_DES3_EDE_CBC, &p, sizeof(p) };
	CK_OBJECT_HANDLE key = 0;

	RETURNS(CKR_OK, p11->C_GenerateKey(s, &m, t, n, &key));
	CHECK(!strcmp((char *)iv, "saltsalt"));
	value_is(key, "0123456789abcdef01234567", 24);
	p.iv = NULL;
	RETURNS(CKR_OK, p11->C_GenerateKey(s, &m, t, n, &key));
}

static CK_OBJECT_HANDLE aes_key(void)
{
	CK_ULONG length = 32;
	CK_MECHANISM m = { CKM_AES_KEY_GEN, NULL, 0 };
	CK_ATTRIBUTE t[] = {
		{ CKA_TOKEN, &yes, 1 }, { CKA_ENCRYPT, &yes, 1 }, { CKA_DECRYPT, &yes, 1 },
		{ CKA_VALUE_LEN, &length, sizeof(length) },
	};
	CK_OBJECT_HANDLE key = 0;

	RETURNS(CKR_OK, p11->C_GenerateKey(s, &m, t, 4, &key));
	return key;
}

/* Each IV is the one that its data was encrypted under. */
static void chosen_iv(CK_OBJECT_HANDLE key)
{
	CK_BYTE iv[12], last[12] = { 0 }, out[64], plain[64];

	for (int i = 0; i < 12; i++) {
		CK_GCM_PARAMS p = { iv, sizeof(iv), 96, NULL, 0, 128 };
		CK_MECHANISM m = { CKM_AES_GCM, &p, sizeof(p) };
		CK_ULONG n = sizeof(out), k = sizeof(plain);

		memset(iv, 0, sizeof(iv));
		RETURNS(CKR_OK, p11->C_EncryptInit(s, &m, key));
		CHECK(memcmp(iv, last, sizeof(iv)));
		memcpy(last, iv, sizeof(iv));
		RETURNS(CKR_OK, p11->C_Encrypt(s, (CK_BYTE *)"plain", 5, out, &n));
		RETURNS(CKR_OK, p11->C_DecryptInit(s, &m, key));
		RETURNS(CKR_OK, p11->C_Decrypt(s, out, n, plain, &k));
		CHECK(k == 5 && !memcmp(plain, "plain", 5));
	}
}

/* A token that chooses only in C_Encrypt: nothing is encrypted under an IV that
 * the application does not have. */
static void late_iv(CK_OBJECT_HANDLE key)
{
	CK_BYTE iv[12] = { 0 }, out[64];
	CK_GCM_PARAMS p = { iv, sizeof(iv), 96, NULL, 0, 128 };
	CK_MECHANISM m = { CKM_AES_GCM, &p, sizeof(p) };
	CK_ULONG n;

	for (int i = 0; i < 4; i++) {
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_EncryptInit(s, &m, key));
		RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_Encrypt(s, (CK_BYTE *)"plain", 5, out, &n));
	}
}

int main(int argc, char **argv)
{
	CK_ATTRIBUTE t[] = {
		{ CKA_CLASS, &secret, sizeof(secret) }, { CKA_KEY_TYPE, &generic, sizeof(generic) },
		{ CKA_TOKEN, &no, 1 }, { CKA_SENSITIVE, &no, 1 }, { CKA_EXTRACTABLE, &yes, 1 },
	};
	const CK_ULONG n = sizeof(t) / sizeof(t[0]);
	CK_OBJECT_HANDLE base = 0;

	CHECK(argc == 2);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	s = open_session();
	RETURNS(CKR_OK, p11->C_Login(s, CKU_USER, (CK_BYTE *)getenv("PIN"), strlen(getenv("PIN"))));
	if (getenv("VENDOR_LATE")) {
		late_iv(aes_key());
	} else {
		CK_ULONG length = 48;
		CK_ATTRIBUTE b[] = { { CKA_TOKEN, &yes, 1 }, { CKA_DERIVE, &yes, 1 }, { CKA_VALUE_LEN, &length, 8 } };
		CK_MECHANISM m = { CKM_GENERIC_SECRET_KEY_GEN, NULL, 0 };

		RETURNS(CKR_OK, p11->C_GenerateKey(s, &m, b, 3, &base));
		for (int token = 0; token < 2; token++) {
			t[2].pValue = token ? &yes : &no;
			material(master(base, t, n), t, n, 256);
			material(base, t, n, 0);
			password(t, n);
		}
		pseudo_random(base);
		chosen_iv(aes_key());
	}
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
