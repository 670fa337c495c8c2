/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SoftHSM as an HSM is that several processes use: it does one call at a time,
 * and knows what the others have done. SoftHSM 2.6.1 itself loses track of what
 * two processes write into one token at the same time: who adds an object in the
 * very moment in which another one does takes both for its own and does not see
 * the other's (Generation.cpp), and who reads a file that is being written may
 * take the object for broken from then on (ObjectFile.cpp).
 */
#include <p11-kit/pkcs11.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

static CK_FUNCTION_LIST *soft, list;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of threads; the file is that of processes */
static int file = -1;
static CK_SLOT_ID slot = (CK_SLOT_ID)-1;

static void enter(void)
{
	char path[4096];
	CK_TOKEN_INFO info;

	pthread_mutex_lock(&turn);
	if (file < 0) {
		snprintf(path, sizeof(path), "%s.turn", getenv("SOFTHSM2_CONF"));
		file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	if (file < 0 || flock(file, LOCK_EX) != 0)
		abort();
	if (slot != (CK_SLOT_ID)-1)
		soft->C_GetTokenInfo(slot, &info); /* it looks for what has changed */
}

static CK_RV leave(CK_RV rv)
{
	flock(file, LOCK_UN);
	pthread_mutex_unlock(&turn);
	return rv;
}

#define IN_TURN(name, parameters, arguments)           \
	static CK_RV name parameters                   \
	{                                              \
		enter();                               \
		return leave(soft->C_##name arguments); \
	}

IN_TURN(Initialize, (void *a), (a))
IN_TURN(GetSlotList, (CK_BBOOL present, CK_SLOT_ID *out, CK_ULONG *n), (present, out, n))
IN_TURN(GetTokenInfo, (CK_SLOT_ID s, CK_TOKEN_INFO *out), (s, out))
IN_TURN(CloseSession, (CK_SESSION_HANDLE s), (s))
IN_TURN(CloseAllSessions, (CK_SLOT_ID s), (s))
IN_TURN(Login, (CK_SESSION_HANDLE s, CK_USER_TYPE u, CK_UTF8CHAR *pin, CK_ULONG n), (s, u, pin, n))
IN_TURN(Logout, (CK_SESSION_HANDLE s), (s))
IN_TURN(CreateObject, (CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o), (s, t, n, o))
IN_TURN(CopyObject, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o), (s, from, t, n, o))
IN_TURN(DestroyObject, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o), (s, o))
IN_TURN(GetAttributeValue, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n), (s, o, t, n))
IN_TURN(SetAttributeValue, (CK_SESSION_HANDLE s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n), (s, o, t, n))
IN_TURN(FindObjectsInit, (CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n), (s, t, n))
IN_TURN(SignInit, (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE k), (s, m, k))
IN_TURN(GenerateKey, (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o), (s, m, t, n, o))
IN_TURN(WrapKey, (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_OBJECT_HANDLE k, CK_BYTE *out, CK_ULONG *n), (s, m, by, k, out, n))
IN_TURN(UnwrapKey, (CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_BYTE *in, CK_ULONG size, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o), (s, m, by, in, size, t, n, o))

static CK_RV OpenSession(CK_SLOT_ID s, CK_FLAGS flags, void *application, CK_NOTIFY notify, CK_SESSION_HANDLE *out)
{
	enter();
	slot = s;
	return leave(soft->C_OpenSession(s, flags, application, notify, out));
}

static CK_RV Finalize(void *reserved)
{
	enter();
	slot = (CK_SLOT_ID)-1;
	return leave(soft->C_Finalize(reserved));
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	void *library = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW);
	CK_RV (*get)(CK_FUNCTION_LIST **);

	if (!library || !(get = (CK_RV (*)(CK_FUNCTION_LIST **))dlsym(library, "C_GetFunctionList")) || get(&soft) != CKR_OK)
		return CKR_GENERAL_ERROR;
	list = *soft;
	list.C_Initialize = Initialize;
	list.C_Finalize = Finalize;
	list.C_GetSlotList = GetSlotList;
	list.C_GetTokenInfo = GetTokenInfo;
	list.C_OpenSession = OpenSession;
	list.C_CloseSession = CloseSession;
	list.C_CloseAllSessions = CloseAllSessions;
	list.C_Login = Login;
	list.C_Logout = Logout;
	list.C_CreateObject = CreateObject;
	list.C_CopyObject = CopyObject;
	list.C_DestroyObject = DestroyObject;
	list.C_GetAttributeValue = GetAttributeValue;
	list.C_SetAttributeValue = SetAttributeValue;
	list.C_FindObjectsInit = FindObjectsInit;
	list.C_SignInit = SignInit;
	list.C_GenerateKey = GenerateKey;
	list.C_WrapKey = WrapKey;
	list.C_UnwrapKey = UnwrapKey;
	*out = &list;
	return CKR_OK;
}
