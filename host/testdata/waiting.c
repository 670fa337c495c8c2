/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM, whose C_GenerateRandom of 13 bytes waits until
 * somebody writes to the pipe in $WAITING.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit/pkcs11.h>
#include <stdlib.h>
#include <unistd.h>

static CK_FUNCTION_LIST *soft, list;

static CK_RV generate_random(CK_SESSION_HANDLE s, CK_BYTE *out, CK_ULONG n)
{
	char byte;
	int fd;

	if (n == 13) {
		fd = open(getenv("WAITING"), O_RDONLY);
		if (fd < 0 || read(fd, &byte, 1) < 0)
			return CKR_GENERAL_ERROR;
		close(fd);
	}
	return soft->C_GenerateRandom(s, out, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	CK_C_GetFunctionList get = (CK_C_GetFunctionList)dlsym(dlopen(SOFTHSM, RTLD_NOW), "C_GetFunctionList");
	CK_RV rv = get(&soft);

	list = *soft;
	list.C_GenerateRandom = generate_random;
	*out = &list;
	return rv;
}
