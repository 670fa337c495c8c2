/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM with oddities, of which the variables of its process
 * choose.
 *
 * ODD_LOST     a folder. Whoever takes the file with the name of a function away
 *              from there ends its process in that call: before it acts if the file
 *              says "before", after it did if it says "after". If it says "invalid"
 *              the call does nothing but to answer that a handle of a key is invalid.
 * ODD_SLOTS    slots have other numbers in each process.
 * ODD_WITHOUT  mechanisms that the token does not have, with commas between.
 * ODD_RSA      the bits that an RSA key has at least to be used there.
 * ODD_DER      the token makes ECDSA signatures in DER.
 * ODD_PINPAD   a file: the token takes its PIN by a pad of its own, and each login
 *              there leaves a byte in the file.
 */
#include "application.h"

#include <fcntl.h>

static CK_FUNCTION_LIST *soft, list;

static int lost(const char *function, const char *when)
{
	const char *folder = getenv("ODD_LOST");
	char path[4096], says[16] = "";
	FILE *f;

	if (!folder)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, function);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(says, sizeof(says), f))
		says[0] = '\0';
	fclose(f);
	return !strcmp(says, when) && !unlink(path);
}

/* The functions of PKCS#11 in which the process may end. */
#define LOSES(name, parameters, arguments)                                     \
	static CK_RV odd_##name parameters                                     \
	{                                                                      \
		CK_RV rv;                                                      \
                                                                               \
		if (lost(#name, "before"))                                     \
			_exit(1);                                              \
		if (lost(#name, "invalid"))                                    \
			return CKR_KEY_HANDLE_INVALID;                         \
		rv = soft->name arguments;                                     \
		if (rv == CKR_OK && lost(#name, "after"))                      \
			_exit(1);                                              \
		return rv;                                                     \
	}

LOSES(C_CreateObject, (CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o), (s, t, n, o))
LOSES(C_CopyObject, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o),
      (s, from, t, n, o))
LOSES(C_GenerateKey, (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o),
      (s, m, t, n, o))
LOSES(C_GenerateKeyPair,
      (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_ATTRIBUTE *u, CK_ULONG k,
       CK_OBJECT_HANDLE *o, CK_OBJECT_HANDLE *p),
      (s, m, t, n, u, k, o, p))
LOSES(C_UnwrapKey,
      (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_BYTE *w, CK_ULONG l, CK_ATTRIBUTE *t, CK_ULONG n,
       CK_OBJECT_HANDLE *o),
      (s, m, by, w, l, t, n, o))
LOSES(C_DeriveKey,
      (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o),
      (s, m, from, t, n, o))

LOSES(C_WrapKey,
      (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_OBJECT_HANDLE o, CK_BYTE *out, CK_ULONG *l),
      (s, m, by, o, out, l))
LOSES(C_EncryptUpdate, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *l), (s, in, n, out, l))
LOSES(C_DecryptUpdate, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *l), (s, in, n, out, l))
LOSES(C_DigestUpdate, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n), (s, in, n))
LOSES(C_SignUpdate, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n), (s, in, n))
LOSES(C_VerifyUpdate, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n), (s, in, n))
LOSES(C_DigestKey, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE key), (s, key))
LOSES(C_EncryptFinal, (CK_SESSION_HANDLE s, CK_BYTE *out, CK_ULONG *l), (s, out, l))
LOSES(C_DecryptFinal, (CK_SESSION_HANDLE s, CK_BYTE *out, CK_ULONG *l), (s, out, l))
LOSES(C_DigestFinal, (CK_SESSION_HANDLE s, CK_BYTE *out, CK_ULONG *l), (s, out, l))
LOSES(C_SignFinal, (CK_SESSION_HANDLE s, CK_BYTE *out, CK_ULONG *l), (s, out, l))
LOSES(C_VerifyFinal, (CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n), (s, in, n))

LOSES(C_SetAttributeValue, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n), (s, o, t, n))
LOSES(C_DestroyObject, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o), (s, o))
LOSES(C_SetPIN, (CK_SESSION_HANDLE s, CK_UTF8CHAR *old, CK_ULONG n, CK_UTF8CHAR *new, CK_ULONG m), (s, old, n, new, m))

