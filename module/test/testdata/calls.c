/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to an engine that lies, is silent, or goes away. */
#include "application.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define THREADS 32
#define ABSURD ((CK_ULONG)1 << 63)

static CK_FUNCTION_LIST *p11;

static CK_RV info(void)
{
	CK_SESSION_INFO i;

	/* Of another session each time, since the module remembers. */
	return p11->C_GetSessionInfo(atomic_fetch_add(&next_session, 1), &i);
}

/* An output buffer of the exact size, so that the sanitizer sees any byte too many. */
static CK_RV sign(CK_ULONG room, CK_ULONG *length)
{
	CK_BYTE *out = malloc(room);
	CK_RV rv;

	*length = room;
	rv = p11->C_Sign(1, (CK_BYTE *)"data", 4, out, length);
	CHECK(rv != CKR_OK || *length <= room);
	free(out);
	return rv;
}

/* Whatever the engine says to C_Sign, the next call goes well. */
static void lie(void)
{
	CK_ULONG length;

	RETURNS(CKR_DEVICE_ERROR, sign(8, &length));
	CHECK(length <= 8);
	RETURNS(CKR_OK, info());
}

/* A room much larger than what came: nothing beside the frame may be given out. */
static void greedy(void)
{
	CK_ULONG length;

	RETURNS(CKR_DEVICE_ERROR, sign(1 << 20, &length));
	RETURNS(CKR_OK, info());
}

static void patience(void)
{
	CK_ULONG length;

	RETURNS(CKR_OK, sign(8, &length));
	CHECK(length == 3);
}

/* The application is stopped, as by a debugger or a terminal, for longer than a silence. */
static void stopped(void)
{
	pid_t parent = getpid(), child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		usleep(200 * 1000);
		kill(parent, SIGSTOP);
		sleep(4);
		kill(parent, SIGCONT);
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		patience();
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void lying_attributes(void)
{
	CK_BYTE *value = malloc(4);
	CK_ATTRIBUTE *inner = calloc(2, sizeof(*inner));
	CK_ATTRIBUTE query[] = {
		{ CKA_VALUE, value, 4 },
		{ CKA_WRAP_TEMPLATE, inner, 2 * sizeof(*inner) },
	};

	/* A flat room that the engine could take for an array of pointers. */
	inner[0] = (CK_ATTRIBUTE){ CKA_LABEL, value, 4 };
	RETURNS(CKR_DEVICE_ERROR, p11->C_GetAttributeValue(1, 2, query, 2));
	RETURNS(CKR_OK, info());
	free(inner);
	free(value);
}

/* Lengths that no buffer has. Nothing may be sent, nor memory be taken for them. */
static void absurd(void)
{
	static const CK_ULONG lengths[] = { ABSURD, ~0ul, ~0ul - 8, ABSURD - 1, 17ul << 20 };
	CK_BYTE b[64] = { 0 };
	CK_ULONG n = sizeof(b);
	CK_OBJECT_HANDLE o, objects[2];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CK_ULONG l = lengths[i];
		CK_ATTRIBUTE a = { CKA_VALUE, b, l }, nested = { CKA_WRAP_TEMPLATE, b, l };
		CK_MECHANISM raw = { CKM_AES_CBC, b, l };
		CK_GCM_PARAMS gcm = { b, l, 0, b, l, 128 };
		CK_MECHANISM form = { CKM_AES_GCM, &gcm, sizeof(gcm) };

		RETURNS(CKR_ARGUMENTS_BAD, p11->C_Sign(1, b, l, b, &n));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_Login(1, CKU_USER, b, l));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, &a, 1, &o));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, &a, l, &o));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(1, 2, &a, l));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(1, b, l));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_DigestInit(1, &raw));
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_DigestInit(1, &form));
		nested.ulValueLen = l - l % sizeof(nested);
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, &nested, 1, &o));
	}
	CHECK(p11->C_FindObjects(1, objects, 2, NULL) == CKR_ARGUMENTS_BAD);
}

