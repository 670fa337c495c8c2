/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one call for each golden frame, and checks what its reply becomes. */
#include <stddef.h>
#include "application.h"

static CK_FUNCTION_LIST *p11;
static CK_BYTE bytes[64];

/* The engine answers the call that follows with the golden reply of this name. */
static void frame(const char *name)
{
	printf("%s\n", name);
	fflush(stdout);
	CHECK(getchar() == '\n');
}

static void slots(void)
{
	CK_SLOT_ID list[4];
	CK_ULONG n = 4;
	CK_SESSION_HANDLE session = 0;

	frame("slotlist");
	RETURNS(CKR_OK, p11->C_GetSlotList(CK_TRUE, list, &n));
	CHECK(n == 2 && list[0] == 5 && list[1] == 7);
	frame("slotlist-length");
	RETURNS(CKR_OK, p11->C_GetSlotList(77, NULL, &n));
	CHECK(n == 2);
	frame("opensession");
	RETURNS(CKR_OK, p11->C_OpenSession(7, CKF_SERIAL_SESSION, &n, NULL, &session));
	CHECK(session == 0x1122334455667788);
	frame("login");
	RETURNS(CKR_PIN_INCORRECT, p11->C_Login(session, CKU_USER, (CK_BYTE *)"1234", 4));
	frame("login-null");
	RETURNS(CKR_OK, p11->C_Login(session, CKU_USER, NULL, 0));
}

/* What PKCS#11 3.0 added. */
static void new_functions(const char *path)
{
	CK_FUNCTION_LIST_3_0 *list = load_interface(path, 3, 0);

	frame("loginuser");
	RETURNS(CKR_OK, list->C_LoginUser(0x1122334455667788, CKU_USER, (CK_BYTE *)"1234", 4,
					  (CK_BYTE *)"", 0));
	frame("sessioncancel");
	RETURNS(CKR_OPERATION_CANCEL_FAILED,
		list->C_SessionCancel(0x1122334455667788, CKF_SIGN | CKF_FIND_OBJECTS));
	frame("mechanism-absent");
	RETURNS(CKR_OK, p11->C_DigestInit(0x1122334455667788, NULL));
}

static void sign(void)
{
	CK_BYTE out[16];
	CK_ULONG n = sizeof(out);

	frame("sign");
	RETURNS(CKR_OK, p11->C_Sign(1, (CK_BYTE *)"data", 4, out, &n));
	CHECK(n == 3 && !memcmp(out, "sig", 3));
	n = 99;
	frame("sign-length");
	RETURNS(CKR_OK, p11->C_Sign(1, (CK_BYTE *)"data", 4, NULL, &n));
	CHECK(n == 256);
	n = 2;
	frame("sign-short");
	RETURNS(CKR_BUFFER_TOO_SMALL, p11->C_Sign(1, (CK_BYTE *)"data", 4, out, &n));
	CHECK(n == 256);
	n = sizeof(out);
	frame("sign-null");
	RETURNS(CKR_OK, p11->C_Sign(1, NULL, 9, out, &n));
	CHECK(n == 0);
	n = sizeof(out);
	frame("sign-empty");
	RETURNS(CKR_OK, p11->C_Sign(1, (CK_BYTE *)"", 0, out, &n));
	CHECK(n == 3);
}

/* The second time both go in one. */
static void once(void)
{
	CK_MECHANISM pkcs = { CKM_RSA_PKCS, NULL, 0 };
	CK_BYTE out[16];
	CK_ULONG n;

	frame("verifyinit");
	RETURNS(CKR_OK, p11->C_VerifyInit(1, &pkcs, 2));
	frame("verify");
	RETURNS(CKR_OK, p11->C_Verify(1, (CK_BYTE *)"data", 4, (CK_BYTE *)"sig", 3));
	RETURNS(CKR_OK, p11->C_VerifyInit(1, &pkcs, 2));
	frame("verifyonce");
	RETURNS(CKR_OK, p11->C_Verify(1, (CK_BYTE *)"data", 4, (CK_BYTE *)"sig", 3));
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			frame("signinit");
		RETURNS(CKR_OK, p11->C_SignInit(1, &pkcs, 2));
		frame(i == 0 ? "sign" : "signonce");
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Sign(1, (CK_BYTE *)"data", 4, out, &n));
		CHECK(n == 3 && !memcmp(out, "sig", 3));
	}
}

