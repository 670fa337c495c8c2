// SPDX-License-Identifier: Apache-2.0
//
// Measures one kind of work on one token, as an application would do it, and prints
// calls per second, the median and the 99th percentile of a call in microseconds, and
// how many failed. Makes its keys where they are missing.
//
//	p11bench MODULE TOKEN PIN KIND THREADS SECONDS
//
// KIND is rsa (sign, 2048 bits, SHA-256), ecdsa (sign, P-256), aes (CBC-PAD encrypt,
// 1 KiB), info (C_GetSessionInfo) or first: one C_Initialize to the first RSA signature,
// in milliseconds in place of the median.

#include <p11-kit/pkcs11.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 4000000 /* calls that are remembered, in all threads */

static CK_FUNCTION_LIST_PTR f;
static CK_SLOT_ID slot;
static CK_OBJECT_HANDLE key;
static const char *kind;
static double seconds;
static volatile int go, stop;

struct worker {
	pthread_t thread;
	CK_SESSION_HANDLE session;
	float *took;
	long calls, most, failed;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void must(CK_RV rv, const char *what)
{
	if (rv == CKR_OK)
		return;
	fprintf(stderr, "%s: %#lx\n", what, rv);
	exit(1);
}

static int is(const char *name) { return !strcmp(kind, name); }

static int rsa(void) { return is("rsa") || is("first"); }

static void find_slot(const char *label)
{
	CK_SLOT_ID slots[64];
	CK_ULONG count = 64;
	char padded[33];

	snprintf(padded, sizeof padded, "%-32s", label);
	must(f->C_GetSlotList(CK_TRUE, slots, &count), "C_GetSlotList");
	for (CK_ULONG i = 0; i < count; i++) {
		CK_TOKEN_INFO info;

		if (f->C_GetTokenInfo(slots[i], &info) == CKR_OK && !memcmp(info.label, padded, 32)) {
			slot = slots[i];
			return;
		}
	}
	fprintf(stderr, "no token %s\n", label);
	exit(1);
}

static void find_key(CK_SESSION_HANDLE session)
{
	CK_OBJECT_CLASS class = is("aes") ? CKO_SECRET_KEY : CKO_PRIVATE_KEY;
	char label[32];
	CK_BBOOL yes = CK_TRUE;
	CK_ULONG bits = 2048, bytes = 32, count = 0;
	CK_BYTE exponent[] = {1, 0, 1}, p256[] = {6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7};
	CK_OBJECT_HANDLE public;

	snprintf(label, sizeof label, "bench-%s", rsa() ? "rsa" : kind);
	CK_ATTRIBUTE search[] = {{CKA_CLASS, &class, sizeof class}, {CKA_LABEL, label, strlen(label)}};
	must(f->C_FindObjectsInit(session, search, 2), "C_FindObjectsInit");
	must(f->C_FindObjects(session, &key, 1, &count), "C_FindObjects");
	must(f->C_FindObjectsFinal(session), "C_FindObjectsFinal");
	if (count)
		return;
	CK_ATTRIBUTE private[] = {{CKA_TOKEN, &yes, 1}, {CKA_PRIVATE, &yes, 1}, {CKA_SIGN, &yes, 1}, {CKA_LABEL, label, strlen(label)}};
	if (rsa()) {
		CK_MECHANISM m = {CKM_RSA_PKCS_KEY_PAIR_GEN, NULL, 0};
		CK_ATTRIBUTE t[] = {{CKA_TOKEN, &yes, 1}, {CKA_VERIFY, &yes, 1}, {CKA_MODULUS_BITS, &bits, sizeof bits}, {CKA_PUBLIC_EXPONENT, exponent, 3}};
		must(f->C_GenerateKeyPair(session, &m, t, 4, private, 4, &public, &key), "C_GenerateKeyPair");
	} else if (is("ecdsa")) {
		CK_MECHANISM m = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
		CK_ATTRIBUTE t[] = {{CKA_TOKEN, &yes, 1}, {CKA_VERIFY, &yes, 1}, {CKA_EC_PARAMS, p256, sizeof p256}};
		must(f->C_GenerateKeyPair(session, &m, t, 3, private, 4, &public, &key), "C_GenerateKeyPair");
	} else {
		CK_MECHANISM m = {CKM_AES_KEY_GEN, NULL, 0};
		CK_ATTRIBUTE t[] = {{CKA_TOKEN, &yes, 1}, {CKA_PRIVATE, &yes, 1}, {CKA_ENCRYPT, &yes, 1}, {CKA_VALUE_LEN, &bytes, sizeof bytes}, {CKA_LABEL, label, strlen(label)}};
		must(f->C_GenerateKey(session, &m, t, 5, &key), "C_GenerateKey");
	}
}

static CK_RV one(CK_SESSION_HANDLE session)
{
	CK_BYTE data[1024] = {0}, out[2048], iv[16] = {0};
	CK_ULONG length = sizeof out;
	CK_SESSION_INFO info;
	CK_MECHANISM m = {rsa() ? CKM_SHA256_RSA_PKCS : CKM_ECDSA, NULL, 0}, aes = {CKM_AES_CBC_PAD, iv, sizeof iv};
	CK_RV rv;

	if (is("info"))
		return f->C_GetSessionInfo(session, &info);
	if (is("aes"))
		return (rv = f->C_EncryptInit(session, &aes, key)) ? rv : f->C_Encrypt(session, data, sizeof data, out, &length);
	return (rv = f->C_SignInit(session, &m, key)) ? rv : f->C_Sign(session, data, 32, out, &length);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!go)
		;
	while (!stop && w->calls < w->most) {
		double begin = now();

		if (one(w->session) != CKR_OK)
			w->failed++;
		w->took[w->calls++] = (now() - begin) * 1e6;
	}
	return NULL;
}

