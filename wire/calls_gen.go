// SPDX-License-Identifier: Apache-2.0

// Code generated from calls.def and mechanisms.def by gen; DO NOT EDIT.

package wire

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
)

// The calls by number.
const (
	NumberInitialize          Number = 1
	NumberFinalize            Number = 2
	NumberGetInfo             Number = 3
	NumberGetFunctionList     Number = 4
	NumberGetSlotList         Number = 5
	NumberGetSlotInfo         Number = 6
	NumberGetTokenInfo        Number = 7
	NumberGetMechanismList    Number = 8
	NumberGetMechanismInfo    Number = 9
	NumberInitToken           Number = 10
	NumberInitPIN             Number = 11
	NumberSetPIN              Number = 12
	NumberOpenSession         Number = 13
	NumberCloseSession        Number = 14
	NumberCloseAllSessions    Number = 15
	NumberGetSessionInfo      Number = 16
	NumberGetOperationState   Number = 17
	NumberSetOperationState   Number = 18
	NumberLogin               Number = 19
	NumberLogout              Number = 20
	NumberCreateObject        Number = 21
	NumberCopyObject          Number = 22
	NumberDestroyObject       Number = 23
	NumberGetObjectSize       Number = 24
	NumberGetAttributeValue   Number = 25
	NumberSetAttributeValue   Number = 26
	NumberFindObjectsInit     Number = 27
	NumberFindObjects         Number = 28
	NumberFindObjectsFinal    Number = 29
	NumberEncryptInit         Number = 30
	NumberEncrypt             Number = 31
	NumberEncryptUpdate       Number = 32
	NumberEncryptFinal        Number = 33
	NumberDecryptInit         Number = 34
	NumberDecrypt             Number = 35
	NumberDecryptUpdate       Number = 36
	NumberDecryptFinal        Number = 37
	NumberDigestInit          Number = 38
	NumberDigest              Number = 39
	NumberDigestUpdate        Number = 40
	NumberDigestKey           Number = 41
	NumberDigestFinal         Number = 42
	NumberSignInit            Number = 43
	NumberSign                Number = 44
	NumberSignUpdate          Number = 45
	NumberSignFinal           Number = 46
	NumberSignRecoverInit     Number = 47
	NumberSignRecover         Number = 48
	NumberVerifyInit          Number = 49
	NumberVerify              Number = 50
	NumberVerifyUpdate        Number = 51
	NumberVerifyFinal         Number = 52
	NumberVerifyRecoverInit   Number = 53
	NumberVerifyRecover       Number = 54
	NumberDigestEncryptUpdate Number = 55
	NumberDecryptDigestUpdate Number = 56
	NumberSignEncryptUpdate   Number = 57
	NumberDecryptVerifyUpdate Number = 58
	NumberGenerateKey         Number = 59
	NumberGenerateKeyPair     Number = 60
	NumberWrapKey             Number = 61
	NumberUnwrapKey           Number = 62
	NumberDeriveKey           Number = 63
	NumberSeedRandom          Number = 64
	NumberGenerateRandom      Number = 65
	NumberGetFunctionStatus   Number = 66
	NumberCancelFunction      Number = 67
	NumberWaitForSlotEvent    Number = 68
	NumberLoginUser           Number = 69
	NumberSessionCancel       Number = 70
	NumberGetInterfaceList    Number = 71
	NumberGetInterface        Number = 72
	NumberHello               Number = 1000
	NumberAttach              Number = 1001
	NumberSignOnce            Number = 1002
	NumberVerifyOnce          Number = 1003
	NumberDecryptOnce         Number = 1004
	NumberDigestOnce          Number = 1005
	NumberEncryptOnce         Number = 1006
	NumberDescribe            Number = 1010
	NumberProbe               Number = 1011
	NumberFind                Number = 1012
	NumberIdentify            Number = 1013
	NumberResolve             Number = 1014
	NumberExport              Number = 1015
	NumberImport              Number = 1016
	NumberPublish             Number = 1017
	NumberJoin                Number = 1018
	NumberRecord              Number = 1020
	NumberRecords             Number = 1021
	NumberUnrecord            Number = 1022
)

var names = map[Number]string{
	1:    "C_Initialize",
	2:    "C_Finalize",
	3:    "C_GetInfo",
	4:    "C_GetFunctionList",
	5:    "C_GetSlotList",
	6:    "C_GetSlotInfo",
	7:    "C_GetTokenInfo",
	8:    "C_GetMechanismList",
	9:    "C_GetMechanismInfo",
	10:   "C_InitToken",
	11:   "C_InitPIN",
	12:   "C_SetPIN",
	13:   "C_OpenSession",
	14:   "C_CloseSession",
	15:   "C_CloseAllSessions",
	16:   "C_GetSessionInfo",
	17:   "C_GetOperationState",
	18:   "C_SetOperationState",
	19:   "C_Login",
	20:   "C_Logout",
	21:   "C_CreateObject",
	22:   "C_CopyObject",
	23:   "C_DestroyObject",
	24:   "C_GetObjectSize",
	25:   "C_GetAttributeValue",
	26:   "C_SetAttributeValue",
	27:   "C_FindObjectsInit",
	28:   "C_FindObjects",
	29:   "C_FindObjectsFinal",
	30:   "C_EncryptInit",
	31:   "C_Encrypt",
	32:   "C_EncryptUpdate",
	33:   "C_EncryptFinal",
	34:   "C_DecryptInit",
	35:   "C_Decrypt",
	36:   "C_DecryptUpdate",
	37:   "C_DecryptFinal",
	38:   "C_DigestInit",
	39:   "C_Digest",
	40:   "C_DigestUpdate",
	41:   "C_DigestKey",
	42:   "C_DigestFinal",
	43:   "C_SignInit",
	44:   "C_Sign",
	45:   "C_SignUpdate",
	46:   "C_SignFinal",
	47:   "C_SignRecoverInit",
	48:   "C_SignRecover",
	49:   "C_VerifyInit",
	50:   "C_Verify",
	51:   "C_VerifyUpdate",
	52:   "C_VerifyFinal",
	53:   "C_VerifyRecoverInit",
	54:   "C_VerifyRecover",
	55:   "C_DigestEncryptUpdate",
	56:   "C_DecryptDigestUpdate",
	57:   "C_SignEncryptUpdate",
	58:   "C_DecryptVerifyUpdate",
	59:   "C_GenerateKey",
	60:   "C_GenerateKeyPair",
	61:   "C_WrapKey",
	62:   "C_UnwrapKey",
	63:   "C_DeriveKey",
	64:   "C_SeedRandom",
	65:   "C_GenerateRandom",
	66:   "C_GetFunctionStatus",
	67:   "C_CancelFunction",
	68:   "C_WaitForSlotEvent",
	69:   "C_LoginUser",
	70:   "C_SessionCancel",
	71:   "C_GetInterfaceList",
	72:   "C_GetInterface",
	1000: "X_Hello",
	1001: "X_Attach",
	1002: "X_SignOnce",
	1003: "X_VerifyOnce",
	1004: "X_DecryptOnce",
	1005: "X_DigestOnce",
	1006: "X_EncryptOnce",
	1010: "X_Describe",
	1011: "X_Probe",
	1012: "X_Find",
	1013: "X_Identify",
	1014: "X_Resolve",
	1015: "X_Export",
	1016: "X_Import",
	1017: "X_Publish",
	1018: "X_Join",
	1020: "X_Record",
	1021: "X_Records",
	1022: "X_Unrecord",
}

var classes = map[Number]Class{
	1:    Module,
	2:    Module,
	3:    Local,
	4:    Module,
	5:    Local,
	6:    Local,
	7:    Local,
	8:    Local,
	9:    Local,
	10:   Make,
	11:   Make,
	12:   Make,
	13:   Local,
	14:   Local,
	15:   Local,
	16:   Local,
	17:   Local,
	18:   Local,
	19:   Make,
	20:   Make,
	21:   Make,
	22:   Make,
	23:   Make,
	24:   Ask,
	25:   Ask,
	26:   Make,
	27:   Ask,
	28:   Ask,
	29:   Local,
	30:   Use,
	31:   Use,
	32:   Use,
	33:   Use,
	34:   Use,
	35:   Use,
	36:   Use,
	37:   Use,
	38:   Use,
	39:   Use,
	40:   Use,
	41:   Use,
	42:   Use,
	43:   Use,
	44:   Use,
	45:   Use,
	46:   Use,
	47:   Use,
	48:   Use,
	49:   Use,
	50:   Use,
	51:   Use,
	52:   Use,
	53:   Use,
	54:   Use,
	55:   Use,
	56:   Use,
	57:   Use,
	58:   Use,
	59:   Make,
	60:   Make,
	61:   Use,
	62:   Make,
	63:   Make,
	64:   Use,
	65:   Use,
	66:   Module,
	67:   Module,
	68:   Local,
	69:   Make,
	70:   Local,
	71:   Module,
	72:   Module,
	1000: Local,
	1001: Local,
	1002: Use,
	1003: Use,
	1004: Use,
	1005: Use,
	1006: Use,
	1010: Ask,
	1011: Ask,
	1012: Ask,
	1013: Ask,
	1014: Ask,
	1015: Ask,
	1016: Make,
	1017: Make,
	1018: Make,
	1020: Make,
	1021: Ask,
	1022: Make,
}

