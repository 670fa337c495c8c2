/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM, whose functions answer CKR_GENERAL_ERROR once for
 * each file of their name in the folder $UNCLEAR, and always if it is a folder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <p11-kit/pkcs11.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static CK_FUNCTION_LIST *soft, list;

static int unclear(const char *function)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", getenv("UNCLEAR"), function);
	return unlink(path) == 0 || errno == EISDIR;
}

static CK_RV token_info(CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
	return unclear("C_GetTokenInfo") ? CKR_GENERAL_ERROR : soft->C_GetTokenInfo(slot, info);
}

static CK_RV find_init(CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n)
{
	return unclear("C_FindObjectsInit") ? CKR_GENERAL_ERROR : soft->C_FindObjectsInit(s, t, n);
}

static CK_RV find(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE *o, CK_ULONG max, CK_ULONG *n)
{
	return unclear("C_FindObjects") ? CKR_GENERAL_ERROR : soft->C_FindObjects(s, o, max, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	CK_C_GetFunctionList get = (CK_C_GetFunctionList)dlsym(dlopen(SOFTHSM, RTLD_NOW), "C_GetFunctionList");
	CK_RV rv = get(&soft);

	list = *soft;
	list.C_GetTokenInfo = token_info;
	list.C_FindObjectsInit = find_init;
	list.C_FindObjects = find;
	*out = &list;
	return rv;
}