static void attributes(void)
{
	CK_BYTE label[4];
	CK_ATTRIBUTE inner[2] = { { 0, NULL, 0 }, { 0, bytes, 8 } };
	CK_ATTRIBUTE query[] = {
		{ CKA_ID, NULL, 123 },
		{ CKA_LABEL, label, sizeof(label) },
		{ CKA_VALUE, bytes, 16 },
		{ CKA_UNWRAP_TEMPLATE, inner, sizeof(inner) },
		{ CKA_WRAP_TEMPLATE, NULL, 0 },
	};

	frame("attributes");
	RETURNS(CKR_ATTRIBUTE_SENSITIVE, p11->C_GetAttributeValue(1, 2, query, 5));
	CHECK(query[0].ulValueLen == 20);
	CHECK(query[1].ulValueLen == 3 && !memcmp(label, "key", 3));
	CHECK(query[2].ulValueLen == CK_UNAVAILABLE_INFORMATION);
	CHECK(query[3].ulValueLen == sizeof(inner));
	CHECK(inner[0].type == CKA_SENSITIVE && inner[0].ulValueLen == 1);
	CHECK(inner[1].type == CKA_KEY_TYPE && inner[1].ulValueLen == 8 && bytes[0] == CKK_AES);
	CHECK(query[4].ulValueLen == 2 * sizeof(CK_ATTRIBUTE));
}

static void templates(void)
{
	CK_BBOOL yes = CK_TRUE;
	CK_MECHANISM aes = { CKM_AES_KEY_GEN, NULL, 0 };
	CK_MECHANISM rsa = { CKM_RSA_PKCS_KEY_PAIR_GEN, NULL, 0 };
	CK_ULONG bits = 2048, aes_type = CKK_AES;
	CK_ATTRIBUTE inner[] = { { CKA_SENSITIVE, &yes, 1 }, { CKA_KEY_TYPE, &aes_type, 8 } };
	CK_ATTRIBUTE nested[] = {
		{ CKA_LABEL, (char *)"domain", 6 },
		{ CKA_ID, NULL, 0 },
		{ CKA_VALUE, bytes, 0 },
		{ CKA_UNWRAP_TEMPLATE, inner, sizeof(inner) },
	};
	CK_ATTRIBUTE public[] = { { CKA_MODULUS_BITS, &bits, 8 }, { CKA_VERIFY, &yes, 1 } };
	CK_ATTRIBUTE private[] = { { CKA_SIGN, &yes, 1 } };
	CK_OBJECT_HANDLE key = 0, other = 0, found[4];
	CK_ULONG n = 0;

	frame("generatekey");
	RETURNS(CKR_OK, p11->C_GenerateKey(1, &aes, nested, 4, &key));
	CHECK(key == 8);
	frame("generatekeypair");
	RETURNS(CKR_OK, p11->C_GenerateKeyPair(1, &rsa, public, 2, private, 1, &key, &other));
	CHECK(key == 9 && other == 10);
	frame("findobjectsinit");
	RETURNS(CKR_OK, p11->C_FindObjectsInit(1, NULL, 0));
	frame("findobjects");
	RETURNS(CKR_OK, p11->C_FindObjects(1, found, 4, &n));
	CHECK(n == 1 && found[0] == 9);
	frame("random");
	RETURNS(CKR_OK, p11->C_GenerateRandom(1, bytes, 4));
	CHECK(!memcmp(bytes, "rand", 4));
}

static void init(const char *name, CK_MECHANISM_TYPE type, void *parameter, CK_ULONG length)
{
	CK_MECHANISM m = { type, parameter, length };

	frame(name);
	RETURNS(CKR_OK, p11->C_EncryptInit(1, &m, 2));
}

