/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many of everything in one application.
 *
 * sessions  10 000 sessions at once, of which some sign
 * finalize  C_Finalize while 32 threads are inside all sorts of calls, three times
 * events    waits for slot events, each of which it prints; a line has it finalize
 */
#include "signer.h"

#include <pthread.h>

#define SESSIONS 10000
#define THREADS 32

static struct signer one;

static void sessions(void)
{
	static CK_SESSION_HANDLE all[SESSIONS];
	CK_SLOT_ID slot;
	CK_SESSION_INFO info;

	one = start();
	slot = find_slot();
	for (int i = 0; i < SESSIONS; i++)
		RETURNS(CKR_OK, p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &all[i]));
	for (int i = 0; i < SESSIONS; i += 500) {
		RETURNS(CKR_OK, p11->C_GetSessionInfo(all[i], &info));
		CHECK(info.state == CKS_RO_USER_FUNCTIONS);
		sign((struct signer){ all[i], one.key });
	}
	printf("opened\n");
	fflush(stdout);
	CHECK(getchar() == '\n');
	RETURNS(CKR_OK, p11->C_CloseAllSessions(slot));
	RETURNS(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(all[SESSIONS - 1], &info));
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
}

static atomic_int working;

/* True while calls of this kind go on; anything but the end is a fault. */
static int goes_on(CK_RV rv)
{
	CHECK(rv == CKR_OK || rv == CKR_CRYPTOKI_NOT_INITIALIZED);
	return rv == CKR_OK;
}

static int parts(CK_SESSION_HANDLE s)
{
	CK_MECHANISM sha = { CKM_SHA256, NULL, 0 };
	CK_BYTE out[32], in[1000] = { 0 };
	CK_ULONG n = sizeof(out);

	return goes_on(p11->C_DigestInit(s, &sha)) && goes_on(p11->C_DigestUpdate(s, in, sizeof(in))) &&
	       goes_on(p11->C_DigestFinal(s, out, &n));
}

static int signature(CK_SESSION_HANDLE s)
{
	CK_MECHANISM rsa = { CKM_SHA256_RSA_PKCS, NULL, 0 };
	CK_BYTE out[512];
	CK_ULONG n = sizeof(out);

	return goes_on(p11->C_SignInit(s, &rsa, one.key)) && goes_on(p11->C_Sign(s, out, 10, out, &n));
}

static int creation(CK_SESSION_HANDLE s)
{
	CK_BBOOL yes = CK_TRUE;
	CK_ULONG length = 16;
	CK_ATTRIBUTE template[] = {
		{ CKA_VALUE_LEN, &length, sizeof(length) },
		{ CKA_TOKEN, &yes, sizeof(yes) },
	};
	CK_MECHANISM aes = { CKM_AES_KEY_GEN, NULL, 0 };
	CK_OBJECT_HANDLE key;

	return goes_on(p11->C_GenerateKey(s, &aes, template, 2, &key)) && goes_on(p11->C_DestroyObject(s, key));
}

static int search(CK_SESSION_HANDLE s)
{
	CK_OBJECT_HANDLE found[16];
	CK_ULONG n;

	return goes_on(p11->C_FindObjectsInit(s, NULL, 0)) && goes_on(p11->C_FindObjects(s, found, 16, &n)) &&
	       goes_on(p11->C_FindObjectsFinal(s));
}

static int event(CK_SESSION_HANDLE s)
{
	CK_SLOT_ID slot;

	(void)s;
	return goes_on(p11->C_WaitForSlotEvent(0, &slot, NULL));
}

static int (*const kinds[])(CK_SESSION_HANDLE) = { parts, signature, signature, creation, search, event, signature, parts };

static void *work(void *number)
{
	int (*kind)(CK_SESSION_HANDLE) = kinds[(unsigned long)number % (sizeof(kinds) / sizeof(*kinds))];
	CK_SESSION_HANDLE s = open_session();

	if (kind != event)
		CHECK(kind(s));
	working++;
	while (kind(s))
		;
	return NULL;
}

static void finalize(void)
{
	pthread_t threads[THREADS];

	for (int round = 0; round < 3; round++) {
		one = start();
		working = 0;
		for (unsigned long i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
		while (working < THREADS)
			sign(one), usleep(1000);
		RETURNS(CKR_OK, p11->C_Finalize(NULL));
		RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	one = start();
	sign(one);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
}

static void *await_events(void *slot)
{
	CK_SLOT_ID got;
	CK_RV rv;

	while ((rv = p11->C_WaitForSlotEvent(0, &got, NULL)) == CKR_OK) {
		CHECK(got == (CK_SLOT_ID)slot);
		printf("event\n");
		fflush(stdout);
	}
	CHECK(rv == CKR_CRYPTOKI_NOT_INITIALIZED);
	return NULL;
}

static void events(void)
{
	pthread_t waiter;
	CK_SLOT_INFO info;
	CK_SLOT_ID slot, got;

	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &got, NULL));
	one = start();
	slot = find_slot();
	RETURNS(CKR_NO_EVENT, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &got, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, NULL, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &got, &got));
	CHECK(!pthread_create(&waiter, NULL, await_events, (void *)slot));
	printf("waiting\n");
	fflush(stdout);
	for (int c; (c = getchar()) == '?';) {	/* whether the token is there */
		CHECK(getchar() == '\n');
		RETURNS(CKR_OK, p11->C_GetSlotInfo(slot, &info));
		printf(info.flags & CKF_TOKEN_PRESENT ? "there\n" : "not there\n");
		fflush(stdout);
	}
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	pthread_join(waiter, NULL);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	alarm(300);
	p11 = load(argv[1]);
	if (argc > 2 && !strcmp(argv[2], "sessions"))
		sessions();
	else if (argc > 2 && !strcmp(argv[2], "finalize"))
		finalize();
	else
		events();
	return 0;
}