// New returns an empty call of this number, or nil if there is none.
func New(n Number) Call {
	switch n {
	case 3:
		return new(GetInfo)
	case 5:
		return new(GetSlotList)
	case 6:
		return new(GetSlotInfo)
	case 7:
		return new(GetTokenInfo)
	case 8:
		return new(GetMechanismList)
	case 9:
		return new(GetMechanismInfo)
	case 10:
		return new(InitToken)
	case 11:
		return new(InitPIN)
	case 12:
		return new(SetPIN)
	case 13:
		return new(OpenSession)
	case 14:
		return new(CloseSession)
	case 15:
		return new(CloseAllSessions)
	case 16:
		return new(GetSessionInfo)
	case 17:
		return new(GetOperationState)
	case 18:
		return new(SetOperationState)
	case 19:
		return new(Login)
	case 20:
		return new(Logout)
	case 21:
		return new(CreateObject)
	case 22:
		return new(CopyObject)
	case 23:
		return new(DestroyObject)
	case 24:
		return new(GetObjectSize)
	case 25:
		return new(GetAttributeValue)
	case 26:
		return new(SetAttributeValue)
	case 27:
		return new(FindObjectsInit)
	case 28:
		return new(FindObjects)
	case 29:
		return new(FindObjectsFinal)
	case 30:
		return new(EncryptInit)
	case 31:
		return new(Encrypt)
	case 32:
		return new(EncryptUpdate)
	case 33:
		return new(EncryptFinal)
	case 34:
		return new(DecryptInit)
	case 35:
		return new(Decrypt)
	case 36:
		return new(DecryptUpdate)
	case 37:
		return new(DecryptFinal)
	case 38:
		return new(DigestInit)
	case 39:
		return new(Digest)
	case 40:
		return new(DigestUpdate)
	case 41:
		return new(DigestKey)
	case 42:
		return new(DigestFinal)
	case 43:
		return new(SignInit)
	case 44:
		return new(Sign)
	case 45:
		return new(SignUpdate)
	case 46:
		return new(SignFinal)
	case 47:
		return new(SignRecoverInit)
	case 48:
		return new(SignRecover)
	case 49:
		return new(VerifyInit)
	case 50:
		return new(Verify)
	case 51:
		return new(VerifyUpdate)
	case 52:
		return new(VerifyFinal)
	case 53:
		return new(VerifyRecoverInit)
	case 54:
		return new(VerifyRecover)
	case 55:
		return new(DigestEncryptUpdate)
	case 56:
		return new(DecryptDigestUpdate)
	case 57:
		return new(SignEncryptUpdate)
	case 58:
		return new(DecryptVerifyUpdate)
	case 59:
		return new(GenerateKey)
	case 60:
		return new(GenerateKeyPair)
	case 61:
		return new(WrapKey)
	case 62:
		return new(UnwrapKey)
	case 63:
		return new(DeriveKey)
	case 64:
		return new(SeedRandom)
	case 65:
		return new(GenerateRandom)
	case 68:
		return new(WaitForSlotEvent)
	case 69:
		return new(LoginUser)
	case 70:
		return new(SessionCancel)
	case 1000:
		return new(Hello)
	case 1001:
		return new(Attach)
	case 1002:
		return new(SignOnce)
	case 1003:
		return new(VerifyOnce)
	case 1004:
		return new(DecryptOnce)
	case 1005:
		return new(DigestOnce)
	case 1006:
		return new(EncryptOnce)
	case 1010:
		return new(Describe)
	case 1011:
		return new(Probe)
	case 1012:
		return new(Find)
	case 1013:
		return new(Identify)
	case 1014:
		return new(Resolve)
	case 1015:
		return new(Export)
	case 1016:
		return new(Import)
	case 1017:
		return new(Publish)
	case 1018:
		return new(Join)
	case 1020:
		return new(Record)
	case 1021:
		return new(Records)
	case 1022:
		return new(Unrecord)
	}
	return nil
}

// Cryptoki is whoever answers the functions of PKCS#11 that travel.
type Cryptoki interface {
	GetInfo(context.Context, *GetInfo) pkcs11.RV
	GetSlotList(context.Context, *GetSlotList) pkcs11.RV
	GetSlotInfo(context.Context, *GetSlotInfo) pkcs11.RV
	GetTokenInfo(context.Context, *GetTokenInfo) pkcs11.RV
	GetMechanismList(context.Context, *GetMechanismList) pkcs11.RV
	GetMechanismInfo(context.Context, *GetMechanismInfo) pkcs11.RV
	InitToken(context.Context, *InitToken) pkcs11.RV
	InitPIN(context.Context, *InitPIN) pkcs11.RV
	SetPIN(context.Context, *SetPIN) pkcs11.RV
	OpenSession(context.Context, *OpenSession) pkcs11.RV
	CloseSession(context.Context, *CloseSession) pkcs11.RV
	CloseAllSessions(context.Context, *CloseAllSessions) pkcs11.RV
	GetSessionInfo(context.Context, *GetSessionInfo) pkcs11.RV
	GetOperationState(context.Context, *GetOperationState) pkcs11.RV
	SetOperationState(context.Context, *SetOperationState) pkcs11.RV
	Login(context.Context, *Login) pkcs11.RV
	Logout(context.Context, *Logout) pkcs11.RV
	CreateObject(context.Context, *CreateObject) pkcs11.RV
	CopyObject(context.Context, *CopyObject) pkcs11.RV
	DestroyObject(context.Context, *DestroyObject) pkcs11.RV
	GetObjectSize(context.Context, *GetObjectSize) pkcs11.RV
	GetAttributeValue(context.Context, *GetAttributeValue) pkcs11.RV
	SetAttributeValue(context.Context, *SetAttributeValue) pkcs11.RV
	FindObjectsInit(context.Context, *FindObjectsInit) pkcs11.RV
	FindObjects(context.Context, *FindObjects) pkcs11.RV
	FindObjectsFinal(context.Context, *FindObjectsFinal) pkcs11.RV
	EncryptInit(context.Context, *EncryptInit) pkcs11.RV
	Encrypt(context.Context, *Encrypt) pkcs11.RV
	EncryptUpdate(context.Context, *EncryptUpdate) pkcs11.RV
	EncryptFinal(context.Context, *EncryptFinal) pkcs11.RV
	DecryptInit(context.Context, *DecryptInit) pkcs11.RV
	Decrypt(context.Context, *Decrypt) pkcs11.RV
	DecryptUpdate(context.Context, *DecryptUpdate) pkcs11.RV
	DecryptFinal(context.Context, *DecryptFinal) pkcs11.RV
	DigestInit(context.Context, *DigestInit) pkcs11.RV
	Digest(context.Context, *Digest) pkcs11.RV
	DigestUpdate(context.Context, *DigestUpdate) pkcs11.RV
	DigestKey(context.Context, *DigestKey) pkcs11.RV
	DigestFinal(context.Context, *DigestFinal) pkcs11.RV
	SignInit(context.Context, *SignInit) pkcs11.RV
	Sign(context.Context, *Sign) pkcs11.RV
	SignUpdate(context.Context, *SignUpdate) pkcs11.RV
	SignFinal(context.Context, *SignFinal) pkcs11.RV
	SignRecoverInit(context.Context, *SignRecoverInit) pkcs11.RV
	SignRecover(context.Context, *SignRecover) pkcs11.RV
	VerifyInit(context.Context, *VerifyInit) pkcs11.RV
	Verify(context.Context, *Verify) pkcs11.RV
	VerifyUpdate(context.Context, *VerifyUpdate) pkcs11.RV
	VerifyFinal(context.Context, *VerifyFinal) pkcs11.RV
	VerifyRecoverInit(context.Context, *VerifyRecoverInit) pkcs11.RV
	VerifyRecover(context.Context, *VerifyRecover) pkcs11.RV
	DigestEncryptUpdate(context.Context, *DigestEncryptUpdate) pkcs11.RV
	DecryptDigestUpdate(context.Context, *DecryptDigestUpdate) pkcs11.RV
	SignEncryptUpdate(context.Context, *SignEncryptUpdate) pkcs11.RV
	DecryptVerifyUpdate(context.Context, *DecryptVerifyUpdate) pkcs11.RV
	GenerateKey(context.Context, *GenerateKey) pkcs11.RV
	GenerateKeyPair(context.Context, *GenerateKeyPair) pkcs11.RV
	WrapKey(context.Context, *WrapKey) pkcs11.RV
	UnwrapKey(context.Context, *UnwrapKey) pkcs11.RV
	DeriveKey(context.Context, *DeriveKey) pkcs11.RV
	SeedRandom(context.Context, *SeedRandom) pkcs11.RV
	GenerateRandom(context.Context, *GenerateRandom) pkcs11.RV
	WaitForSlotEvent(context.Context, *WaitForSlotEvent) pkcs11.RV
	LoginUser(context.Context, *LoginUser) pkcs11.RV
	SessionCancel(context.Context, *SessionCancel) pkcs11.RV
}

