/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads sign on one session: field report H12. */
#include "signer.h"

#include <pthread.h>

#define THREADS 8
#define SIGNATURES 20

static struct signer one;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

/* A signature is of what this thread gave, or there is none. */
static int try(unsigned long thread, int n)
{
	CK_MECHANISM mechanism = { CKM_SHA256_RSA_PKCS, NULL, 0 };
	CK_BYTE data[32] = { 0 }, signature[512];
	CK_ULONG length = sizeof(signature);
	CK_RV rv = p11->C_SignInit(one.session, &mechanism, one.key);

	CHECK(rv == CKR_OK || rv == CKR_OPERATION_ACTIVE);
	snprintf((char *)data, sizeof(data), "thread %lu, %d", thread, n);
	rv = p11->C_Sign(one.session, data, sizeof(data), signature, &length);
	CHECK(rv == CKR_OK || rv == CKR_OPERATION_ACTIVE || rv == CKR_OPERATION_NOT_INITIALIZED);
	if (rv != CKR_OK)
		return 0;
	pthread_mutex_lock(&printing);
	print(data, sizeof(data), signature, length);
	pthread_mutex_unlock(&printing);
	return 1;
}

static void *work(void *thread)
{
	for (int n = 0; n < SIGNATURES; n += try((unsigned long)thread, n))
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	CHECK(argc == 2);
	alarm(300);
	p11 = load(argv[1]);
	one = start();
	for (unsigned long i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sign(one);	/* the session is usable, whatever they left */
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
