/* SPDX-License-Identifier: Apache-2.0 */
/* What the test applications have in common: they load the module as others do. */
#ifndef APPLICATION_H
#define APPLICATION_H

#include "../../cryptoki.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

#define RETURNS(code, call)                                                    \
	do {                                                                   \
		CK_RV got_ = (call);                                           \
		if (got_ != (code)) {                                          \
			fprintf(stderr, "%s:%d: %s = 0x%lx, want 0x%lx\n",     \
				__FILE__, __LINE__, #call, got_, (CK_RV)(code)); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* A session that the module knows nothing of. */
static atomic_ulong next_session __attribute__((unused)) = 1;

static CK_FUNCTION_LIST *load(const char *path)
{
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CK_C_GetFunctionList get;
	CK_FUNCTION_LIST *list;

	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	get = (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
	CHECK(get && get(&list) == CKR_OK);
	return list;
}

/* The list of functions of the standard interface in this version. */
static inline void *load_interface(const char *path, CK_BYTE major, CK_BYTE minor)
{
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	__typeof__(C_GetInterface) *get = module ? dlsym(module, "C_GetInterface") : NULL;
	CK_VERSION version = { major, minor };
	CK_INTERFACE *found;

	CHECK(get && get((CK_UTF8CHAR *)"PKCS 11", &version, &found, 0) == CKR_OK);
	return found->pFunctionList;
}

/* Waits for a child that must exit with 0. */
static inline void reap_child(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

#endif
