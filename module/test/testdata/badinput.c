/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no application should do, to a real engine and a real token: each call
 * is answered with CKR_ARGUMENTS_BAD or what is specific to it, nothing is
 * read or written that was not given, and the session works afterwards.
 */
#include "application.h"

#include <stdint.h>

#define ABSURD ((CK_ULONG)1 << 63)
#define MANY 10000

static CK_FUNCTION_LIST *p11;
static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key;
static CK_BYTE bytes[64];
static CK_BBOOL yes = CK_TRUE;

/* The token is the last one: the group's. */
static void begin(const char *pin)
{
	CK_SLOT_ID slots[16];
	CK_ULONG n = 16;

	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &n));
	CHECK(n > 0);
	RETURNS(CKR_OK, p11->C_OpenSession(slots[n - 1], CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session));
	RETURNS(CKR_OK, p11->C_Login(session, CKU_USER, (CK_BYTE *)pin, strlen(pin)));
}

static CK_RV generate(CK_ATTRIBUTE *more, CK_ULONG count, CK_OBJECT_HANDLE *made)
{
	CK_ULONG length = 16;
	CK_ATTRIBUTE template[8] = {
		{ CKA_VALUE_LEN, &length, sizeof(length) },
		{ CKA_ENCRYPT, &yes, sizeof(yes) },
		{ CKA_DECRYPT, &yes, sizeof(yes) },
	};
	CK_MECHANISM mechanism = { CKM_AES_KEY_GEN, NULL, 0 };

	for (CK_ULONG i = 0; i < count; i++)
		template[3 + i] = more[i];
	return p11->C_GenerateKey(session, &mechanism, template, 3 + count, made);
}

/* After each kind of nonsense something sensible goes well. */
static void still_works(void)
{
	CK_MECHANISM ecb = { CKM_AES_ECB, NULL, 0 };
	CK_BYTE out[16];
	CK_ULONG n = sizeof(out);

	RETURNS(CKR_OK, p11->C_EncryptInit(session, &ecb, key));
	RETURNS(CKR_OK, p11->C_Encrypt(session, bytes, 16, out, &n));
	CHECK(n == 16);
}

static void null_pointers(void)
{
	CK_MECHANISM ecb = { CKM_AES_ECB, NULL, 0 }, cbc = { CKM_AES_CBC, NULL, 16 };
	CK_ATTRIBUTE none = { CKA_LABEL, NULL, 16 };
	CK_OBJECT_HANDLE made;
	CK_ULONG n = 16;

	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetInfo(NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetSlotList(CK_TRUE, NULL, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetSessionInfo(session, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Login(session, CKU_USER, NULL, 4));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_SetPIN(session, NULL, 4, bytes, 4));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, NULL, 1, &made));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, &none, 1, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetObjectSize(session, key, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(session, key, NULL, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(session, key, NULL, 0));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_SetAttributeValue(session, key, NULL, 0));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_FindObjectsInit(session, NULL, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_FindObjects(session, NULL, 1, &n));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_EncryptInit(session, NULL, key));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateKey(session, NULL, NULL, 0, &made));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(session, NULL, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_WrapKey(session, NULL, key, key, bytes, &n));
	CHECK(p11->C_EncryptInit(session, &cbc, key) != CKR_OK);
	RETURNS(CKR_OK, p11->C_EncryptInit(session, &ecb, key));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Encrypt(session, bytes, 16, bytes + 16, NULL));
	RETURNS(CKR_OK, p11->C_EncryptInit(session, NULL, key));
	still_works();
}

static void absurd_lengths(void)
{
	static const CK_ULONG lengths[] = { ABSURD, ABSURD - 1, ~0ul, ~0ul - 24, 1ul << 40 };
	CK_MECHANISM ecb = { CKM_AES_ECB, NULL, 0 };
	CK_OBJECT_HANDLE made;
	CK_ULONG n;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CK_ULONG l = lengths[i];
		CK_ATTRIBUTE label = { CKA_LABEL, bytes, l }, null = { CKA_LABEL, NULL, l };
		CK_MECHANISM cbc = { CKM_AES_CBC, bytes, l };

		RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, &label, 1, &made));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, &label, l, &made));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_SetAttributeValue(session, key, &label, 1));
		CHECK(p11->C_SetAttributeValue(session, key, &null, 1) != CKR_OK);
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_EncryptInit(session, &cbc, key));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(session, bytes, l));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_SeedRandom(session, bytes, l));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_Login(session, CKU_USER, bytes, l));
		RETURNS(CKR_OK, p11->C_EncryptInit(session, &ecb, key));
		n = sizeof(bytes);
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_Encrypt(session, bytes, l, bytes, &n));
		n = l;	/* room that is not there, of which nothing beyond the output is touched */
		RETURNS(CKR_OK, p11->C_Encrypt(session, bytes, 16, bytes + 16, &n));
		CHECK(n == 16);
	}
	still_works();
}