static int order(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	CK_C_INITIALIZE_ARGS locks = {.flags = CKF_OS_LOCKING_OK};
	CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR);
	CK_SESSION_HANDLE session;
	double begin;

	if (argc != 7) {
		fprintf(stderr, "usage: %s MODULE TOKEN PIN KIND THREADS SECONDS\n", argv[0]);
		return 2;
	}
	kind = argv[4];
	int threads = atoi(argv[5]);
	seconds = atof(argv[6]);
	void *module = dlopen(argv[1], RTLD_NOW);
	if (!module || !(get = (CK_RV(*)(CK_FUNCTION_LIST_PTR_PTR))dlsym(module, "C_GetFunctionList"))) {
		fprintf(stderr, "%s: %s\n", argv[1], dlerror());
		return 1;
	}
	must(get(&f), "C_GetFunctionList");
	begin = now();
	must(f->C_Initialize(&locks), "C_Initialize");
	find_slot(argv[2]);
	must(f->C_OpenSession(slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session), "C_OpenSession");
	must(f->C_Login(session, CKU_USER, (CK_UTF8CHAR_PTR)argv[3], strlen(argv[3])), "C_Login");
	if (!is("info"))
		find_key(session);
	must(one(session), "the first call");
	if (is("first")) {
		printf("0 %.1f 0 0\n", (now() - begin) * 1e3);
		f->C_Finalize(NULL);
		return 0;
	}

	struct worker *all = calloc(threads, sizeof *all);
	for (int i = 0; i < threads; i++) {
		all[i].most = MOST / threads;
		all[i].took = calloc(all[i].most, sizeof *all[i].took);
		must(f->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &all[i].session), "C_OpenSession");
		must(one(all[i].session), "the first call of a session");
		pthread_create(&all[i].thread, NULL, work, &all[i]);
	}
	go = 1;
	begin = now();
	struct timespec pause = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
	nanosleep(&pause, NULL);
	stop = 1;
	long calls = 0, failed = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(all[i].thread, NULL);
		calls += all[i].calls;
		failed += all[i].failed;
	}
	double over = now() - begin;
	float *took = calloc(calls + 1, sizeof *took);
	for (int i = 0, at = 0; i < threads; at += all[i++].calls)
		memcpy(took + at, all[i].took, all[i].calls * sizeof *took);
	qsort(took, calls, sizeof *took, order);
	printf("%.1f %.1f %.1f %ld\n", calls / over, took[calls / 2], took[calls * 99 / 100], failed);
	f->C_Finalize(NULL);
	return failed != 0;
}