/* What is wrong is said before anything is sent. */
static void refused(void)
{
	CK_BYTE b[48] = { 0 };
	CK_ULONG n = 0;
	CK_MECHANISM none = { CKM_RSA_PKCS, b, 1 }, unknown = { CKM_VENDOR_DEFINED, b, 1 };
	CK_MECHANISM gcm = { CKM_AES_GCM, b, 41 }, wrap = { 0x1054, b, 16 };
	CK_ATTRIBUTE odd = { CKA_WRAP_TEMPLATE, b, 25 }, deep[6];
	CK_ATTRIBUTE *many = calloc(1025, sizeof(*many));
	CK_OBJECT_HANDLE o;

	for (int i = 0; i < 5; i++)	/* one deeper than the protocol goes */
		deep[i] = (CK_ATTRIBUTE){ CKA_WRAP_TEMPLATE, &deep[i + 1], sizeof(*deep) };
	deep[5] = (CK_ATTRIBUTE){ CKA_LABEL, b, 1 };
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateKey(1, NULL, many, 1, &o));
	RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(1, &none, 2));
	RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(1, &unknown, 2));
	RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(1, &gcm, 2));
	RETURNS(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(1, &wrap, 2));
	RETURNS(CKR_ATTRIBUTE_VALUE_INVALID, p11->C_CreateObject(1, &odd, 1, &o));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, deep, 1, &o));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, many, 1025, &o));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, NULL, 1, &o));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_CreateObject(1, many, 1, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(1, 2, NULL, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(1, 2, deep, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetInfo(NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetSlotList(CK_TRUE, NULL, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Sign(1, b, 1, b, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_FindObjects(1, NULL, 1, &n));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(1, NULL, 1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_OpenSession(1, 4, NULL, NULL, NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_WaitForSlotEvent(0, &n, b));
	free(many);
}

static void *sign_once(void *unused)
{
	CK_ULONG length;
	CK_RV rv = sign(8, &length);

	(void)unused;
	CHECK(rv == CKR_CRYPTOKI_NOT_INITIALIZED);
	return NULL;
}

/* The engine answers no C_Sign. It says when all threads wait for one. */
static void finalize(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, sign_once, NULL));
	CHECK(getchar() == '\n');
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
}

static void *sign_often(void *failures)
{
	CK_ULONG length;

	for (int i = 0; i < 50; i++)
		if (sign(8, &length) != CKR_OK)
			++*(int *)failures;
	return NULL;
}

/* More threads than connections: the rest wait for one. */
static void many(void)
{
	pthread_t threads[100];
	static int failures[100];

	for (int i = 0; i < 100; i++)
		CHECK(!pthread_create(&threads[i], NULL, sign_often, &failures[i]));
	for (int i = 0; i < 100; i++) {
		pthread_join(threads[i], NULL);
		CHECK(failures[i] == 0);
	}
}

/* The engine goes while it is asked; then everything fails, until it is back. */
static void gone(void)
{
	CK_ULONG length;

	RETURNS(CKR_DEVICE_ERROR, sign(8, &length));
	RETURNS(CKR_DEVICE_ERROR, info());
	RETURNS(CKR_DEVICE_ERROR, info());
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
}

/* A megabyte each way, many times the sockets' buffers. */
static void large(void)
{
	CK_ULONG n = 4 << 20, length = n;
	CK_BYTE *in = malloc(n), *out = malloc(n);

	for (CK_ULONG i = 0; i < n; i++)
		in[i] = (CK_BYTE)(i * 7 >> 3);
	RETURNS(CKR_OK, p11->C_Encrypt(1, in, n, out, &length));
	CHECK(length == n && !memcmp(in, out, n));
	free(in);
	free(out);
}

static int by_size(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : 1;
}

/* Prints the median time of a call in nanoseconds. */
static void latency(void)
{
	static long times[20001];
	const size_t rounds = sizeof(times) / sizeof(*times);

	for (size_t i = 0; i < rounds; i++) {
		struct timespec a, b;

		clock_gettime(CLOCK_MONOTONIC, &a);
		RETURNS(CKR_OK, info());
		clock_gettime(CLOCK_MONOTONIC, &b);
		times[i] = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
	}
	qsort(times, rounds, sizeof(*times), by_size);
	printf("%ld\n", times[rounds / 2]);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "lie", lie }, { "greedy", greedy }, { "patience", patience }, { "stopped", stopped }, { "attributes", lying_attributes }, { "absurd", absurd },
	{ "refused", refused }, { "finalize", finalize }, { "many", many },
	{ "gone", gone }, { "large", large }, { "latency", latency },
};

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(argv[2], parts[i].name))
			continue;
		parts[i].run();
		RETURNS(CKR_OK, p11->C_Finalize(NULL));
		return 0;
	}
	return 2;
}