static void mechanisms(void)
{
	CK_BYTE iv[16] = "0123456789abcdef";
	CK_RSA_PKCS_OAEP_PARAMS oaep = { CKM_SHA256, 2, CKZ_DATA_SPECIFIED, (CK_BYTE *)"src", 3 };
	CK_GCM_PARAMS gcm = { iv, 12, 96, (CK_BYTE *)"aad", 3, 128 };
	struct { void *iv; CK_ULONG n; void *aad; CK_ULONG m, tag; } gcm40 = { iv, 12, NULL, 0, 128 };
	struct { CK_ULONG n; void *nonce; CK_ULONG m; void *aad; CK_ULONG k, mac; }
		ccm = { 100, iv, 12, (CK_BYTE *)"aad", 3, 16 };
	CK_ECDH1_DERIVE_PARAMS ecdh = { CKD_NULL, 0, NULL, 5, (CK_BYTE *)"point" };
	CK_KEY_DERIVATION_STRING_DATA string = { (CK_BYTE *)"string", 6 };
	CK_DES_CBC_ENCRYPT_DATA_PARAMS des = { "01234567", (CK_BYTE *)"des", 3 };
	CK_AES_CBC_ENCRYPT_DATA_PARAMS aes = { "0123456789abcdef", (CK_BYTE *)"aes", 3 };
	struct { CK_BBOOL flag; CK_ULONG n; void *context; } eddsa = { CK_TRUE, 3, (CK_BYTE *)"ctx" };
	struct { CK_ULONG bits; void *oaep; } wrap = { 256, &oaep };
	CK_OBJECT_HANDLE key = 77;

	init("mechanism-none", CKM_RSA_PKCS, NULL, 0);
	init("mechanism-null", CKM_AES_CBC_PAD, NULL, 16);
	init("mechanism-raw", CKM_AES_CBC_PAD, iv, sizeof(iv));
	init("mechanism-oaep", CKM_RSA_PKCS_OAEP, &oaep, sizeof(oaep));
	init("mechanism-gcm", CKM_AES_GCM, &gcm, sizeof(gcm));
	init("mechanism-gcm40", CKM_AES_GCM, &gcm40, sizeof(gcm40));
	init("mechanism-ccm", CKM_AES_CCM, &ccm, sizeof(ccm));
	init("mechanism-ecdh", CKM_ECDH1_DERIVE, &ecdh, sizeof(ecdh));
	init("mechanism-string", CKM_XOR_BASE_AND_DATA, &string, sizeof(string));
	init("mechanism-cbcdata8", CKM_DES3_CBC_ENCRYPT_DATA, &des, sizeof(des));
	init("mechanism-cbcdata16", CKM_AES_CBC_ENCRYPT_DATA, &aes, sizeof(aes));
	init("mechanism-eddsa", 0x1057, &eddsa, sizeof(eddsa));
	init("mechanism-eddsa-empty", 0x1057, &eddsa, 0);
	init("mechanism-rsawrap", 0x1054, &wrap, sizeof(wrap));
	init("mechanism-key", CKM_CONCATENATE_BASE_AND_KEY, &key, sizeof(key));
	init("mechanism-unknown", CKM_VENDOR_DEFINED | 1, NULL, 0);
}

static CK_OBJECT_HANDLE derive(const char *name, CK_MECHANISM_TYPE type, void *parameter, CK_ULONG length, CK_OBJECT_HANDLE *key)
{
	CK_MECHANISM m = { type, parameter, length };

	frame(name);
	RETURNS(CKR_OK, p11->C_DeriveKey(1, &m, 2, NULL, 0, key));
	return key ? *key : 0;
}

