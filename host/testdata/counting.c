/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM, which adds a byte to a file in the folder $COUNT, one of the
 * function's name, for each call of C_GetAttributeValue and C_FindObjectsInit.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit/pkcs11.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static CK_FUNCTION_LIST *soft, list;

static void count(const char *function)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s", getenv("COUNT"), function);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (write(fd, "", 1) != 1)
		abort();
	close(fd);
}

static CK_RV get(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n)
{
	count("C_GetAttributeValue");
	return soft->C_GetAttributeValue(s, o, t, n);
}

static CK_RV find(CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n)
{
	count("C_FindObjectsInit");
	return soft->C_FindObjectsInit(s, t, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	CK_C_GetFunctionList list_of = (CK_C_GetFunctionList)dlsym(dlopen(SOFTHSM, RTLD_NOW), "C_GetFunctionList");
	CK_RV rv = list_of(&soft);

	list = *soft;
	list.C_GetAttributeValue = get;
	list.C_FindObjectsInit = find;
	*out = &list;
	return rv;
}