// DispatchCryptoki has h answer the call, and sets its RV. False: the call is not h's to answer.
func DispatchCryptoki(ctx context.Context, h Cryptoki, call Call) bool {
	switch c := call.(type) {
	case *GetInfo:
		c.RV = h.GetInfo(ctx, c)
	case *GetSlotList:
		c.RV = h.GetSlotList(ctx, c)
	case *GetSlotInfo:
		c.RV = h.GetSlotInfo(ctx, c)
	case *GetTokenInfo:
		c.RV = h.GetTokenInfo(ctx, c)
	case *GetMechanismList:
		c.RV = h.GetMechanismList(ctx, c)
	case *GetMechanismInfo:
		c.RV = h.GetMechanismInfo(ctx, c)
	case *InitToken:
		c.RV = h.InitToken(ctx, c)
	case *InitPIN:
		c.RV = h.InitPIN(ctx, c)
	case *SetPIN:
		c.RV = h.SetPIN(ctx, c)
	case *OpenSession:
		c.RV = h.OpenSession(ctx, c)
	case *CloseSession:
		c.RV = h.CloseSession(ctx, c)
	case *CloseAllSessions:
		c.RV = h.CloseAllSessions(ctx, c)
	case *GetSessionInfo:
		c.RV = h.GetSessionInfo(ctx, c)
	case *GetOperationState:
		c.RV = h.GetOperationState(ctx, c)
	case *SetOperationState:
		c.RV = h.SetOperationState(ctx, c)
	case *Login:
		c.RV = h.Login(ctx, c)
	case *Logout:
		c.RV = h.Logout(ctx, c)
	case *CreateObject:
		c.RV = h.CreateObject(ctx, c)
	case *CopyObject:
		c.RV = h.CopyObject(ctx, c)
	case *DestroyObject:
		c.RV = h.DestroyObject(ctx, c)
	case *GetObjectSize:
		c.RV = h.GetObjectSize(ctx, c)
	case *GetAttributeValue:
		c.RV = h.GetAttributeValue(ctx, c)
	case *SetAttributeValue:
		c.RV = h.SetAttributeValue(ctx, c)
	case *FindObjectsInit:
		c.RV = h.FindObjectsInit(ctx, c)
	case *FindObjects:
		c.RV = h.FindObjects(ctx, c)
	case *FindObjectsFinal:
		c.RV = h.FindObjectsFinal(ctx, c)
	case *EncryptInit:
		c.RV = h.EncryptInit(ctx, c)
	case *Encrypt:
		c.RV = h.Encrypt(ctx, c)
	case *EncryptUpdate:
		c.RV = h.EncryptUpdate(ctx, c)
	case *EncryptFinal:
		c.RV = h.EncryptFinal(ctx, c)
	case *DecryptInit:
		c.RV = h.DecryptInit(ctx, c)
	case *Decrypt:
		c.RV = h.Decrypt(ctx, c)
	case *DecryptUpdate:
		c.RV = h.DecryptUpdate(ctx, c)
	case *DecryptFinal:
		c.RV = h.DecryptFinal(ctx, c)
	case *DigestInit:
		c.RV = h.DigestInit(ctx, c)
	case *Digest:
		c.RV = h.Digest(ctx, c)
	case *DigestUpdate:
		c.RV = h.DigestUpdate(ctx, c)
	case *DigestKey:
		c.RV = h.DigestKey(ctx, c)
	case *DigestFinal:
		c.RV = h.DigestFinal(ctx, c)
	case *SignInit:
		c.RV = h.SignInit(ctx, c)
	case *Sign:
		c.RV = h.Sign(ctx, c)
	case *SignUpdate:
		c.RV = h.SignUpdate(ctx, c)
	case *SignFinal:
		c.RV = h.SignFinal(ctx, c)
	case *SignRecoverInit:
		c.RV = h.SignRecoverInit(ctx, c)
	case *SignRecover:
		c.RV = h.SignRecover(ctx, c)
	case *VerifyInit:
		c.RV = h.VerifyInit(ctx, c)
	case *Verify:
		c.RV = h.Verify(ctx, c)
	case *VerifyUpdate:
		c.RV = h.VerifyUpdate(ctx, c)
	case *VerifyFinal:
		c.RV = h.VerifyFinal(ctx, c)
	case *VerifyRecoverInit:
		c.RV = h.VerifyRecoverInit(ctx, c)
	case *VerifyRecover:
		c.RV = h.VerifyRecover(ctx, c)
	case *DigestEncryptUpdate:
		c.RV = h.DigestEncryptUpdate(ctx, c)
	case *DecryptDigestUpdate:
		c.RV = h.DecryptDigestUpdate(ctx, c)
	case *SignEncryptUpdate:
		c.RV = h.SignEncryptUpdate(ctx, c)
	case *DecryptVerifyUpdate:
		c.RV = h.DecryptVerifyUpdate(ctx, c)
	case *GenerateKey:
		c.RV = h.GenerateKey(ctx, c)
	case *GenerateKeyPair:
		c.RV = h.GenerateKeyPair(ctx, c)
	case *WrapKey:
		c.RV = h.WrapKey(ctx, c)
	case *UnwrapKey:
		c.RV = h.UnwrapKey(ctx, c)
	case *DeriveKey:
		c.RV = h.DeriveKey(ctx, c)
	case *SeedRandom:
		c.RV = h.SeedRandom(ctx, c)
	case *GenerateRandom:
		c.RV = h.GenerateRandom(ctx, c)
	case *WaitForSlotEvent:
		c.RV = h.WaitForSlotEvent(ctx, c)
	case *LoginUser:
		c.RV = h.LoginUser(ctx, c)
	case *SessionCancel:
		c.RV = h.SessionCancel(ctx, c)
	default:
		return false
	}
	return true
}

// NoCryptoki answers every call with CKR_FUNCTION_NOT_SUPPORTED. Embed it and write
// the methods that are supported.
type NoCryptoki struct{}

func (NoCryptoki) GetInfo(context.Context, *GetInfo) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetSlotList(context.Context, *GetSlotList) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetSlotInfo(context.Context, *GetSlotInfo) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetTokenInfo(context.Context, *GetTokenInfo) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetMechanismList(context.Context, *GetMechanismList) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetMechanismInfo(context.Context, *GetMechanismInfo) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) InitToken(context.Context, *InitToken) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) InitPIN(context.Context, *InitPIN) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SetPIN(context.Context, *SetPIN) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) OpenSession(context.Context, *OpenSession) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) CloseSession(context.Context, *CloseSession) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) CloseAllSessions(context.Context, *CloseAllSessions) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetSessionInfo(context.Context, *GetSessionInfo) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetOperationState(context.Context, *GetOperationState) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SetOperationState(context.Context, *SetOperationState) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Login(context.Context, *Login) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoCryptoki) Logout(context.Context, *Logout) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) CreateObject(context.Context, *CreateObject) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) CopyObject(context.Context, *CopyObject) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DestroyObject(context.Context, *DestroyObject) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetObjectSize(context.Context, *GetObjectSize) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GetAttributeValue(context.Context, *GetAttributeValue) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SetAttributeValue(context.Context, *SetAttributeValue) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) FindObjectsInit(context.Context, *FindObjectsInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) FindObjects(context.Context, *FindObjects) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) FindObjectsFinal(context.Context, *FindObjectsFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) EncryptInit(context.Context, *EncryptInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Encrypt(context.Context, *Encrypt) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) EncryptUpdate(context.Context, *EncryptUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) EncryptFinal(context.Context, *EncryptFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DecryptInit(context.Context, *DecryptInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Decrypt(context.Context, *Decrypt) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DecryptUpdate(context.Context, *DecryptUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DecryptFinal(context.Context, *DecryptFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DigestInit(context.Context, *DigestInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Digest(context.Context, *Digest) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DigestUpdate(context.Context, *DigestUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DigestKey(context.Context, *DigestKey) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DigestFinal(context.Context, *DigestFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SignInit(context.Context, *SignInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Sign(context.Context, *Sign) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoCryptoki) SignUpdate(context.Context, *SignUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SignFinal(context.Context, *SignFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SignRecoverInit(context.Context, *SignRecoverInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SignRecover(context.Context, *SignRecover) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) VerifyInit(context.Context, *VerifyInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) Verify(context.Context, *Verify) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) VerifyUpdate(context.Context, *VerifyUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) VerifyFinal(context.Context, *VerifyFinal) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) VerifyRecoverInit(context.Context, *VerifyRecoverInit) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) VerifyRecover(context.Context, *VerifyRecover) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DigestEncryptUpdate(context.Context, *DigestEncryptUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DecryptDigestUpdate(context.Context, *DecryptDigestUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SignEncryptUpdate(context.Context, *SignEncryptUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DecryptVerifyUpdate(context.Context, *DecryptVerifyUpdate) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GenerateKey(context.Context, *GenerateKey) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GenerateKeyPair(context.Context, *GenerateKeyPair) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) WrapKey(context.Context, *WrapKey) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) UnwrapKey(context.Context, *UnwrapKey) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) DeriveKey(context.Context, *DeriveKey) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SeedRandom(context.Context, *SeedRandom) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) GenerateRandom(context.Context, *GenerateRandom) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) WaitForSlotEvent(context.Context, *WaitForSlotEvent) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) LoginUser(context.Context, *LoginUser) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoCryptoki) SessionCancel(context.Context, *SessionCancel) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}

// Once is whoever answers Init and what belongs to it in one call.
type Once interface {
	SignOnce(context.Context, *SignOnce) pkcs11.RV
	VerifyOnce(context.Context, *VerifyOnce) pkcs11.RV
	DecryptOnce(context.Context, *DecryptOnce) pkcs11.RV
	DigestOnce(context.Context, *DigestOnce) pkcs11.RV
	EncryptOnce(context.Context, *EncryptOnce) pkcs11.RV
}

// DispatchOnce has h answer the call, and sets its RV. False: the call is not h's to answer.
func DispatchOnce(ctx context.Context, h Once, call Call) bool {
	switch c := call.(type) {
	case *SignOnce:
		c.RV = h.SignOnce(ctx, c)
	case *VerifyOnce:
		c.RV = h.VerifyOnce(ctx, c)
	case *DecryptOnce:
		c.RV = h.DecryptOnce(ctx, c)
	case *DigestOnce:
		c.RV = h.DigestOnce(ctx, c)
	case *EncryptOnce:
		c.RV = h.EncryptOnce(ctx, c)
	default:
		return false
	}
	return true
}

// NoOnce answers every call with CKR_FUNCTION_NOT_SUPPORTED. Embed it and write
// the methods that are supported.
type NoOnce struct{}

func (NoOnce) SignOnce(context.Context, *SignOnce) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoOnce) VerifyOnce(context.Context, *VerifyOnce) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoOnce) DecryptOnce(context.Context, *DecryptOnce) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoOnce) DigestOnce(context.Context, *DigestOnce) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoOnce) EncryptOnce(context.Context, *EncryptOnce) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}

// Token is whoever answers the calls beyond PKCS#11 that a member answers.
type Token interface {
	Describe(context.Context, *Describe) pkcs11.RV
	Probe(context.Context, *Probe) pkcs11.RV
	Find(context.Context, *Find) pkcs11.RV
	Identify(context.Context, *Identify) pkcs11.RV
	Resolve(context.Context, *Resolve) pkcs11.RV
	Export(context.Context, *Export) pkcs11.RV
	Import(context.Context, *Import) pkcs11.RV
	Publish(context.Context, *Publish) pkcs11.RV
	Join(context.Context, *Join) pkcs11.RV
	Record(context.Context, *Record) pkcs11.RV
	Records(context.Context, *Records) pkcs11.RV
	Unrecord(context.Context, *Unrecord) pkcs11.RV
}

