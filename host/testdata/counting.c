/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM, which adds a byte to the file $COUNT for each call of
 * C_GetAttributeValue.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit/pkcs11.h>
#include <stdlib.h>
#include <unistd.h>

static CK_FUNCTION_LIST *soft, list;

static CK_RV get(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n)
{
	int fd = open(getenv("COUNT"), O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (write(fd, "", 1) != 1)
		return CKR_HOST_MEMORY;
	close(fd);
	return soft->C_GetAttributeValue(s, o, t, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	CK_C_GetFunctionList list_of = (CK_C_GetFunctionList)dlsym(dlopen(SOFTHSM, RTLD_NOW), "C_GetFunctionList");
	CK_RV rv = list_of(&soft);

	list = *soft;
	list.C_GetAttributeValue = get;
	*out = &list;
	return rv;
}
