/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs and so on, step by step. Before each step it says what the engine should
 * see of it, and waits until that was compared with what it saw before.
 */
#include "application.h"

#define S 1000
#define SAME_PLACE (S + 128)	/* of the module's memory */
#define KEY 7
#define OTHER_KEY 8

static CK_FUNCTION_LIST *p11;
static CK_FUNCTION_LIST_3_0 *p30;
static CK_MECHANISM pkcs = { CKM_RSA_PKCS, NULL, 0 };
static CK_BYTE out[64];
static CK_ULONG n;

/* The calls that the engine sees from here to the next expectation. */
static void expect(const char *calls)
{
	printf("%s\n", calls);
	fflush(stdout);
	CHECK(getchar() == '\n');
}

/* The engine fails the next call of this name. */
static void failing(const char *call, CK_RV rv)
{
	printf("! %s %lu\n", call, rv);
	fflush(stdout);
	CHECK(getchar() == '\n');
}

static CK_RV begin(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)
{
	return p11->C_SignInit(session, &pkcs, key);
}

static CK_RV sign(CK_SESSION_HANDLE session)
{
	n = sizeof(out);
	return p11->C_Sign(session, (CK_BYTE *)"data", 4, out, &n);
}

static void both(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)
{
	RETURNS(CKR_OK, begin(session, key));
	memset(out, 0, sizeof(out));
	RETURNS(CKR_OK, sign(session));
	CHECK(n == 3 && !memcmp(out, "sig", 3));
}

/* The session has signed with KEY, and nothing else since. */
static void settle(CK_SESSION_HANDLE session)
{
	RETURNS(CKR_OK, p11->C_Logout(session));
	both(session, KEY);
}
#define SETTLED "C_Logout C_SignInit C_Sign"

static void repeat(void)
{
	expect("C_SignInit C_Sign X_SignOnce X_SignOnce");
	for (int i = 0; i < 3; i++)
		both(S, KEY);
	expect("C_SignInit C_Sign X_SignOnce");
	both(S, OTHER_KEY);
	both(S, OTHER_KEY);
	expect("C_SignInit C_Sign");
	both(S + 1, OTHER_KEY);

	/* Two sessions that are remembered in one place take turns. */
	expect("C_SignInit C_Sign C_SignInit C_Sign C_SignInit C_Sign");
	both(SAME_PLACE, KEY);
	both(S, KEY);
	both(SAME_PLACE, KEY);
	expect("C_SignInit C_Sign X_SignOnce");
	RETURNS(CKR_OK, begin(SAME_PLACE, KEY));
	both(S, KEY);	/* whose place is taken */
	RETURNS(CKR_OK, sign(SAME_PLACE));
}

static void kinds(void)
{
	CK_MECHANISM digest = { CKM_SHA256, NULL, 0 };
	CK_BYTE iv[16] = { 0 };
	CK_MECHANISM cbc = { CKM_AES_CBC, iv, sizeof(iv) }, ecb = { CKM_AES_ECB, NULL, 0 };
	CK_AES_CTR_PARAMS counter = { .ulCounterBits = 32 };
	CK_MECHANISM ctr = { CKM_AES_CTR, &counter, sizeof(counter) };
	CK_GCM_PARAMS chosen = { .iv_ptr = iv, .iv_len = 12, .iv_bits = 96, .tag_bits = 128 };
	CK_MECHANISM gcm = { CKM_AES_GCM, &chosen, sizeof(chosen) };

	expect("C_VerifyInit C_Verify X_VerifyOnce");
	for (int i = 0; i < 2; i++) {
		RETURNS(CKR_OK, p11->C_VerifyInit(S, &pkcs, KEY));
		RETURNS(CKR_OK, p11->C_Verify(S, out, 4, out, 4));
	}
	expect("C_DecryptInit C_Decrypt X_DecryptOnce");
	for (int i = 0; i < 2; i++) {
		RETURNS(CKR_OK, p11->C_DecryptInit(S, &pkcs, KEY));
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Decrypt(S, out, 4, out, &n));
	}
	expect("C_DigestInit C_Digest X_DigestOnce");
	for (int i = 0; i < 2; i++) {
		RETURNS(CKR_OK, p11->C_DigestInit(S, &digest));
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Digest(S, out, 4, out, &n));
	}
	expect("C_EncryptInit C_Encrypt X_EncryptOnce");
	for (int i = 0; i < 2; i++) {
		RETURNS(CKR_OK, p11->C_EncryptInit(S, &ecb, KEY));
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Encrypt(S, out, 4, out, &n));
	}
	/* A token may choose the IV, which the Init returns: it is never put off, nor is
	 * the one before it. */
	expect("C_EncryptInit C_Encrypt C_EncryptInit C_Encrypt C_EncryptInit C_Encrypt");
	for (int i = 0; i < 3; i++) {
		RETURNS(CKR_OK, p11->C_EncryptInit(S, i < 2 ? &gcm : &ecb, KEY));
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Encrypt(S, out, 4, out, &n));
	}
	/* One IV is as good as another, of the same length ... */
	expect("C_EncryptInit C_Encrypt X_EncryptOnce X_EncryptOnce C_EncryptInit C_Encrypt "
	       "C_DecryptInit C_Decrypt X_DecryptOnce C_DecryptInit C_Decrypt");
	for (int i = 0; i < 7; i++) {
		iv[0] = (CK_BYTE)(0x70 + i);
		cbc.ulParameterLen = i == 3 ? 8 : sizeof(iv);
		n = sizeof(out);
		if (i < 4) {
			RETURNS(CKR_OK, p11->C_EncryptInit(S, &cbc, KEY));
			RETURNS(CKR_OK, p11->C_Encrypt(S, out, 4, out, &n));
		} else {
			RETURNS(CKR_OK, p11->C_DecryptInit(S, &cbc, i < 6 ? KEY : OTHER_KEY));
			RETURNS(CKR_OK, p11->C_Decrypt(S, out, 4, out, &n));
		}
	}
	/* ... but of no other parameter: another one is another Init. */
	expect("C_DecryptInit C_Decrypt X_DecryptOnce C_DecryptInit C_Decrypt");
	for (int i = 0; i < 3; i++) {
		counter.cb[0] = i == 2;
		RETURNS(CKR_OK, p11->C_DecryptInit(S, &ctr, KEY));
		n = sizeof(out);
		RETURNS(CKR_OK, p11->C_Decrypt(S, out, 4, out, &n));
	}
}

