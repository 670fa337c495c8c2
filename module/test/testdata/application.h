/* SPDX-License-Identifier: Apache-2.0 */
/* What the test applications have in common: they load the module as others do. */
#ifndef APPLICATION_H
#define APPLICATION_H

#include <p11-kit/pkcs11.h>

#include <dlfcn.h>
#include <errno.h>
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

/* Waits for a child that must exit with 0. */
static inline void reap_child(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

#endif