static void foreign_handles(CK_OBJECT_HANDLE old_key, CK_SESSION_HANDLE old_session)
{
	CK_OBJECT_HANDLE handles[] = { 0, 1, old_key, key + 1, ~0ul, ABSURD, ABSURD | key };
	CK_SESSION_HANDLE sessions[] = { 0, 1, old_session, session + 1, ~0ul, ABSURD | session };
	CK_MECHANISM ecb = { CKM_AES_ECB, NULL, 0 };
	CK_ATTRIBUTE label = { CKA_LABEL, bytes, 4 };
	CK_ULONG n = sizeof(bytes);

	for (size_t i = 0; i < sizeof(handles) / sizeof(*handles); i++) {
		CK_OBJECT_HANDLE h = handles[i];

		RETURNS(CKR_KEY_HANDLE_INVALID, p11->C_EncryptInit(session, &ecb, h));
		RETURNS(CKR_OBJECT_HANDLE_INVALID, p11->C_GetAttributeValue(session, h, &label, 1));
		RETURNS(CKR_OBJECT_HANDLE_INVALID, p11->C_SetAttributeValue(session, h, &label, 1));
		RETURNS(CKR_OBJECT_HANDLE_INVALID, p11->C_DestroyObject(session, h));
		RETURNS(CKR_WRAPPING_KEY_HANDLE_INVALID, p11->C_WrapKey(session, &ecb, h, key, bytes, &n));
		RETURNS(CKR_KEY_HANDLE_INVALID, p11->C_WrapKey(session, &ecb, key, h, bytes, &n));
	}
	for (size_t i = 0; i < sizeof(sessions) / sizeof(*sessions); i++) {
		CK_SESSION_HANDLE s = sessions[i];

		RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_EncryptInit(s, &ecb, key));
		RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_Encrypt(s, bytes, 16, bytes, &n));
		RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_CloseSession(s));
		RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_Logout(s));
		RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_FindObjectsInit(s, NULL, 0));
	}
	still_works();
}

static void large_templates(void)
{
	CK_ATTRIBUTE *many = calloc(MANY, sizeof(*many));
	CK_ATTRIBUTE nested[8];
	CK_OBJECT_HANDLE made;

	for (int i = 0; i < MANY; i++)
		many[i] = (CK_ATTRIBUTE){ CKA_LABEL, bytes, 1 };
	for (int i = 0; i < 7; i++)
		nested[i] = (CK_ATTRIBUTE){ CKA_WRAP_TEMPLATE, &nested[i + 1], sizeof(*nested) };
	nested[7] = (CK_ATTRIBUTE){ CKA_LABEL, bytes, 1 };
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, many, MANY, &made));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(session, key, many, MANY));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_SetAttributeValue(session, key, many, MANY));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_FindObjectsInit(session, many, MANY));
	RETURNS(CKR_ARGUMENTS_BAD, generate(nested, 1, &made));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(session, key, nested, 1));
	nested[0].ulValueLen = sizeof(*nested) + 1;	/* not a whole number of attributes */
	RETURNS(CKR_ATTRIBUTE_VALUE_INVALID, generate(nested, 1, &made));
	free(many);
	still_works();
}

static void wrong_sizes(void)
{
	static const CK_ATTRIBUTE_TYPE truths[] = {
		CKA_TOKEN, CKA_PRIVATE, CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_MODIFIABLE, CKA_WRAP_WITH_TRUSTED,
	};
	CK_OBJECT_HANDLE made;

	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		for (CK_ULONG size = 0; size < 9; size += size ? 6 : 2) {
			CK_ATTRIBUTE wrong = { truths[i], bytes, size };

			RETURNS(CKR_ATTRIBUTE_VALUE_INVALID, generate(&wrong, 1, &made));
		}
	}
	for (CK_ULONG size = 0; size < 16; size += 3) {
		CK_ATTRIBUTE class = { CKA_CLASS, bytes, size };

		RETURNS(CKR_ATTRIBUTE_VALUE_INVALID, generate(&class, 1, &made));
	}
	still_works();
}

int main(int argc, char **argv)
{
	CK_OBJECT_HANDLE old_key;
	CK_SESSION_HANDLE old_session;

	CHECK(argc == 3);
	p11 = load(argv[1]);
	begin(argv[2]);
	RETURNS(CKR_OK, generate(NULL, 0, &old_key));
	old_session = session;
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	begin(argv[2]);
	RETURNS(CKR_OK, generate(NULL, 0, &key));
	still_works();
	null_pointers();
	absurd_lengths();
	foreign_handles(old_key, old_session);
	large_templates();
	wrong_sizes();
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