// DispatchToken has h answer the call, and sets its RV. False: the call is not h's to answer.
func DispatchToken(ctx context.Context, h Token, call Call) bool {
	switch c := call.(type) {
	case *Describe:
		c.RV = h.Describe(ctx, c)
	case *Probe:
		c.RV = h.Probe(ctx, c)
	case *Find:
		c.RV = h.Find(ctx, c)
	case *Identify:
		c.RV = h.Identify(ctx, c)
	case *Resolve:
		c.RV = h.Resolve(ctx, c)
	case *Export:
		c.RV = h.Export(ctx, c)
	case *Import:
		c.RV = h.Import(ctx, c)
	case *Publish:
		c.RV = h.Publish(ctx, c)
	case *Join:
		c.RV = h.Join(ctx, c)
	case *Record:
		c.RV = h.Record(ctx, c)
	case *Records:
		c.RV = h.Records(ctx, c)
	case *Unrecord:
		c.RV = h.Unrecord(ctx, c)
	default:
		return false
	}
	return true
}

// NoToken answers every call with CKR_FUNCTION_NOT_SUPPORTED. Embed it and write
// the methods that are supported.
type NoToken struct{}

func (NoToken) Describe(context.Context, *Describe) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoToken) Probe(context.Context, *Probe) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Find(context.Context, *Find) pkcs11.RV   { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Identify(context.Context, *Identify) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}
func (NoToken) Resolve(context.Context, *Resolve) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Export(context.Context, *Export) pkcs11.RV   { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Import(context.Context, *Import) pkcs11.RV   { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Publish(context.Context, *Publish) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Join(context.Context, *Join) pkcs11.RV       { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Record(context.Context, *Record) pkcs11.RV   { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Records(context.Context, *Records) pkcs11.RV { return pkcs11.CKR_FUNCTION_NOT_SUPPORTED }
func (NoToken) Unrecord(context.Context, *Unrecord) pkcs11.RV {
	return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
}

// GetInfo is C_GetInfo, its arguments and its reply.
type GetInfo struct {
	Answer
	Info pkcs11.Info
}

func (*GetInfo) Number() Number { return 3 }

func (c *GetInfo) encodeArgs(x *Encoder) {
}

func (c *GetInfo) encodeReply(x *Encoder) {
	x.Info(c.Info)
}

func (c *GetInfo) decodeArgs(x *Decoder) {
}

func (c *GetInfo) decodeReply(x *Decoder) {
	c.Info = x.Info()
}

// GetSlotList is C_GetSlotList, its arguments and its reply.
type GetSlotList struct {
	Answer
	Present   bool
	SlotsRoom Room
	Slots     Ulongs
}

func (*GetSlotList) Number() Number { return 5 }

func (c *GetSlotList) encodeArgs(x *Encoder) {
	x.Bool(c.Present)
	x.Room(c.SlotsRoom)
}

func (c *GetSlotList) encodeReply(x *Encoder) {
	x.Ulongs(c.Slots)
}

func (c *GetSlotList) decodeArgs(x *Decoder) {
	c.Present = x.Bool()
	c.SlotsRoom = x.Room()
}

func (c *GetSlotList) decodeReply(x *Decoder) {
	c.Slots = x.Ulongs()
}

// GetSlotInfo is C_GetSlotInfo, its arguments and its reply.
type GetSlotInfo struct {
	Answer
	Slot uint64
	Info pkcs11.SlotInfo
}

func (*GetSlotInfo) Number() Number { return 6 }

func (c *GetSlotInfo) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
}

func (c *GetSlotInfo) encodeReply(x *Encoder) {
	x.SlotInfo(c.Info)
}

func (c *GetSlotInfo) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
}

func (c *GetSlotInfo) decodeReply(x *Decoder) {
	c.Info = x.SlotInfo()
}

// GetTokenInfo is C_GetTokenInfo, its arguments and its reply.
type GetTokenInfo struct {
	Answer
	Slot uint64
	Info pkcs11.TokenInfo
}

func (*GetTokenInfo) Number() Number { return 7 }

func (c *GetTokenInfo) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
}

func (c *GetTokenInfo) encodeReply(x *Encoder) {
	x.TokenInfo(c.Info)
}

func (c *GetTokenInfo) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
}

func (c *GetTokenInfo) decodeReply(x *Decoder) {
	c.Info = x.TokenInfo()
}

// GetMechanismList is C_GetMechanismList, its arguments and its reply.
type GetMechanismList struct {
	Answer
	Slot           uint64
	MechanismsRoom Room
	Mechanisms     Ulongs
}

func (*GetMechanismList) Number() Number { return 8 }

func (c *GetMechanismList) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
	x.Room(c.MechanismsRoom)
}

func (c *GetMechanismList) encodeReply(x *Encoder) {
	x.Ulongs(c.Mechanisms)
}

func (c *GetMechanismList) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
	c.MechanismsRoom = x.Room()
}

func (c *GetMechanismList) decodeReply(x *Decoder) {
	c.Mechanisms = x.Ulongs()
}

// GetMechanismInfo is C_GetMechanismInfo, its arguments and its reply.
type GetMechanismInfo struct {
	Answer
	Slot uint64
	Kind uint64
	Info pkcs11.MechanismInfo
}

func (*GetMechanismInfo) Number() Number { return 9 }

func (c *GetMechanismInfo) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
	x.Ulong(c.Kind)
}

func (c *GetMechanismInfo) encodeReply(x *Encoder) {
	x.MechanismInfo(c.Info)
}

func (c *GetMechanismInfo) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
	c.Kind = x.Ulong()
}

func (c *GetMechanismInfo) decodeReply(x *Decoder) {
	c.Info = x.MechanismInfo()
}

// InitToken is C_InitToken, its arguments and its reply.
type InitToken struct {
	Answer
	Slot  uint64
	Pin   pkcs11.PIN
	Label Bytes
}

func (*InitToken) Number() Number { return 10 }

func (c *InitToken) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
	x.PIN(c.Pin)
	x.Bytes(c.Label)
}

func (c *InitToken) encodeReply(x *Encoder) {
}

func (c *InitToken) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
	c.Pin = x.PIN()
	c.Label = x.Bytes()
}

func (c *InitToken) decodeReply(x *Decoder) {
}

// InitPIN is C_InitPIN, its arguments and its reply.
type InitPIN struct {
	Answer
	Session uint64
	Pin     pkcs11.PIN
}

func (*InitPIN) Number() Number { return 11 }

func (c *InitPIN) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.PIN(c.Pin)
}

func (c *InitPIN) encodeReply(x *Encoder) {
}

func (c *InitPIN) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Pin = x.PIN()
}

func (c *InitPIN) decodeReply(x *Decoder) {
}

// SetPIN is C_SetPIN, its arguments and its reply.
type SetPIN struct {
	Answer
	Session uint64
	Old     pkcs11.PIN
	New     pkcs11.PIN
}

func (*SetPIN) Number() Number { return 12 }

func (c *SetPIN) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.PIN(c.Old)
	x.PIN(c.New)
}

func (c *SetPIN) encodeReply(x *Encoder) {
}

func (c *SetPIN) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Old = x.PIN()
	c.New = x.PIN()
}

func (c *SetPIN) decodeReply(x *Decoder) {
}

// OpenSession is C_OpenSession, its arguments and its reply.
type OpenSession struct {
	Answer
	Slot    uint64
	Flags   uint64
	Session uint64
}

func (*OpenSession) Number() Number { return 13 }

func (c *OpenSession) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
	x.Ulong(c.Flags)
}

func (c *OpenSession) encodeReply(x *Encoder) {
	x.Ulong(c.Session)
}

func (c *OpenSession) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
	c.Flags = x.Ulong()
}

func (c *OpenSession) decodeReply(x *Decoder) {
	c.Session = x.Ulong()
}

// CloseSession is C_CloseSession, its arguments and its reply.
type CloseSession struct {
	Answer
	Session uint64
}

func (*CloseSession) Number() Number { return 14 }

func (c *CloseSession) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
}

func (c *CloseSession) encodeReply(x *Encoder) {
}

func (c *CloseSession) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
}

func (c *CloseSession) decodeReply(x *Decoder) {
}

// CloseAllSessions is C_CloseAllSessions, its arguments and its reply.
type CloseAllSessions struct {
	Answer
	Slot uint64
}

func (*CloseAllSessions) Number() Number { return 15 }

func (c *CloseAllSessions) encodeArgs(x *Encoder) {
	x.Ulong(c.Slot)
}

func (c *CloseAllSessions) encodeReply(x *Encoder) {
}

func (c *CloseAllSessions) decodeArgs(x *Decoder) {
	c.Slot = x.Ulong()
}

func (c *CloseAllSessions) decodeReply(x *Decoder) {
}

// GetSessionInfo is C_GetSessionInfo, its arguments and its reply.
type GetSessionInfo struct {
	Answer
	Session uint64
	Info    pkcs11.SessionInfo
}

func (*GetSessionInfo) Number() Number { return 16 }

func (c *GetSessionInfo) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
}

func (c *GetSessionInfo) encodeReply(x *Encoder) {
	x.SessionInfo(c.Info)
}

func (c *GetSessionInfo) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
}

func (c *GetSessionInfo) decodeReply(x *Decoder) {
	c.Info = x.SessionInfo()
}

// GetOperationState is C_GetOperationState, its arguments and its reply.
type GetOperationState struct {
	Answer
	Session   uint64
	StateRoom Room
	State     Bytes
}

func (*GetOperationState) Number() Number { return 17 }

func (c *GetOperationState) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.StateRoom)
}

func (c *GetOperationState) encodeReply(x *Encoder) {
	x.Bytes(c.State)
}

func (c *GetOperationState) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.StateRoom = x.Room()
}

func (c *GetOperationState) decodeReply(x *Decoder) {
	c.State = x.Bytes()
}

