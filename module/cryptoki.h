/* SPDX-License-Identifier: Apache-2.0 */
/* The header of PKCS#11, whose functions are all that this library exports. */
#ifndef ONESLOT_CRYPTOKI_H
#define ONESLOT_CRYPTOKI_H

#pragma GCC visibility push(default)
#include <p11-kit/pkcs11.h>

/*
 * What PKCS#11 3.0 added (3.3, 5.4.5 ff., header pkcs11f.h of the standard).
 * Newer versions of the header above have it.
 */
#ifndef CKF_INTERFACE_FORK_SAFE

#define CKF_INTERFACE_FORK_SAFE 0x1UL
#define CKF_FIND_OBJECTS 0x40UL
#define CKR_OPERATION_CANCEL_FAILED 0x202UL

typedef struct {
	CK_CHAR *pInterfaceName;
	CK_VOID_PTR pFunctionList;	/* begins with its CK_VERSION */
	CK_FLAGS flags;
} CK_INTERFACE, *CK_INTERFACE_PTR, **CK_INTERFACE_PTR_PTR;

CK_RV C_GetInterfaceList(CK_INTERFACE_PTR, CK_ULONG_PTR);
CK_RV C_GetInterface(CK_UTF8CHAR_PTR, CK_VERSION_PTR, CK_INTERFACE_PTR_PTR, CK_FLAGS);
CK_RV C_LoginUser(CK_SESSION_HANDLE, CK_ULONG, CK_BYTE_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG);
CK_RV C_SessionCancel(CK_SESSION_HANDLE, CK_ULONG);
CK_RV C_MessageEncryptInit(CK_SESSION_HANDLE, CK_MECHANISM_PTR, CK_OBJECT_HANDLE);
CK_RV C_EncryptMessage(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG_PTR);
CK_RV C_EncryptMessageBegin(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG);
CK_RV C_EncryptMessageNext(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG_PTR, CK_ULONG);
CK_RV C_MessageEncryptFinal(CK_SESSION_HANDLE);
CK_RV C_MessageDecryptInit(CK_SESSION_HANDLE, CK_MECHANISM_PTR, CK_OBJECT_HANDLE);
CK_RV C_DecryptMessage(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG_PTR);
CK_RV C_DecryptMessageBegin(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG);
CK_RV C_DecryptMessageNext(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG_PTR, CK_ULONG);
CK_RV C_MessageDecryptFinal(CK_SESSION_HANDLE);
CK_RV C_MessageSignInit(CK_SESSION_HANDLE, CK_MECHANISM_PTR, CK_OBJECT_HANDLE);
CK_RV C_SignMessage(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG_PTR);
CK_RV C_SignMessageBegin(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG);
CK_RV C_SignMessageNext(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG_PTR);
CK_RV C_MessageSignFinal(CK_SESSION_HANDLE);
CK_RV C_MessageVerifyInit(CK_SESSION_HANDLE, CK_MECHANISM_PTR, CK_OBJECT_HANDLE);
CK_RV C_VerifyMessage(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG);
CK_RV C_VerifyMessageBegin(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG);
CK_RV C_VerifyMessageNext(CK_SESSION_HANDLE, CK_VOID_PTR, CK_ULONG, CK_BYTE_PTR, CK_ULONG,
		CK_BYTE_PTR, CK_ULONG);
CK_RV C_MessageVerifyFinal(CK_SESSION_HANDLE);

