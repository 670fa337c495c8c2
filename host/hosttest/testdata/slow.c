// SPDX-License-Identifier: Apache-2.0
//
// SoftHSM with functions that take their time. While the folder SLOW has a file
// with the name of one of them, it sleeps before it does its work: for as many
// seconds as the file says, but not when the file is gone. Each such call leaves
// the number of its process in the file NAME.calls.

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

static void linger(const char *name)
{
	char path[4096], calls[4096 + 8];
	const struct timespec look = {.tv_nsec = 20 * 1000 * 1000};
	struct timespec begin, now;
	double seconds;
	FILE *f;
	int fd;

	snprintf(path, sizeof path, "%s/%s", getenv("SLOW"), name);
	if (!(f = fopen(path, "r")))
		return;
	if (fscanf(f, "%lf", &seconds) != 1)
		seconds = 0;
	fclose(f);
	snprintf(calls, sizeof calls, "%s.calls", path);
	if ((fd = open(calls, O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		abort();
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		nanosleep(&look, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < seconds && !access(path, F_OK));
}

static CK_RV generate(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_ATTRIBUTE_PTR public, CK_ULONG publics,
		      CK_ATTRIBUTE_PTR private, CK_ULONG privates, CK_OBJECT_HANDLE_PTR public_key, CK_OBJECT_HANDLE_PTR private_key)
{
	linger("C_GenerateKeyPair");
	return real->C_GenerateKeyPair(session, mechanism, public, publics, private, privates, public_key, private_key);
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key)
{
	linger("C_SignInit");
	return real->C_SignInit(session, mechanism, key);
}

static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length)
{
	linger("C_Login");
	return real->C_Login(session, user, pin, length);
}

static CK_RV generate_random(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length)
{
	linger("C_GenerateRandom");
	return real->C_GenerateRandom(session, data, length);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR out)
{
	void *softhsm = dlopen(SOFTHSM, RTLD_NOW);
	CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR);

	if (!softhsm || !(get = (CK_RV(*)(CK_FUNCTION_LIST_PTR_PTR))dlsym(softhsm, "C_GetFunctionList")) || get(&real) != CKR_OK)
		return CKR_GENERAL_ERROR;
	memcpy(&list, real, sizeof list);
	list.C_GenerateKeyPair = generate;
	list.C_SignInit = sign_init;
	list.C_Login = login;
	list.C_GenerateRandom = generate_random;
	*out = &list;
	return CKR_OK;
}