// SetOperationState is C_SetOperationState, its arguments and its reply.
type SetOperationState struct {
	Answer
	Session        uint64
	State          Bytes
	Encryption     uint64
	Authentication uint64
}

func (*SetOperationState) Number() Number { return 18 }

func (c *SetOperationState) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.State)
	x.Ulong(c.Encryption)
	x.Ulong(c.Authentication)
}

func (c *SetOperationState) encodeReply(x *Encoder) {
}

func (c *SetOperationState) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.State = x.Bytes()
	c.Encryption = x.Ulong()
	c.Authentication = x.Ulong()
}

func (c *SetOperationState) decodeReply(x *Decoder) {
}

// Login is C_Login, its arguments and its reply.
type Login struct {
	Answer
	Session uint64
	User    uint64
	Pin     pkcs11.PIN
}

func (*Login) Number() Number { return 19 }

func (c *Login) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.User)
	x.PIN(c.Pin)
}

func (c *Login) encodeReply(x *Encoder) {
}

func (c *Login) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.User = x.Ulong()
	c.Pin = x.PIN()
}

func (c *Login) decodeReply(x *Decoder) {
}

// Logout is C_Logout, its arguments and its reply.
type Logout struct {
	Answer
	Session uint64
}

func (*Logout) Number() Number { return 20 }

func (c *Logout) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
}

func (c *Logout) encodeReply(x *Encoder) {
}

func (c *Logout) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
}

func (c *Logout) decodeReply(x *Decoder) {
}

// CreateObject is C_CreateObject, its arguments and its reply.
type CreateObject struct {
	Answer
	Session  uint64
	Template pkcs11.Template
	Object   uint64
}

func (*CreateObject) Number() Number { return 21 }

func (c *CreateObject) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Template(c.Template)
}

func (c *CreateObject) encodeReply(x *Encoder) {
	x.Ulong(c.Object)
}

func (c *CreateObject) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Template = x.Template()
}

func (c *CreateObject) decodeReply(x *Decoder) {
	c.Object = x.Ulong()
}

// CopyObject is C_CopyObject, its arguments and its reply.
type CopyObject struct {
	Answer
	Session  uint64
	Source   uint64
	Template pkcs11.Template
	Object   uint64
}

func (*CopyObject) Number() Number { return 22 }

func (c *CopyObject) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Source)
	x.Template(c.Template)
}

func (c *CopyObject) encodeReply(x *Encoder) {
	x.Ulong(c.Object)
}

func (c *CopyObject) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Source = x.Ulong()
	c.Template = x.Template()
}

func (c *CopyObject) decodeReply(x *Decoder) {
	c.Object = x.Ulong()
}

// DestroyObject is C_DestroyObject, its arguments and its reply.
type DestroyObject struct {
	Answer
	Session uint64
	Object  uint64
}

func (*DestroyObject) Number() Number { return 23 }

func (c *DestroyObject) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Object)
}

func (c *DestroyObject) encodeReply(x *Encoder) {
}

func (c *DestroyObject) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Object = x.Ulong()
}

func (c *DestroyObject) decodeReply(x *Decoder) {
}

// GetObjectSize is C_GetObjectSize, its arguments and its reply.
type GetObjectSize struct {
	Answer
	Session uint64
	Object  uint64
	Size    uint64
}

func (*GetObjectSize) Number() Number { return 24 }

func (c *GetObjectSize) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Object)
}

func (c *GetObjectSize) encodeReply(x *Encoder) {
	x.Ulong(c.Size)
}

func (c *GetObjectSize) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Object = x.Ulong()
}

func (c *GetObjectSize) decodeReply(x *Decoder) {
	c.Size = x.Ulong()
}

// GetAttributeValue is C_GetAttributeValue, its arguments and its reply.
type GetAttributeValue struct {
	Answer
	Session uint64
	Object  uint64
	Query   Query
	Values  Values
}

func (*GetAttributeValue) Number() Number { return 25 }

func (c *GetAttributeValue) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Object)
	x.Query(c.Query)
}

func (c *GetAttributeValue) encodeReply(x *Encoder) {
	x.Values(c.Values)
}

func (c *GetAttributeValue) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Object = x.Ulong()
	c.Query = x.Query()
}

func (c *GetAttributeValue) decodeReply(x *Decoder) {
	c.Values = x.Values()
}

// SetAttributeValue is C_SetAttributeValue, its arguments and its reply.
type SetAttributeValue struct {
	Answer
	Session  uint64
	Object   uint64
	Template pkcs11.Template
}

func (*SetAttributeValue) Number() Number { return 26 }

func (c *SetAttributeValue) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Object)
	x.Template(c.Template)
}

func (c *SetAttributeValue) encodeReply(x *Encoder) {
}

func (c *SetAttributeValue) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Object = x.Ulong()
	c.Template = x.Template()
}

func (c *SetAttributeValue) decodeReply(x *Decoder) {
}

// FindObjectsInit is C_FindObjectsInit, its arguments and its reply.
type FindObjectsInit struct {
	Answer
	Session  uint64
	Template pkcs11.Template
}

func (*FindObjectsInit) Number() Number { return 27 }

func (c *FindObjectsInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Template(c.Template)
}

func (c *FindObjectsInit) encodeReply(x *Encoder) {
}

func (c *FindObjectsInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Template = x.Template()
}

func (c *FindObjectsInit) decodeReply(x *Decoder) {
}

// FindObjects is C_FindObjects, its arguments and its reply.
type FindObjects struct {
	Answer
	Session     uint64
	ObjectsRoom Room
	Objects     Ulongs
}

func (*FindObjects) Number() Number { return 28 }

func (c *FindObjects) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.ObjectsRoom)
}

func (c *FindObjects) encodeReply(x *Encoder) {
	x.Ulongs(c.Objects)
}

func (c *FindObjects) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.ObjectsRoom = x.Room()
}

func (c *FindObjects) decodeReply(x *Decoder) {
	c.Objects = x.Ulongs()
}

// FindObjectsFinal is C_FindObjectsFinal, its arguments and its reply.
type FindObjectsFinal struct {
	Answer
	Session uint64
}

func (*FindObjectsFinal) Number() Number { return 29 }

func (c *FindObjectsFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
}

func (c *FindObjectsFinal) encodeReply(x *Encoder) {
}

func (c *FindObjectsFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
}

func (c *FindObjectsFinal) decodeReply(x *Decoder) {
}

// EncryptInit is C_EncryptInit, its arguments and its reply.
type EncryptInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
	Returned  Bytes
}

func (*EncryptInit) Number() Number { return 30 }

func (c *EncryptInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *EncryptInit) encodeReply(x *Encoder) {
	x.Bytes(c.Returned)
}

func (c *EncryptInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *EncryptInit) decodeReply(x *Decoder) {
	c.Returned = x.Bytes()
}

// Encrypt is C_Encrypt, its arguments and its reply.
type Encrypt struct {
	Answer
	Session       uint64
	Data          Bytes
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*Encrypt) Number() Number { return 31 }

func (c *Encrypt) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Data)
	x.Room(c.EncryptedRoom)
}

func (c *Encrypt) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *Encrypt) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Data = x.Bytes()
	c.EncryptedRoom = x.Room()
}

func (c *Encrypt) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// EncryptUpdate is C_EncryptUpdate, its arguments and its reply.
type EncryptUpdate struct {
	Answer
	Session       uint64
	Part          Bytes
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*EncryptUpdate) Number() Number { return 32 }

func (c *EncryptUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
	x.Room(c.EncryptedRoom)
}

func (c *EncryptUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *EncryptUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
	c.EncryptedRoom = x.Room()
}

func (c *EncryptUpdate) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// EncryptFinal is C_EncryptFinal, its arguments and its reply.
type EncryptFinal struct {
	Answer
	Session       uint64
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*EncryptFinal) Number() Number { return 33 }

func (c *EncryptFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.EncryptedRoom)
}

func (c *EncryptFinal) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *EncryptFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.EncryptedRoom = x.Room()
}

func (c *EncryptFinal) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// DecryptInit is C_DecryptInit, its arguments and its reply.
type DecryptInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
}

func (*DecryptInit) Number() Number { return 34 }

func (c *DecryptInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *DecryptInit) encodeReply(x *Encoder) {
}

func (c *DecryptInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *DecryptInit) decodeReply(x *Decoder) {
}

// Decrypt is C_Decrypt, its arguments and its reply.
type Decrypt struct {
	Answer
	Session   uint64
	Encrypted Bytes
	DataRoom  Room
	Data      Bytes
}

func (*Decrypt) Number() Number { return 35 }

func (c *Decrypt) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Encrypted)
	x.Room(c.DataRoom)
}

func (c *Decrypt) encodeReply(x *Encoder) {
	x.Bytes(c.Data)
}

func (c *Decrypt) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Encrypted = x.Bytes()
	c.DataRoom = x.Room()
}

func (c *Decrypt) decodeReply(x *Decoder) {
	c.Data = x.Bytes()
}

// DecryptUpdate is C_DecryptUpdate, its arguments and its reply.
type DecryptUpdate struct {
	Answer
	Session   uint64
	Encrypted Bytes
	PartRoom  Room
	Part      Bytes
}

func (*DecryptUpdate) Number() Number { return 36 }

func (c *DecryptUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Encrypted)
	x.Room(c.PartRoom)
}

func (c *DecryptUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Part)
}

func (c *DecryptUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Encrypted = x.Bytes()
	c.PartRoom = x.Room()
}

func (c *DecryptUpdate) decodeReply(x *Decoder) {
	c.Part = x.Bytes()
}

// DecryptFinal is C_DecryptFinal, its arguments and its reply.
type DecryptFinal struct {
	Answer
	Session  uint64
	PartRoom Room
	Part     Bytes
}

func (*DecryptFinal) Number() Number { return 37 }

func (c *DecryptFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.PartRoom)
}