/* What may change the engine's answer is known to the module. */
static void changes(void)
{
	CK_SLOT_ID slot = 7;
	CK_ATTRIBUTE label = { CKA_LABEL, "x", 1 };

	expect(SETTLED " C_DestroyObject C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, p11->C_DestroyObject(S + 1, KEY));
	both(S, KEY);
	expect(SETTLED " C_SetAttributeValue C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, p11->C_SetAttributeValue(S + 1, KEY, &label, 1));
	both(S, KEY);
	expect(SETTLED " C_Login C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, p11->C_Login(S + 1, CKU_USER, (CK_BYTE *)"1234", 4));
	both(S, KEY);
	expect(SETTLED " C_CloseSession C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, p11->C_CloseSession(S + 1));
	both(S, KEY);
	expect(SETTLED " C_CloseAllSessions C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, p11->C_CloseAllSessions(slot));
	both(S, KEY);
	/* And what may not. */
	expect(SETTLED " C_GenerateRandom C_FindObjectsInit C_GetObjectSize X_SignOnce");
	settle(S);
	RETURNS(CKR_OK, p11->C_GenerateRandom(S, out, 3));
	RETURNS(CKR_OK, p11->C_FindObjectsInit(S, NULL, 0));
	RETURNS(CKR_OK, p11->C_GetObjectSize(S, KEY, &n));
	both(S, KEY);
}

/* What needs the operation has the Init carried out before. */
static void needed(void)
{
	CK_MECHANISM digest = { CKM_SHA256, NULL, 0 };

	expect(SETTLED " C_SignInit C_SignUpdate C_SignFinal C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_SignUpdate(S, out, 4));
	n = sizeof(out);
	RETURNS(CKR_OK, p11->C_SignFinal(S, out, &n));
	both(S, KEY);

	expect(SETTLED " C_SignInit C_DigestInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_DigestInit(S, &digest));
	RETURNS(CKR_OK, sign(S));

	/* An Init that is one too many. */
	expect(SETTLED " C_SignInit C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	failing("C_SignInit 2", CKR_OPERATION_ACTIVE);
	RETURNS(CKR_OPERATION_ACTIVE, begin(S, OTHER_KEY));
	RETURNS(CKR_OK, sign(S));

	expect(SETTLED " C_SignInit C_SessionCancel C_SignInit");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p30->C_SessionCancel(S, CKF_SIGN));
	RETURNS(CKR_OK, begin(S, KEY));

	expect(SETTLED " C_SignInit C_SignInit");	/* 3.0: NULL ends it */
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_SignInit(S, NULL, KEY));

	/* By a call of another session that ends operations. */
	expect(SETTLED " C_SignInit C_Logout C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_Logout(S + 1));
	RETURNS(CKR_OK, sign(S));
}

static void failures(void)
{
	/* With the Init that was put off nothing is signed. */
	expect(SETTLED " X_SignOnce C_SignInit");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	failing("X_SignOnce 1", CKR_KEY_HANDLE_INVALID);
	RETURNS(CKR_KEY_HANDLE_INVALID, sign(S));
	failing("C_SignInit 1", CKR_KEY_HANDLE_INVALID);
	RETURNS(CKR_KEY_HANDLE_INVALID, begin(S, KEY));

	/* Nor does a part go to whatever else may be active. */
	expect(SETTLED " C_SignInit C_SignUpdate");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	failing("C_SignInit 1", CKR_KEY_HANDLE_INVALID);
	RETURNS(CKR_KEY_HANDLE_INVALID, p11->C_SignUpdate(S, out, 4));
	RETURNS(CKR_OK, p11->C_SignUpdate(S, out, 4));

	/* Arguments that are refused here leave the operation as it is. */
	expect(SETTLED " X_SignOnce");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Sign(S, out, 4, out, NULL));
	RETURNS(CKR_OK, sign(S));

	/* After a failure nothing is taken for granted. */
	expect(SETTLED " X_SignOnce C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	failing("X_SignOnce 1", CKR_DATA_LEN_RANGE);
	RETURNS(CKR_DATA_LEN_RANGE, sign(S));
	both(S, KEY);
}

static void lengths(void)
{
	expect(SETTLED " X_SignOnce C_Sign X_SignOnce");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_Sign(S, out, 4, NULL, &n));
	CHECK(n == 3);
	RETURNS(CKR_OK, sign(S));
	both(S, KEY);

	expect(SETTLED " X_SignOnce C_SignInit C_Sign");
	settle(S);
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_Sign(S, out, 4, NULL, &n));
	failing("C_SignInit 1", CKR_OPERATION_ACTIVE);
	RETURNS(CKR_OPERATION_ACTIVE, begin(S, KEY));	/* it is */
	RETURNS(CKR_OK, sign(S));
}

static void information(void)
{
	CK_SESSION_INFO i, j;

	expect("C_GetSessionInfo C_GetSessionInfo");
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &i));
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S + 1, &j));
	for (int k = 0; k < 3; k++) {
		memset(&j, 0, sizeof(j));
		RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
		CHECK(!memcmp(&i, &j, sizeof(i)));
	}
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetSessionInfo(S, NULL));
	expect("C_Login C_GetSessionInfo C_Logout C_GetSessionInfo C_CloseSession C_GetSessionInfo");
	RETURNS(CKR_OK, p11->C_Login(S + 1, CKU_USER, (CK_BYTE *)"1234", 4));
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
	RETURNS(CKR_OK, p11->C_Logout(S + 1));
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
	RETURNS(CKR_OK, p11->C_CloseSession(S));
	failing("C_GetSessionInfo 1", CKR_SESSION_HANDLE_INVALID);
	RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(S, &j));

	/* Nothing survives C_Finalize. */
	expect("C_SignInit C_Sign C_GetSessionInfo");
	both(S, KEY);
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
	RETURNS(CKR_OK, begin(S, KEY));
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSessionInfo(S, &j));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, sign(S));
	expect("X_Hello C_GetSessionInfo C_SignInit C_Sign");
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &j));
	both(S, KEY);
}