/* What a process adds to the number of each slot. */
static CK_SLOT_ID added(void) { return getenv("ODD_SLOTS") ? 1000000 + (CK_SLOT_ID)getpid() : 0; }

static CK_RV slot_list(CK_BBOOL present, CK_SLOT_ID *out, CK_ULONG *n)
{
	CK_RV rv = soft->C_GetSlotList(present, out, n);

	for (CK_ULONG i = 0; rv == CKR_OK && out && i < *n; i++)
		out[i] += added();
	return rv;
}

static CK_RV slot_info(CK_SLOT_ID slot, CK_SLOT_INFO *info) { return soft->C_GetSlotInfo(slot - added(), info); }

static CK_RV token_info(CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
	CK_RV rv = soft->C_GetTokenInfo(slot - added(), info);

	if (rv == CKR_OK && getenv("ODD_PINPAD"))
		info->flags |= CKF_PROTECTED_AUTHENTICATION_PATH;
	return rv;
}

static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, void *application, CK_NOTIFY notify, CK_SESSION_HANDLE *out)
{
	return soft->C_OpenSession(slot - added(), flags, application, notify, out);
}

static CK_RV close_all(CK_SLOT_ID slot) { return soft->C_CloseAllSessions(slot - added()); }

static CK_RV session_info(CK_SESSION_HANDLE s, CK_SESSION_INFO *info)
{
	CK_RV rv = soft->C_GetSessionInfo(s, info);

	if (rv == CKR_OK)
		info->slotID += added();
	return rv;
}

static int without(CK_MECHANISM_TYPE m)
{
	const char *list = getenv("ODD_WITHOUT");

	while (list && *list) {
		char *end;

		if (strtoul(list, &end, 0) == m)
			return 1;
		list = *end == ',' ? end + 1 : "";
	}
	return 0;
}

/* The sessions whose signature is to be in DER. */
#define SESSIONS 4096
static char signs_der[SESSIONS];

static CK_ULONG rsa_bits(void) { return getenv("ODD_RSA") ? strtoul(getenv("ODD_RSA"), NULL, 0) : 0; }

static int is_rsa(CK_MECHANISM_TYPE m)
{
	return m == CKM_RSA_PKCS_KEY_PAIR_GEN || m == CKM_RSA_PKCS || m == CKM_SHA256_RSA_PKCS;
}

static CK_RV mechanism_list(CK_SLOT_ID slot, CK_MECHANISM_TYPE *out, CK_ULONG *n)
{
	CK_MECHANISM_TYPE all[512];
	CK_ULONG room = *n, count = 512, kept = 0;
	CK_RV rv = soft->C_GetMechanismList(slot - added(), all, &count);

	if (rv != CKR_OK)
		return rv;
	for (CK_ULONG i = 0; i < count; i++)
		if (!without(all[i])) {
			if (out && kept < room)
				out[kept] = all[i];
			kept++;
		}
	*n = kept;
	return out && room < kept ? CKR_BUFFER_TOO_SMALL : CKR_OK;
}

static CK_RV mechanism_info(CK_SLOT_ID slot, CK_MECHANISM_TYPE m, CK_MECHANISM_INFO *info)
{
	CK_RV rv = without(m) ? CKR_MECHANISM_INVALID : soft->C_GetMechanismInfo(slot - added(), m, info);

	if (rv == CKR_OK && is_rsa(m) && info->ulMinKeySize < rsa_bits())
		info->ulMinKeySize = rsa_bits();
	return rv;
}

static CK_RV sign_init(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key)
{
	CK_ATTRIBUTE modulus = { CKA_MODULUS, NULL, 0 };

	if (without(m->mechanism))
		return CKR_MECHANISM_INVALID;
	if (is_rsa(m->mechanism) && soft->C_GetAttributeValue(s, key, &modulus, 1) == CKR_OK &&
	    modulus.ulValueLen * 8 < rsa_bits())
		return CKR_KEY_SIZE_RANGE;
	signs_der[s % SESSIONS] = getenv("ODD_DER") && m->mechanism >= CKM_ECDSA && m->mechanism <= CKM_ECDSA_SHA512;
	return soft->C_SignInit(s, m, key);
}