func (c *DecryptFinal) encodeReply(x *Encoder) {
	x.Bytes(c.Part)
}

func (c *DecryptFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.PartRoom = x.Room()
}

func (c *DecryptFinal) decodeReply(x *Decoder) {
	c.Part = x.Bytes()
}

// DigestInit is C_DigestInit, its arguments and its reply.
type DigestInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
}

func (*DigestInit) Number() Number { return 38 }

func (c *DigestInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
}

func (c *DigestInit) encodeReply(x *Encoder) {
}

func (c *DigestInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
}

func (c *DigestInit) decodeReply(x *Decoder) {
}

// Digest is C_Digest, its arguments and its reply.
type Digest struct {
	Answer
	Session    uint64
	Data       Bytes
	DigestRoom Room
	Digest     Bytes
}

func (*Digest) Number() Number { return 39 }

func (c *Digest) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Data)
	x.Room(c.DigestRoom)
}

func (c *Digest) encodeReply(x *Encoder) {
	x.Bytes(c.Digest)
}

func (c *Digest) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Data = x.Bytes()
	c.DigestRoom = x.Room()
}

func (c *Digest) decodeReply(x *Decoder) {
	c.Digest = x.Bytes()
}

// DigestUpdate is C_DigestUpdate, its arguments and its reply.
type DigestUpdate struct {
	Answer
	Session uint64
	Part    Bytes
}

func (*DigestUpdate) Number() Number { return 40 }

func (c *DigestUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
}

func (c *DigestUpdate) encodeReply(x *Encoder) {
}

func (c *DigestUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
}

func (c *DigestUpdate) decodeReply(x *Decoder) {
}

// DigestKey is C_DigestKey, its arguments and its reply.
type DigestKey struct {
	Answer
	Session uint64
	Key     uint64
}

func (*DigestKey) Number() Number { return 41 }

func (c *DigestKey) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Key)
}

func (c *DigestKey) encodeReply(x *Encoder) {
}

func (c *DigestKey) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Key = x.Ulong()
}

func (c *DigestKey) decodeReply(x *Decoder) {
}

// DigestFinal is C_DigestFinal, its arguments and its reply.
type DigestFinal struct {
	Answer
	Session    uint64
	DigestRoom Room
	Digest     Bytes
}

func (*DigestFinal) Number() Number { return 42 }

func (c *DigestFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.DigestRoom)
}

func (c *DigestFinal) encodeReply(x *Encoder) {
	x.Bytes(c.Digest)
}

func (c *DigestFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.DigestRoom = x.Room()
}

func (c *DigestFinal) decodeReply(x *Decoder) {
	c.Digest = x.Bytes()
}

// SignInit is C_SignInit, its arguments and its reply.
type SignInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
}

func (*SignInit) Number() Number { return 43 }

func (c *SignInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *SignInit) encodeReply(x *Encoder) {
}

func (c *SignInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *SignInit) decodeReply(x *Decoder) {
}

// Sign is C_Sign, its arguments and its reply.
type Sign struct {
	Answer
	Session       uint64
	Data          Bytes
	SignatureRoom Room
	Signature     Bytes
}

func (*Sign) Number() Number { return 44 }

func (c *Sign) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Data)
	x.Room(c.SignatureRoom)
}

func (c *Sign) encodeReply(x *Encoder) {
	x.Bytes(c.Signature)
}

func (c *Sign) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Data = x.Bytes()
	c.SignatureRoom = x.Room()
}

func (c *Sign) decodeReply(x *Decoder) {
	c.Signature = x.Bytes()
}

// SignUpdate is C_SignUpdate, its arguments and its reply.
type SignUpdate struct {
	Answer
	Session uint64
	Part    Bytes
}

func (*SignUpdate) Number() Number { return 45 }

func (c *SignUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
}

func (c *SignUpdate) encodeReply(x *Encoder) {
}

func (c *SignUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
}

func (c *SignUpdate) decodeReply(x *Decoder) {
}

// SignFinal is C_SignFinal, its arguments and its reply.
type SignFinal struct {
	Answer
	Session       uint64
	SignatureRoom Room
	Signature     Bytes
}

func (*SignFinal) Number() Number { return 46 }

func (c *SignFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.SignatureRoom)
}

func (c *SignFinal) encodeReply(x *Encoder) {
	x.Bytes(c.Signature)
}

func (c *SignFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.SignatureRoom = x.Room()
}

func (c *SignFinal) decodeReply(x *Decoder) {
	c.Signature = x.Bytes()
}

// SignRecoverInit is C_SignRecoverInit, its arguments and its reply.
type SignRecoverInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
}

func (*SignRecoverInit) Number() Number { return 47 }

func (c *SignRecoverInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *SignRecoverInit) encodeReply(x *Encoder) {
}

func (c *SignRecoverInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *SignRecoverInit) decodeReply(x *Decoder) {
}

// SignRecover is C_SignRecover, its arguments and its reply.
type SignRecover struct {
	Answer
	Session       uint64
	Data          Bytes
	SignatureRoom Room
	Signature     Bytes
}

func (*SignRecover) Number() Number { return 48 }

func (c *SignRecover) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Data)
	x.Room(c.SignatureRoom)
}

func (c *SignRecover) encodeReply(x *Encoder) {
	x.Bytes(c.Signature)
}

func (c *SignRecover) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Data = x.Bytes()
	c.SignatureRoom = x.Room()
}

func (c *SignRecover) decodeReply(x *Decoder) {
	c.Signature = x.Bytes()
}

// VerifyInit is C_VerifyInit, its arguments and its reply.
type VerifyInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
}

func (*VerifyInit) Number() Number { return 49 }

func (c *VerifyInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *VerifyInit) encodeReply(x *Encoder) {
}

func (c *VerifyInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *VerifyInit) decodeReply(x *Decoder) {
}

// Verify is C_Verify, its arguments and its reply.
type Verify struct {
	Answer
	Session   uint64
	Data      Bytes
	Signature Bytes
}

func (*Verify) Number() Number { return 50 }

func (c *Verify) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Data)
	x.Bytes(c.Signature)
}

func (c *Verify) encodeReply(x *Encoder) {
}

func (c *Verify) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Data = x.Bytes()
	c.Signature = x.Bytes()
}

func (c *Verify) decodeReply(x *Decoder) {
}

// VerifyUpdate is C_VerifyUpdate, its arguments and its reply.
type VerifyUpdate struct {
	Answer
	Session uint64
	Part    Bytes
}

func (*VerifyUpdate) Number() Number { return 51 }

func (c *VerifyUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
}

func (c *VerifyUpdate) encodeReply(x *Encoder) {
}

func (c *VerifyUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
}

func (c *VerifyUpdate) decodeReply(x *Decoder) {
}

// VerifyFinal is C_VerifyFinal, its arguments and its reply.
type VerifyFinal struct {
	Answer
	Session   uint64
	Signature Bytes
}

func (*VerifyFinal) Number() Number { return 52 }

func (c *VerifyFinal) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Signature)
}

func (c *VerifyFinal) encodeReply(x *Encoder) {
}

func (c *VerifyFinal) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Signature = x.Bytes()
}

func (c *VerifyFinal) decodeReply(x *Decoder) {
}

// VerifyRecoverInit is C_VerifyRecoverInit, its arguments and its reply.
type VerifyRecoverInit struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
}

func (*VerifyRecoverInit) Number() Number { return 53 }

func (c *VerifyRecoverInit) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
}

func (c *VerifyRecoverInit) encodeReply(x *Encoder) {
}

func (c *VerifyRecoverInit) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
}

func (c *VerifyRecoverInit) decodeReply(x *Decoder) {
}

// VerifyRecover is C_VerifyRecover, its arguments and its reply.
type VerifyRecover struct {
	Answer
	Session   uint64
	Signature Bytes
	DataRoom  Room
	Data      Bytes
}

func (*VerifyRecover) Number() Number { return 54 }

func (c *VerifyRecover) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Signature)
	x.Room(c.DataRoom)
}

func (c *VerifyRecover) encodeReply(x *Encoder) {
	x.Bytes(c.Data)
}

func (c *VerifyRecover) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Signature = x.Bytes()
	c.DataRoom = x.Room()
}

func (c *VerifyRecover) decodeReply(x *Decoder) {
	c.Data = x.Bytes()
}

// DigestEncryptUpdate is C_DigestEncryptUpdate, its arguments and its reply.
type DigestEncryptUpdate struct {
	Answer
	Session       uint64
	Part          Bytes
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*DigestEncryptUpdate) Number() Number { return 55 }

func (c *DigestEncryptUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
	x.Room(c.EncryptedRoom)
}

func (c *DigestEncryptUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *DigestEncryptUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
	c.EncryptedRoom = x.Room()
}

func (c *DigestEncryptUpdate) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// DecryptDigestUpdate is C_DecryptDigestUpdate, its arguments and its reply.
type DecryptDigestUpdate struct {
	Answer
	Session   uint64
	Encrypted Bytes
	PartRoom  Room
	Part      Bytes
}

func (*DecryptDigestUpdate) Number() Number { return 56 }

func (c *DecryptDigestUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Encrypted)
	x.Room(c.PartRoom)
}

func (c *DecryptDigestUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Part)
}

func (c *DecryptDigestUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Encrypted = x.Bytes()
	c.PartRoom = x.Room()
}

func (c *DecryptDigestUpdate) decodeReply(x *Decoder) {
	c.Part = x.Bytes()
}

// SignEncryptUpdate is C_SignEncryptUpdate, its arguments and its reply.
type SignEncryptUpdate struct {
	Answer
	Session       uint64
	Part          Bytes
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*SignEncryptUpdate) Number() Number { return 57 }

func (c *SignEncryptUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Part)
	x.Room(c.EncryptedRoom)
}

func (c *SignEncryptUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *SignEncryptUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Part = x.Bytes()
	c.EncryptedRoom = x.Room()
}

