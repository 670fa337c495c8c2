/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How applications get at the functions (PKCS#11 3.0, 5.4.4 to 5.4.6). All of
 * this may be called at any time, before C_Initialize and in a child of fork.
 */
#include "interface.h"

#include <string.h>

static const char standard[] = "PKCS 11";

/*
 * The first is the default. None has CKF_INTERFACE_FORK_SAFE: that promises a
 * child copies of its parent's sessions.
 */
static const CK_INTERFACE interfaces[] = {
	{ (CK_CHAR *)standard, (void *)&functions_3_0, 0 },
	{ (CK_CHAR *)standard, (void *)&functions_2_40, 0 },
};

#define INTERFACES (sizeof(interfaces) / sizeof(*interfaces))

/* The engine does not know by which list it is asked, and says 2.40. */
CK_RV get_info_3_0(CK_INFO_PTR info)
{
	CK_RV rv = C_GetInfo(info);

	if (rv == CKR_OK)
		info->cryptokiVersion = functions_3_0.version;
	return rv;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list)
{
	if (!list)
		return CKR_ARGUMENTS_BAD;
	*list = (CK_FUNCTION_LIST_PTR)&functions_2_40;
	return CKR_OK;
}

CK_RV C_GetInterfaceList(CK_INTERFACE_PTR list, CK_ULONG_PTR count)
{
	CK_RV rv = CKR_OK;

	if (!count)
		return CKR_ARGUMENTS_BAD;
	if (list && *count < INTERFACES)
		rv = CKR_BUFFER_TOO_SMALL;
	else if (list)
		memcpy(list, interfaces, sizeof(interfaces));
	*count = INTERFACES;
	return rv;
}

/* "If … is not NULL_PTR, the … of the interface returned must match" (5.4.6). */
static int matches(const CK_INTERFACE *i, const CK_UTF8CHAR *name, const CK_VERSION *version,
		   CK_FLAGS flags)
{
	const CK_VERSION *own = i->pFunctionList;

	return (!name || !strcmp((const char *)name, (const char *)i->pInterfaceName)) &&
	       (!version || (version->major == own->major && version->minor == own->minor)) &&
	       (flags & ~i->flags) == 0;
}

CK_RV C_GetInterface(CK_UTF8CHAR_PTR name, CK_VERSION_PTR version,
		     CK_INTERFACE_PTR_PTR found, CK_FLAGS flags)
{
	if (!found)
		return CKR_ARGUMENTS_BAD;
	for (size_t i = 0; i < INTERFACES; i++) {
		if (matches(&interfaces[i], name, version, flags)) {
			*found = (CK_INTERFACE_PTR)&interfaces[i];
			return CKR_OK;
		}
	}
	return CKR_FUNCTION_FAILED;
}
