/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A vendor module for tests: SoftHSM without trusted keys. It knows neither
 * CKA_TRUSTED nor CKA_WRAP_WITH_TRUSTED nor CKA_UNWRAP_TEMPLATE, as many tokens.
 */
#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <string.h>

static CK_FUNCTION_LIST *real, own;

static int unknown(CK_ATTRIBUTE_TYPE t)
{
	return t == CKA_TRUSTED || t == CKA_WRAP_WITH_TRUSTED || t == CKA_UNWRAP_TEMPLATE;
}

static int refused(CK_ATTRIBUTE *t, CK_ULONG n)
{
	for (CK_ULONG i = 0; i < n; i++)
		if (unknown(t[i].type))
			return 1;
	return 0;
}

static CK_RV create(CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_CreateObject(s, t, n, o);
}

static CK_RV copy(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_CopyObject(s, from, t, n, o);
}

static CK_RV set(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_SetAttributeValue(s, o, t, n);
}

static CK_RV generate(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_GenerateKey(s, m, t, n, o);
}

static CK_RV pair(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_ATTRIBUTE *t2, CK_ULONG n2,
		  CK_OBJECT_HANDLE *o, CK_OBJECT_HANDLE *o2)
{
	if (refused(t, n) || refused(t2, n2))
		return CKR_ATTRIBUTE_TYPE_INVALID;
	return real->C_GenerateKeyPair(s, m, t, n, t2, n2, o, o2);
}

static CK_RV unwrap(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE k, CK_BYTE *w, CK_ULONG l, CK_ATTRIBUTE *t,
		    CK_ULONG n, CK_OBJECT_HANDLE *o)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_UnwrapKey(s, m, k, w, l, t, n, o);
}

static CK_RV derive(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE k, CK_ATTRIBUTE *t, CK_ULONG n,
		    CK_OBJECT_HANDLE *o)
{
	return refused(t, n) ? CKR_ATTRIBUTE_TYPE_INVALID : real->C_DeriveKey(s, m, k, t, n, o);
}

static CK_RV get(CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n)
{
	CK_ATTRIBUTE known[n + 1];
	CK_ULONG places[n + 1], count = 0;
	for (CK_ULONG i = 0; i < n; i++) {
		if (unknown(t[i].type)) {
			t[i].ulValueLen = (CK_ULONG)-1;
			continue;
		}
		places[count] = i;
		known[count++] = t[i];
	}
	CK_RV rv = count > 0 || n == 0 ? real->C_GetAttributeValue(s, o, known, count) : CKR_OK;
	for (CK_ULONG i = 0; i < count; i++)
		t[places[i]] = known[i];
	return rv == CKR_OK && count < n ? CKR_ATTRIBUTE_TYPE_INVALID : rv;
}

/* A search for what it does not know finds nothing: no object has it. */
static CK_RV search(CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n)
{
	CK_ULONG none = 0x7fffffff;
	CK_ATTRIBUTE nobody = {CKA_CLASS, &none, sizeof none};
	return refused(t, n) ? real->C_FindObjectsInit(s, &nobody, 1) : real->C_FindObjectsInit(s, t, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list)
{
	void *library = dlopen(SOFTHSM, RTLD_NOW);
	CK_RV (*function)(CK_FUNCTION_LIST **) = library ? dlsym(library, "C_GetFunctionList") : NULL;
	if (!function || function(&real) != CKR_OK)
		return CKR_GENERAL_ERROR;
	memcpy(&own, real, sizeof own);
	own.C_CreateObject = create;
	own.C_CopyObject = copy;
	own.C_SetAttributeValue = set;
	own.C_GenerateKey = generate;
	own.C_GenerateKeyPair = pair;
	own.C_UnwrapKey = unwrap;
	own.C_DeriveKey = derive;
	own.C_GetAttributeValue = get;
	own.C_FindObjectsInit = search;
	*list = &own;
	return CKR_OK;
}