func (c *SignEncryptUpdate) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// DecryptVerifyUpdate is C_DecryptVerifyUpdate, its arguments and its reply.
type DecryptVerifyUpdate struct {
	Answer
	Session   uint64
	Encrypted Bytes
	PartRoom  Room
	Part      Bytes
}

func (*DecryptVerifyUpdate) Number() Number { return 58 }

func (c *DecryptVerifyUpdate) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Encrypted)
	x.Room(c.PartRoom)
}

func (c *DecryptVerifyUpdate) encodeReply(x *Encoder) {
	x.Bytes(c.Part)
}

func (c *DecryptVerifyUpdate) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Encrypted = x.Bytes()
	c.PartRoom = x.Room()
}

func (c *DecryptVerifyUpdate) decodeReply(x *Decoder) {
	c.Part = x.Bytes()
}

// GenerateKey is C_GenerateKey, its arguments and its reply.
type GenerateKey struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Template  pkcs11.Template
	Key       uint64
	Returned  Bytes
}

func (*GenerateKey) Number() Number { return 59 }

func (c *GenerateKey) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Template(c.Template)
}

func (c *GenerateKey) encodeReply(x *Encoder) {
	x.Ulong(c.Key)
	x.Bytes(c.Returned)
}

func (c *GenerateKey) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Template = x.Template()
}

func (c *GenerateKey) decodeReply(x *Decoder) {
	c.Key = x.Ulong()
	c.Returned = x.Bytes()
}

// GenerateKeyPair is C_GenerateKeyPair, its arguments and its reply.
type GenerateKeyPair struct {
	Answer
	Session    uint64
	Mechanism  pkcs11.Mechanism
	Public     pkcs11.Template
	Private    pkcs11.Template
	PublicKey  uint64
	PrivateKey uint64
}

func (*GenerateKeyPair) Number() Number { return 60 }

func (c *GenerateKeyPair) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Template(c.Public)
	x.Template(c.Private)
}

func (c *GenerateKeyPair) encodeReply(x *Encoder) {
	x.Ulong(c.PublicKey)
	x.Ulong(c.PrivateKey)
}

func (c *GenerateKeyPair) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Public = x.Template()
	c.Private = x.Template()
}

func (c *GenerateKeyPair) decodeReply(x *Decoder) {
	c.PublicKey = x.Ulong()
	c.PrivateKey = x.Ulong()
}

// WrapKey is C_WrapKey, its arguments and its reply.
type WrapKey struct {
	Answer
	Session     uint64
	Mechanism   pkcs11.Mechanism
	Wrapping    uint64
	Key         uint64
	WrappedRoom Room
	Wrapped     Bytes
	Returned    Bytes
}

func (*WrapKey) Number() Number { return 61 }

func (c *WrapKey) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Wrapping)
	x.Ulong(c.Key)
	x.Room(c.WrappedRoom)
}

func (c *WrapKey) encodeReply(x *Encoder) {
	x.Bytes(c.Wrapped)
	x.Bytes(c.Returned)
}

func (c *WrapKey) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Wrapping = x.Ulong()
	c.Key = x.Ulong()
	c.WrappedRoom = x.Room()
}

func (c *WrapKey) decodeReply(x *Decoder) {
	c.Wrapped = x.Bytes()
	c.Returned = x.Bytes()
}

// UnwrapKey is C_UnwrapKey, its arguments and its reply.
type UnwrapKey struct {
	Answer
	Session    uint64
	Mechanism  pkcs11.Mechanism
	Unwrapping uint64
	Wrapped    Bytes
	Template   pkcs11.Template
	Key        uint64
}

func (*UnwrapKey) Number() Number { return 62 }

func (c *UnwrapKey) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Unwrapping)
	x.Bytes(c.Wrapped)
	x.Template(c.Template)
}

func (c *UnwrapKey) encodeReply(x *Encoder) {
	x.Ulong(c.Key)
}

func (c *UnwrapKey) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Unwrapping = x.Ulong()
	c.Wrapped = x.Bytes()
	c.Template = x.Template()
}

func (c *UnwrapKey) decodeReply(x *Decoder) {
	c.Key = x.Ulong()
}

// DeriveKey is C_DeriveKey, its arguments and its reply.
type DeriveKey struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Base      uint64
	Template  pkcs11.Template
	Key       uint64
	Returned  Bytes
}

func (*DeriveKey) Number() Number { return 63 }

func (c *DeriveKey) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Base)
	x.Template(c.Template)
}

func (c *DeriveKey) encodeReply(x *Encoder) {
	x.Ulong(c.Key)
	x.Bytes(c.Returned)
}

func (c *DeriveKey) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Base = x.Ulong()
	c.Template = x.Template()
}

func (c *DeriveKey) decodeReply(x *Decoder) {
	c.Key = x.Ulong()
	c.Returned = x.Bytes()
}

// SeedRandom is C_SeedRandom, its arguments and its reply.
type SeedRandom struct {
	Answer
	Session uint64
	Seed    Bytes
}

func (*SeedRandom) Number() Number { return 64 }

func (c *SeedRandom) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Bytes(c.Seed)
}

func (c *SeedRandom) encodeReply(x *Encoder) {
}

func (c *SeedRandom) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Seed = x.Bytes()
}

func (c *SeedRandom) decodeReply(x *Decoder) {
}

// GenerateRandom is C_GenerateRandom, its arguments and its reply.
type GenerateRandom struct {
	Answer
	Session    uint64
	RandomRoom Room
	Random     Bytes
}

func (*GenerateRandom) Number() Number { return 65 }

func (c *GenerateRandom) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Room(c.RandomRoom)
}

func (c *GenerateRandom) encodeReply(x *Encoder) {
	x.Bytes(c.Random)
}

func (c *GenerateRandom) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.RandomRoom = x.Room()
}

func (c *GenerateRandom) decodeReply(x *Decoder) {
	c.Random = x.Bytes()
}

// WaitForSlotEvent is C_WaitForSlotEvent, its arguments and its reply.
type WaitForSlotEvent struct {
	Answer
	Flags uint64
	Slot  uint64
}

func (*WaitForSlotEvent) Number() Number { return 68 }

func (c *WaitForSlotEvent) encodeArgs(x *Encoder) {
	x.Ulong(c.Flags)
}

func (c *WaitForSlotEvent) encodeReply(x *Encoder) {
	x.Ulong(c.Slot)
}

func (c *WaitForSlotEvent) decodeArgs(x *Decoder) {
	c.Flags = x.Ulong()
}

func (c *WaitForSlotEvent) decodeReply(x *Decoder) {
	c.Slot = x.Ulong()
}

// LoginUser is C_LoginUser, its arguments and its reply.
type LoginUser struct {
	Answer
	Session  uint64
	User     uint64
	Pin      pkcs11.PIN
	Username Bytes
}

func (*LoginUser) Number() Number { return 69 }

func (c *LoginUser) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.User)
	x.PIN(c.Pin)
	x.Bytes(c.Username)
}

func (c *LoginUser) encodeReply(x *Encoder) {
}

func (c *LoginUser) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.User = x.Ulong()
	c.Pin = x.PIN()
	c.Username = x.Bytes()
}

func (c *LoginUser) decodeReply(x *Decoder) {
}

// SessionCancel is C_SessionCancel, its arguments and its reply.
type SessionCancel struct {
	Answer
	Session uint64
	Flags   uint64
}

func (*SessionCancel) Number() Number { return 70 }

func (c *SessionCancel) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Ulong(c.Flags)
}

func (c *SessionCancel) encodeReply(x *Encoder) {
}

func (c *SessionCancel) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Flags = x.Ulong()
}

func (c *SessionCancel) decodeReply(x *Decoder) {
}

// Hello is X_Hello, its arguments and its reply.
type Hello struct {
	Answer
	Magic    Bytes
	Version  uint64
	Role     uint64
	Pid      uint64
	Name     Bytes
	Accepted uint64
	Frame    uint64
}

func (*Hello) Number() Number { return 1000 }

func (c *Hello) encodeArgs(x *Encoder) {
	x.Bytes(c.Magic)
	x.Ulong(c.Version)
	x.Ulong(c.Role)
	x.Ulong(c.Pid)
	x.Bytes(c.Name)
}

func (c *Hello) encodeReply(x *Encoder) {
	x.Ulong(c.Accepted)
	x.Ulong(c.Frame)
}

func (c *Hello) decodeArgs(x *Decoder) {
	c.Magic = x.Bytes()
	c.Version = x.Ulong()
	c.Role = x.Ulong()
	c.Pid = x.Ulong()
	c.Name = x.Bytes()
}

func (c *Hello) decodeReply(x *Decoder) {
	c.Accepted = x.Ulong()
	c.Frame = x.Ulong()
}

// Attach is X_Attach, its arguments and its reply.
type Attach struct {
	Answer
}

func (*Attach) Number() Number { return 1001 }

func (c *Attach) encodeArgs(x *Encoder) {
}

func (c *Attach) encodeReply(x *Encoder) {
}

func (c *Attach) decodeArgs(x *Decoder) {
}

func (c *Attach) decodeReply(x *Decoder) {
}

// SignOnce is X_SignOnce, its arguments and its reply.
type SignOnce struct {
	Answer
	Session       uint64
	Mechanism     pkcs11.Mechanism
	Key           uint64
	Data          Bytes
	SignatureRoom Room
	Signature     Bytes
}

func (*SignOnce) Number() Number { return 1002 }

func (c *SignOnce) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
	x.Bytes(c.Data)
	x.Room(c.SignatureRoom)
}

func (c *SignOnce) encodeReply(x *Encoder) {
	x.Bytes(c.Signature)
}

func (c *SignOnce) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
	c.Data = x.Bytes()
	c.SignatureRoom = x.Room()
}

func (c *SignOnce) decodeReply(x *Decoder) {
	c.Signature = x.Bytes()
}

// VerifyOnce is X_VerifyOnce, its arguments and its reply.
type VerifyOnce struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
	Data      Bytes
	Signature Bytes
}

func (*VerifyOnce) Number() Number { return 1003 }

