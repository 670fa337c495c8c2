/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share sessions, each with a key of its own. */
#include "application.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#define S 1000

static CK_FUNCTION_LIST *p11;
static CK_MECHANISM pkcs = { CKM_RSA_PKCS, NULL, 0 };
static atomic_ulong signatures;

static void *signer(void *number)
{
	/* Two share each session, one of them with the key of its neighbour. */
	CK_SESSION_HANDLE session = S + (CK_ULONG)number / 2;
	CK_OBJECT_HANDLE key = 1 + (CK_ULONG)number % 3;

	for (int i = 0; i < 1000; i++) {
		CK_BYTE got[8];
		CK_ULONG length = sizeof(got);
		CK_RV rv = p11->C_SignInit(session, &pkcs, key);

		CHECK(rv == CKR_OK || rv == CKR_OPERATION_ACTIVE);
		if (rv != CKR_OK)
			continue;
		RETURNS(CKR_OK, p11->C_Sign(session, (CK_BYTE *)"data", 4, got, &length));
		CHECK(length == 1 && got[0] == key);
		atomic_fetch_add(&signatures, 1);
	}
	return NULL;
}

/* What it does has all Inits carried out that were put off. */
static void *changer(void *stop)
{
	for (CK_ULONG next = 0; !atomic_load((atomic_bool *)stop); sched_yield()) {
		if (atomic_load(&signatures) < next)
			continue;
		RETURNS(CKR_OK, p11->C_DestroyObject(S + 100, 7));
		next = atomic_load(&signatures) + 20;
	}
	return NULL;
}

/*
 * Threads that share sessions, with keys of their own, while another is in the way:
 * whose Init succeeds signs, and with his key.
 */
int main(int argc, char **argv)
{
	atomic_bool stop = false;
	pthread_t t[9];

	CHECK(argc == 2);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	CHECK(!pthread_create(&t[8], NULL, changer, &stop));
	for (long i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, signer, (void *)i));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	atomic_store(&stop, true);
	pthread_join(t[8], NULL);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