/* Half a signature as a DER integer. */
static CK_ULONG integer(const CK_BYTE *half, CK_ULONG n, CK_BYTE *out)
{
	CK_ULONG zero;

	while (n > 1 && !*half)
		half++, n--;
	zero = *half >> 7;
	out[0] = 2;
	out[1] = (CK_BYTE)(n + zero);
	out[2] = 0;
	memcpy(out + 2 + zero, half, n);
	return 2 + zero + n;
}

/* For curves whose signatures have a length of one byte in DER. */
static CK_RV sign(CK_SESSION_HANDLE s, CK_BYTE *data, CK_ULONG n, CK_BYTE *out, CK_ULONG *length)
{
	CK_BYTE plain[132], der[160];
	CK_ULONG all = sizeof(plain), used;
	CK_RV rv;

	if (!signs_der[s % SESSIONS])
		return soft->C_Sign(s, data, n, out, length);
	if (!out || *length < 72) {
		*length = 72;
		return out ? CKR_BUFFER_TOO_SMALL : CKR_OK;
	}
	rv = soft->C_Sign(s, data, n, plain, &all);
	if (rv != CKR_OK)
		return rv;
	used = integer(plain, all / 2, der + 2);
	used += integer(plain + all / 2, all / 2, der + 2 + used);
	der[0] = 0x30;
	der[1] = (CK_BYTE)used;
	memcpy(out, der, *length = used + 2);
	return CKR_OK;
}

static CK_RV login(CK_SESSION_HANDLE s, CK_USER_TYPE user, CK_UTF8CHAR *pin, CK_ULONG n)
{
	const char *path = getenv("ODD_PINPAD");
	int fd;

	if (!path || user != CKU_USER)
		return soft->C_Login(s, user, pin, n);
	if (pin)
		return CKR_ARGUMENTS_BAD;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	CHECK(fd >= 0 && write(fd, ".", 1) == 1);
	close(fd);
	return soft->C_Login(s, user, (CK_UTF8CHAR *)getenv("PIN"), strlen(getenv("PIN")));
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	soft = load("/usr/lib/softhsm/libsofthsm2.so");
	list = *soft;
	list.C_CreateObject = odd_C_CreateObject;
	list.C_CopyObject = odd_C_CopyObject;
	list.C_GenerateKey = odd_C_GenerateKey;
	list.C_GenerateKeyPair = odd_C_GenerateKeyPair;
	list.C_UnwrapKey = odd_C_UnwrapKey;
	list.C_DeriveKey = odd_C_DeriveKey;
	list.C_WrapKey = odd_C_WrapKey;
	list.C_EncryptUpdate = odd_C_EncryptUpdate;
	list.C_DecryptUpdate = odd_C_DecryptUpdate;
	list.C_DigestUpdate = odd_C_DigestUpdate;
	list.C_SignUpdate = odd_C_SignUpdate;
	list.C_VerifyUpdate = odd_C_VerifyUpdate;
	list.C_DigestKey = odd_C_DigestKey;
	list.C_EncryptFinal = odd_C_EncryptFinal;
	list.C_DecryptFinal = odd_C_DecryptFinal;
	list.C_DigestFinal = odd_C_DigestFinal;
	list.C_SignFinal = odd_C_SignFinal;
	list.C_VerifyFinal = odd_C_VerifyFinal;
	list.C_SetAttributeValue = odd_C_SetAttributeValue;
	list.C_DestroyObject = odd_C_DestroyObject;
	list.C_SetPIN = odd_C_SetPIN;
	list.C_GetSlotList = slot_list;
	list.C_GetSlotInfo = slot_info;
	list.C_GetTokenInfo = token_info;
	list.C_OpenSession = open_session;
	list.C_CloseAllSessions = close_all;
	list.C_GetSessionInfo = session_info;
	list.C_GetMechanismList = mechanism_list;
	list.C_GetMechanismInfo = mechanism_info;
	list.C_SignInit = sign_init;
	list.C_Sign = sign;
	list.C_Login = login;
	*out = &list;
	return CKR_OK;
}
