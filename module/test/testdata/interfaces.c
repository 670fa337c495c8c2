/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces as PKCS#11 3.0, sections 5.4.5 and 5.4.6, has them. */
#include "application.h"

static __typeof__(C_GetInterface) *get;
static __typeof__(C_GetInterfaceList) *list;

static CK_UTF8CHAR standard[] = "PKCS 11", other[] = "Vendor oneslot";

static CK_RV version_of(CK_UTF8CHAR *name, CK_VERSION *wanted, CK_FLAGS flags, CK_VERSION *got)
{
	CK_INTERFACE *found = NULL;
	CK_RV rv = get(name, wanted, &found, flags);

	CHECK((rv == CKR_OK) == (found != NULL));
	if (!found)
		return rv;
	CHECK(!strcmp((char *)found->pInterfaceName, "PKCS 11") && found->flags == 0);
	*got = *(CK_VERSION *)found->pFunctionList;
	return rv;
}

static void by_name_and_version(void)
{
	CK_VERSION old = { 2, 40 }, new = { 3, 0 }, newer = { 3, 1 }, v = { 0 };

	RETURNS(CKR_OK, version_of(NULL, NULL, 0, &v));
	CHECK(v.major == 3 && v.minor == 0);
	RETURNS(CKR_OK, version_of(standard, NULL, 0, &v));
	CHECK(v.major == 3 && v.minor == 0);
	RETURNS(CKR_OK, version_of(standard, &new, 0, &v));
	CHECK(v.major == 3 && v.minor == 0);
	RETURNS(CKR_OK, version_of(NULL, &old, 0, &v));
	CHECK(v.major == 2 && v.minor == 40);
	RETURNS(CKR_FUNCTION_FAILED, version_of(standard, &newer, 0, &v));
	RETURNS(CKR_FUNCTION_FAILED, version_of(other, NULL, 0, &v));
	RETURNS(CKR_FUNCTION_FAILED, version_of(NULL, NULL, CKF_INTERFACE_FORK_SAFE, &v));
	RETURNS(CKR_ARGUMENTS_BAD, get(NULL, NULL, NULL, 0));
}

static void listed(void)
{
	CK_ULONG n = 0;
	CK_INTERFACE all[3] = { 0 };

	RETURNS(CKR_ARGUMENTS_BAD, list(all, NULL));
	RETURNS(CKR_OK, list(NULL, &n));
	CHECK(n == 2);
	n = 1;
	RETURNS(CKR_BUFFER_TOO_SMALL, list(all, &n));
	CHECK(n == 2 && !all[0].pFunctionList);
	n = 3;
	RETURNS(CKR_OK, list(all, &n));
	CHECK(n == 2 && !all[2].pFunctionList);
	CHECK(((CK_VERSION *)all[0].pFunctionList)->major == 3);
	CHECK(((CK_VERSION *)all[1].pFunctionList)->minor == 40);
}

/* What the functions say that nobody offers, and those that are new. */
static void new_functions(CK_FUNCTION_LIST_3_0 *f, CK_RV none, CK_RV new)
{
	CK_ULONG n = 0;
	CK_BYTE b[1];

	RETURNS(new, f->C_SessionCancel(1, CKF_SIGN));
	RETURNS(new, f->C_LoginUser(1, CKU_USER, b, 1, NULL, 0));
	RETURNS(none, f->C_MessageEncryptInit(1, NULL, 0));
	RETURNS(none, f->C_EncryptMessage(1, b, 1, b, 1, b, 1, b, &n));
	RETURNS(none, f->C_DecryptMessageNext(1, b, 1, b, 1, NULL, &n, 0));
	RETURNS(none, f->C_MessageSignFinal(1));
	RETURNS(none, f->C_VerifyMessage(1, b, 1, b, 1, b, 1));
	RETURNS(none, f->C_MessageVerifyFinal(1));
}

int main(int argc, char **argv)
{
	CK_FUNCTION_LIST *old;
	CK_FUNCTION_LIST_3_0 *new;
	CK_INFO info;
	void *module;

	CHECK(argc == 2);
	old = load(argv[1]);
	new = load_interface(argv[1], 3, 0);
	CHECK(old == load_interface(argv[1], 2, 40));
	module = dlopen(argv[1], RTLD_NOW);
	get = dlsym(module, "C_GetInterface");
	list = dlsym(module, "C_GetInterfaceList");
	by_name_and_version();
	listed();
	new_functions(new, CKR_CRYPTOKI_NOT_INITIALIZED, CKR_CRYPTOKI_NOT_INITIALIZED);
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, new->C_GetInfo(&info));

	RETURNS(CKR_OK, new->C_Initialize(NULL));
	by_name_and_version();
	new_functions(new, CKR_FUNCTION_NOT_SUPPORTED, CKR_SESSION_HANDLE_INVALID);
	RETURNS(CKR_OK, old->C_GetInfo(&info));
	CHECK(info.cryptokiVersion.major == 2 && info.cryptokiVersion.minor == 40);
	RETURNS(CKR_OK, new->C_GetInfo(&info));
	CHECK(info.cryptokiVersion.major == 3 && info.cryptokiVersion.minor == 0);
	RETURNS(CKR_ARGUMENTS_BAD, new->C_GetInfo(NULL));
	RETURNS(CKR_OK, old->C_Finalize(NULL));
	return 0;
}
