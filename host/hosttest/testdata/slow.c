// SPDX-License-Identifier: Apache-2.0
//
// SoftHSM with functions that take their time. While the folder SLOW has a file
// with the name of one of them, it sleeps before it does its work: for as many
// seconds as the file says, but not when the file is gone. Each such call leaves
// the number of its process in the file NAME.calls, and again in NAME.ended when it has
// done its work.

#include <p11-kit/pkcs11.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static CK_FUNCTION_LIST list;
static CK_FUNCTION_LIST_PTR real;

static void note(const char *name, const char *what)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s.%s", getenv("SLOW"), name, what);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		abort();
	close(fd);
}

static int linger(const char *name)
{
	char path[4096];
	const struct timespec look = {.tv_nsec = 20 * 1000 * 1000};
	struct timespec begin, now;
	double seconds;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", getenv("SLOW"), name);
	if (!(f = fopen(path, "r")))
		return 0;
	if (fscanf(f, "%lf", &seconds) != 1)
		seconds = 0;
	fclose(f);
	note(name, "calls");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		nanosleep(&look, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < seconds && !access(path, F_OK));
	return 1;
}

#define SLOW(function, parameters, arguments)               \
	static CK_RV function parameters                    \
	{                                                   \
		int slow = linger("C_" #function);          \
		CK_RV rv = real->C_##function arguments;    \
							    \
		if (slow)                                   \
			note("C_" #function, "ended");      \
		return rv;                                  \
	}

SLOW(Initialize, (void *arguments), (arguments))
SLOW(GenerateKeyPair,
     (CK_SESSION_HANDLE s, CK_MECHANISM_PTR m, CK_ATTRIBUTE_PTR a, CK_ULONG as, CK_ATTRIBUTE_PTR b, CK_ULONG bs, CK_OBJECT_HANDLE_PTR pub, CK_OBJECT_HANDLE_PTR priv),
     (s, m, a, as, b, bs, pub, priv))
SLOW(SignInit, (CK_SESSION_HANDLE s, CK_MECHANISM_PTR m, CK_OBJECT_HANDLE key), (s, m, key))
SLOW(Login, (CK_SESSION_HANDLE s, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length), (s, user, pin, length))
SLOW(GenerateRandom, (CK_SESSION_HANDLE s, CK_BYTE_PTR data, CK_ULONG length), (s, data, length))

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR out)
{
	void *softhsm = dlopen(SOFTHSM, RTLD_NOW);
	CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR);

	if (!softhsm || !(get = (CK_RV(*)(CK_FUNCTION_LIST_PTR_PTR))dlsym(softhsm, "C_GetFunctionList")) || get(&real) != CKR_OK)
		return CKR_GENERAL_ERROR;
	memcpy(&list, real, sizeof list);
	list.C_Initialize = Initialize;
	list.C_GenerateKeyPair = GenerateKeyPair;
	list.C_SignInit = SignInit;
	list.C_Login = Login;
	list.C_GenerateRandom = GenerateRandom;
	*out = &list;
	return CKR_OK;
}