typedef struct {
	CK_VERSION version;

	/* As in CK_FUNCTION_LIST. */
	CK_C_Initialize C_Initialize;
	CK_C_Finalize C_Finalize;
	CK_C_GetInfo C_GetInfo;
	CK_C_GetFunctionList C_GetFunctionList;
	CK_C_GetSlotList C_GetSlotList;
	CK_C_GetSlotInfo C_GetSlotInfo;
	CK_C_GetTokenInfo C_GetTokenInfo;
	CK_C_GetMechanismList C_GetMechanismList;
	CK_C_GetMechanismInfo C_GetMechanismInfo;
	CK_C_InitToken C_InitToken;
	CK_C_InitPIN C_InitPIN;
	CK_C_SetPIN C_SetPIN;
	CK_C_OpenSession C_OpenSession;
	CK_C_CloseSession C_CloseSession;
	CK_C_CloseAllSessions C_CloseAllSessions;
	CK_C_GetSessionInfo C_GetSessionInfo;
	CK_C_GetOperationState C_GetOperationState;
	CK_C_SetOperationState C_SetOperationState;
	CK_C_Login C_Login;
	CK_C_Logout C_Logout;
	CK_C_CreateObject C_CreateObject;
	CK_C_CopyObject C_CopyObject;
	CK_C_DestroyObject C_DestroyObject;
	CK_C_GetObjectSize C_GetObjectSize;
	CK_C_GetAttributeValue C_GetAttributeValue;
	CK_C_SetAttributeValue C_SetAttributeValue;
	CK_C_FindObjectsInit C_FindObjectsInit;
	CK_C_FindObjects C_FindObjects;
	CK_C_FindObjectsFinal C_FindObjectsFinal;
	CK_C_EncryptInit C_EncryptInit;
	CK_C_Encrypt C_Encrypt;
	CK_C_EncryptUpdate C_EncryptUpdate;
	CK_C_EncryptFinal C_EncryptFinal;
	CK_C_DecryptInit C_DecryptInit;
	CK_C_Decrypt C_Decrypt;
	CK_C_DecryptUpdate C_DecryptUpdate;
	CK_C_DecryptFinal C_DecryptFinal;
	CK_C_DigestInit C_DigestInit;
	CK_C_Digest C_Digest;
	CK_C_DigestUpdate C_DigestUpdate;
	CK_C_DigestKey C_DigestKey;
	CK_C_DigestFinal C_DigestFinal;
	CK_C_SignInit C_SignInit;
	CK_C_Sign C_Sign;
	CK_C_SignUpdate C_SignUpdate;
	CK_C_SignFinal C_SignFinal;
	CK_C_SignRecoverInit C_SignRecoverInit;
	CK_C_SignRecover C_SignRecover;
	CK_C_VerifyInit C_VerifyInit;
	CK_C_Verify C_Verify;
	CK_C_VerifyUpdate C_VerifyUpdate;
	CK_C_VerifyFinal C_VerifyFinal;
	CK_C_VerifyRecoverInit C_VerifyRecoverInit;
	CK_C_VerifyRecover C_VerifyRecover;
	CK_C_DigestEncryptUpdate C_DigestEncryptUpdate;
	CK_C_DecryptDigestUpdate C_DecryptDigestUpdate;
	CK_C_SignEncryptUpdate C_SignEncryptUpdate;
	CK_C_DecryptVerifyUpdate C_DecryptVerifyUpdate;
	CK_C_GenerateKey C_GenerateKey;
	CK_C_GenerateKeyPair C_GenerateKeyPair;
	CK_C_WrapKey C_WrapKey;
	CK_C_UnwrapKey C_UnwrapKey;
	CK_C_DeriveKey C_DeriveKey;
	CK_C_SeedRandom C_SeedRandom;
	CK_C_GenerateRandom C_GenerateRandom;
	CK_C_GetFunctionStatus C_GetFunctionStatus;
	CK_C_CancelFunction C_CancelFunction;
	CK_C_WaitForSlotEvent C_WaitForSlotEvent;

	/* New. */
	__typeof__(C_GetInterfaceList) *C_GetInterfaceList;
	__typeof__(C_GetInterface) *C_GetInterface;
	__typeof__(C_LoginUser) *C_LoginUser;
	__typeof__(C_SessionCancel) *C_SessionCancel;
	__typeof__(C_MessageEncryptInit) *C_MessageEncryptInit;
	__typeof__(C_EncryptMessage) *C_EncryptMessage;
	__typeof__(C_EncryptMessageBegin) *C_EncryptMessageBegin;
	__typeof__(C_EncryptMessageNext) *C_EncryptMessageNext;
	__typeof__(C_MessageEncryptFinal) *C_MessageEncryptFinal;
	__typeof__(C_MessageDecryptInit) *C_MessageDecryptInit;
	__typeof__(C_DecryptMessage) *C_DecryptMessage;
	__typeof__(C_DecryptMessageBegin) *C_DecryptMessageBegin;
	__typeof__(C_DecryptMessageNext) *C_DecryptMessageNext;
	__typeof__(C_MessageDecryptFinal) *C_MessageDecryptFinal;
	__typeof__(C_MessageSignInit) *C_MessageSignInit;
	__typeof__(C_SignMessage) *C_SignMessage;
	__typeof__(C_SignMessageBegin) *C_SignMessageBegin;
	__typeof__(C_SignMessageNext) *C_SignMessageNext;
	__typeof__(C_MessageSignFinal) *C_MessageSignFinal;
	__typeof__(C_MessageVerifyInit) *C_MessageVerifyInit;
	__typeof__(C_VerifyMessage) *C_VerifyMessage;
	__typeof__(C_VerifyMessageBegin) *C_VerifyMessageBegin;
	__typeof__(C_VerifyMessageNext) *C_VerifyMessageNext;
	__typeof__(C_MessageVerifyFinal) *C_MessageVerifyFinal;
} CK_FUNCTION_LIST_3_0;

#endif
#pragma GCC visibility pop

#endif