/* What returns in the parameter: it comes where the application wants it, and no further. */
static void returned(void)
{
	struct { CK_BYTE *client; CK_ULONG n; CK_BYTE *server; CK_ULONG m; } random = { (CK_BYTE *)"client", 6, (CK_BYTE *)"server", 6 };
	CK_VERSION version = { 3, 3 };
	struct { __typeof__(random) random; CK_VERSION *version; CK_MECHANISM_TYPE hash; }
		master = { random, &version, 0 }, master12 = { random, NULL, CKM_SHA256 };
	CK_BYTE client[8 + 1] = "", server[8 + 1] = "", output[32 + 1] = "", iv[12 + 1] = "0123456789ab";
	struct { CK_OBJECT_HANDLE keys[4]; CK_BYTE *client, *server; } out = { { 0 }, client, server };
	struct { CK_ULONG mac, key, iv; CK_BBOOL export; __typeof__(random) random; void *out; CK_MECHANISM_TYPE hash; }
		material = { 160, 128, 64, CK_FALSE, random, &out, 0 }, material12 = { 160, 128, 0, CK_FALSE, random, &out, CKM_SHA256 };
	CK_ULONG room = 32;
	struct { CK_BYTE *seed; CK_ULONG n; CK_BYTE *label; CK_ULONG m; CK_BYTE *output; CK_ULONG *room; }
		prf = { (CK_BYTE *)"seed", 4, (CK_BYTE *)"label", 5, output, &room };
	struct { CK_MECHANISM_TYPE prf; CK_BYTE *label; CK_ULONG n; __typeof__(random) random; CK_BYTE *context; CK_ULONG m; }
		kdf = { CKM_SHA256, (CK_BYTE *)"label", 5, random, NULL, 0 };
	struct { CK_BYTE *iv, *password; CK_ULONG n; CK_BYTE *salt; CK_ULONG m, iterations; }
		pbe = { client, (CK_BYTE *)"password", 8, (CK_BYTE *)"salt", 4, 1000 };
	CK_MECHANISM generate = { CKM_PBE_SHA1_DES3_EDE_CBC, &pbe, sizeof(pbe) };
	CK_GCM_PARAMS gcm = { iv, 12, 96, (CK_BYTE *)"aad", 3, 128 };
	CK_OBJECT_HANDLE key = 0;

	CHECK(derive("returned-master", CKM_TLS_MASTER_KEY_DERIVE, &master, offsetof(__typeof__(master), hash), &key) == 8);
	CHECK(version.major == 3 && version.minor == 1);
	CHECK(derive("returned-master12", 0x3e0, &master12, sizeof(master12), &key) == 8);
	derive("returned-material", CKM_TLS_KEY_AND_MAC_DERIVE, &material, offsetof(__typeof__(material), hash), NULL);
	CHECK(out.keys[0] == 0x11 && out.keys[1] == 0x12 && out.keys[2] == 0x13 && out.keys[3] == 0);
	CHECK(!memcmp(client, "clientIV", 9) && !memcmp(server, "serverIV", 9));
	memset(&out.keys, 0, sizeof(out.keys));
	derive("returned-material12", 0x3e1, &material12, sizeof(material12), NULL);
	CHECK(out.keys[2] == 0x13 && !memcmp(client, "clientIV", 9));
	derive("returned-prf", CKM_TLS_PRF, &prf, sizeof(prf), NULL);
	CHECK(room == 6 && !memcmp(output, "output", 7));
	CHECK(derive("returned-kdf", 0x3e5, &kdf, sizeof(kdf), &key) == 8);
	frame("returned-pbe");
	RETURNS(CKR_OK, p11->C_GenerateKey(1, &generate, NULL, 0, &key));
	CHECK(key == 8 && !memcmp(client, "01234567", 9));
	pbe.iv = NULL;
	frame("returned-pbe-none");
	RETURNS(CKR_OK, p11->C_GenerateKey(1, &generate, NULL, 0, &key));
	CHECK(!memcmp(client, "01234567", 9));
	init("returned-gcm", CKM_AES_GCM, &gcm, sizeof(gcm));
	CHECK(!memcmp(iv, "ba9876543210", 13));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	slots();
	sign();
	once();
	attributes();
	templates();
	mechanisms();
	returned();
	new_functions(argv[1]);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