static void child(void)
{
	CK_SESSION_INFO i;
	pid_t pid;

	expect("C_SignInit C_Sign C_GetSessionInfo X_SignOnce");
	both(S, KEY);
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &i));
	RETURNS(CKR_OK, begin(S, KEY));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSessionInfo(S, &i));
		RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, sign(S));
		_exit(0);
	}
	reap_child(pid);
	RETURNS(CKR_OK, sign(S));
}

/* The engine is gone: what was remembered of it is not worth anything. */
static void gone(void)
{
	CK_SESSION_INFO i;

	expect("C_SignInit C_Sign C_GetSessionInfo");
	both(S, KEY);
	RETURNS(CKR_OK, p11->C_GetSessionInfo(S, &i));
	failing("hang up", 0);
	RETURNS(CKR_DEVICE_ERROR, p11->C_GetSessionInfo(S, &i));
	begin(S, KEY);
	RETURNS(CKR_DEVICE_ERROR, sign(S));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "repeat", repeat }, { "kinds", kinds }, { "changes", changes },
		{ "needed", needed }, { "failures", failures }, { "lengths", lengths },
		{ "information", information }, { "child", child }, { "gone", gone },
	};

	CHECK(argc == 3);
	p11 = load(argv[1]);
	p30 = load_interface(argv[1], 3, 0);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(parts[i].name, argv[2]))
			continue;
		parts[i].run();
		expect("");
		p11->C_Finalize(NULL);
		return 0;
	}
	fprintf(stderr, "no part %s\n", argv[2]);
	return 1;
}