func (c *VerifyOnce) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
	x.Bytes(c.Data)
	x.Bytes(c.Signature)
}

func (c *VerifyOnce) encodeReply(x *Encoder) {
}

func (c *VerifyOnce) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
	c.Data = x.Bytes()
	c.Signature = x.Bytes()
}

func (c *VerifyOnce) decodeReply(x *Decoder) {
}

// DecryptOnce is X_DecryptOnce, its arguments and its reply.
type DecryptOnce struct {
	Answer
	Session   uint64
	Mechanism pkcs11.Mechanism
	Key       uint64
	Encrypted Bytes
	DataRoom  Room
	Data      Bytes
}

func (*DecryptOnce) Number() Number { return 1004 }

func (c *DecryptOnce) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
	x.Bytes(c.Encrypted)
	x.Room(c.DataRoom)
}

func (c *DecryptOnce) encodeReply(x *Encoder) {
	x.Bytes(c.Data)
}

func (c *DecryptOnce) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
	c.Encrypted = x.Bytes()
	c.DataRoom = x.Room()
}

func (c *DecryptOnce) decodeReply(x *Decoder) {
	c.Data = x.Bytes()
}

// DigestOnce is X_DigestOnce, its arguments and its reply.
type DigestOnce struct {
	Answer
	Session    uint64
	Mechanism  pkcs11.Mechanism
	Data       Bytes
	DigestRoom Room
	Digest     Bytes
}

func (*DigestOnce) Number() Number { return 1005 }

func (c *DigestOnce) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Bytes(c.Data)
	x.Room(c.DigestRoom)
}

func (c *DigestOnce) encodeReply(x *Encoder) {
	x.Bytes(c.Digest)
}

func (c *DigestOnce) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Data = x.Bytes()
	c.DigestRoom = x.Room()
}

func (c *DigestOnce) decodeReply(x *Decoder) {
	c.Digest = x.Bytes()
}

// EncryptOnce is X_EncryptOnce, its arguments and its reply.
type EncryptOnce struct {
	Answer
	Session       uint64
	Mechanism     pkcs11.Mechanism
	Key           uint64
	Data          Bytes
	EncryptedRoom Room
	Encrypted     Bytes
}

func (*EncryptOnce) Number() Number { return 1006 }

func (c *EncryptOnce) encodeArgs(x *Encoder) {
	x.Ulong(c.Session)
	x.Mechanism(c.Mechanism)
	x.Ulong(c.Key)
	x.Bytes(c.Data)
	x.Room(c.EncryptedRoom)
}

func (c *EncryptOnce) encodeReply(x *Encoder) {
	x.Bytes(c.Encrypted)
}

func (c *EncryptOnce) decodeArgs(x *Decoder) {
	c.Session = x.Ulong()
	c.Mechanism = x.Mechanism()
	c.Key = x.Ulong()
	c.Data = x.Bytes()
	c.EncryptedRoom = x.Room()
}

func (c *EncryptOnce) decodeReply(x *Decoder) {
	c.Encrypted = x.Bytes()
}

// Describe is X_Describe, its arguments and its reply.
type Describe struct {
	Answer
	Token Description
}

func (*Describe) Number() Number { return 1010 }

func (c *Describe) encodeArgs(x *Encoder) {
}

func (c *Describe) encodeReply(x *Encoder) {
	x.Description(c.Token)
}

func (c *Describe) decodeArgs(x *Decoder) {
}

func (c *Describe) decodeReply(x *Decoder) {
	c.Token = x.Description()
}

// Probe is X_Probe, its arguments and its reply.
type Probe struct {
	Answer
}

func (*Probe) Number() Number { return 1011 }

func (c *Probe) encodeArgs(x *Encoder) {
}

func (c *Probe) encodeReply(x *Encoder) {
}

func (c *Probe) decodeArgs(x *Decoder) {
}

func (c *Probe) decodeReply(x *Decoder) {
}

// Find is X_Find, its arguments and its reply.
type Find struct {
	Answer
	Template pkcs11.Template
	Limit    uint64
	Found    []Identity
}

func (*Find) Number() Number { return 1012 }

func (c *Find) encodeArgs(x *Encoder) {
	x.Template(c.Template)
	x.Ulong(c.Limit)
}

func (c *Find) encodeReply(x *Encoder) {
	x.Identities(c.Found)
}

func (c *Find) decodeArgs(x *Decoder) {
	c.Template = x.Template()
	c.Limit = x.Ulong()
}

func (c *Find) decodeReply(x *Decoder) {
	c.Found = x.Identities()
}

// Identify is X_Identify, its arguments and its reply.
type Identify struct {
	Answer
	Object   uint64
	Identity Identity
}

func (*Identify) Number() Number { return 1013 }

func (c *Identify) encodeArgs(x *Encoder) {
	x.Ulong(c.Object)
}

func (c *Identify) encodeReply(x *Encoder) {
	x.Identity(c.Identity)
}

func (c *Identify) decodeArgs(x *Decoder) {
	c.Object = x.Ulong()
}

func (c *Identify) decodeReply(x *Decoder) {
	c.Identity = x.Identity()
}

// Resolve is X_Resolve, its arguments and its reply.
type Resolve struct {
	Answer
	Wanted Identity
	Found  []Identity
}

func (*Resolve) Number() Number { return 1014 }

func (c *Resolve) encodeArgs(x *Encoder) {
	x.Identity(c.Wanted)
}

func (c *Resolve) encodeReply(x *Encoder) {
	x.Identities(c.Found)
}

func (c *Resolve) decodeArgs(x *Decoder) {
	c.Wanted = x.Identity()
}

func (c *Resolve) decodeReply(x *Decoder) {
	c.Found = x.Identities()
}

// Export is X_Export, its arguments and its reply.
type Export struct {
	Answer
	Object uint64
	Blob   []byte
}

func (*Export) Number() Number { return 1015 }

func (c *Export) encodeArgs(x *Encoder) {
	x.Ulong(c.Object)
}

func (c *Export) encodeReply(x *Encoder) {
	x.Blob(c.Blob)
}

func (c *Export) decodeArgs(x *Decoder) {
	c.Object = x.Ulong()
}

func (c *Export) decodeReply(x *Decoder) {
	c.Blob = x.Blob()
}

// Import is X_Import, its arguments and its reply.
type Import struct {
	Answer
	Blob     []byte
	Token    bool
	Copies   uint64
	Named    bool
	Identity Identity
}

func (*Import) Number() Number { return 1016 }

func (c *Import) encodeArgs(x *Encoder) {
	x.Blob(c.Blob)
	x.Bool(c.Token)
	x.Ulong(c.Copies)
	x.Bool(c.Named)
}

func (c *Import) encodeReply(x *Encoder) {
	x.Identity(c.Identity)
}

func (c *Import) decodeArgs(x *Decoder) {
	c.Blob = x.Blob()
	c.Token = x.Bool()
	c.Copies = x.Ulong()
	c.Named = x.Bool()
}

func (c *Import) decodeReply(x *Decoder) {
	c.Identity = x.Identity()
}

// Publish is X_Publish, its arguments and its reply.
type Publish struct {
	Answer
	Object   uint64
	Copies   uint64
	Identity Identity
}

func (*Publish) Number() Number { return 1017 }

func (c *Publish) encodeArgs(x *Encoder) {
	x.Ulong(c.Object)
	x.Ulong(c.Copies)
}

func (c *Publish) encodeReply(x *Encoder) {
	x.Identity(c.Identity)
}

func (c *Publish) decodeArgs(x *Decoder) {
	c.Object = x.Ulong()
	c.Copies = x.Ulong()
}

func (c *Publish) decodeReply(x *Decoder) {
	c.Identity = x.Identity()
}

// Join is X_Join, its arguments and its reply.
type Join struct {
	Answer
	Officer pkcs11.PIN
	Pin     pkcs11.PIN
	Secret  pkcs11.PIN
	Export  bool
	Domain  []byte
}

func (*Join) Number() Number { return 1018 }

func (c *Join) encodeArgs(x *Encoder) {
	x.PIN(c.Officer)
	x.PIN(c.Pin)
	x.PIN(c.Secret)
	x.Bool(c.Export)
}

func (c *Join) encodeReply(x *Encoder) {
	x.Blob(c.Domain)
}

func (c *Join) decodeArgs(x *Decoder) {
	c.Officer = x.PIN()
	c.Pin = x.PIN()
	c.Secret = x.PIN()
	c.Export = x.Bool()
}

func (c *Join) decodeReply(x *Decoder) {
	c.Domain = x.Blob()
}

// Record is X_Record, its arguments and its reply.
type Record struct {
	Answer
	Record []byte
}

func (*Record) Number() Number { return 1020 }

func (c *Record) encodeArgs(x *Encoder) {
	x.Blob(c.Record)
}

func (c *Record) encodeReply(x *Encoder) {
}

func (c *Record) decodeArgs(x *Decoder) {
	c.Record = x.Blob()
}

func (c *Record) decodeReply(x *Decoder) {
}

// Records is X_Records, its arguments and its reply.
type Records struct {
	Answer
	Records [][]byte
}

func (*Records) Number() Number { return 1021 }

func (c *Records) encodeArgs(x *Encoder) {
}

func (c *Records) encodeReply(x *Encoder) {
	x.Blobs(c.Records)
}

func (c *Records) decodeArgs(x *Decoder) {
}

func (c *Records) decodeReply(x *Decoder) {
	c.Records = x.Blobs()
}

// Unrecord is X_Unrecord, its arguments and its reply.
type Unrecord struct {
	Answer
	Record []byte
}

func (*Unrecord) Number() Number { return 1022 }

func (c *Unrecord) encodeArgs(x *Encoder) {
	x.Blob(c.Record)
}

func (c *Unrecord) encodeReply(x *Encoder) {
}

func (c *Unrecord) decodeArgs(x *Decoder) {
	c.Record = x.Blob()
}

func (c *Unrecord) decodeReply(x *Decoder) {
}
