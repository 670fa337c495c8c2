/* SPDX-License-Identifier: Apache-2.0 */
/* Code generated from wire/calls.def by wire/gen. DO NOT EDIT. */
#include "call.h"
#include "calls_gen.h"
#include "interface.h"

CK_RV C_GetInfo(CK_INFO_PTR info)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_INFO))
		return c.rv;
	need(&c, info);
	if (call_send(&c))
		get_info(&c, info);
	return call_end(&c);
}

CK_RV C_GetSlotList(CK_BBOOL present, CK_ULONG_PTR slots, CK_ULONG_PTR slots_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_SLOT_LIST))
		return c.rv;
	put_bool(&c, present);
	put_room(&c, slots, slots_count);
	if (call_send(&c))
		get_ulongs(&c, slots, slots_count);
	return call_end(&c);
}

CK_RV C_GetSlotInfo(CK_SLOT_ID slot, CK_SLOT_INFO_PTR info)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_SLOT_INFO))
		return c.rv;
	put_ulong(&c, slot);
	need(&c, info);
	if (call_send(&c))
		get_slotinfo(&c, info);
	return call_end(&c);
}

CK_RV C_GetTokenInfo(CK_SLOT_ID slot, CK_TOKEN_INFO_PTR info)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_TOKEN_INFO))
		return c.rv;
	put_ulong(&c, slot);
	need(&c, info);
	if (call_send(&c))
		get_tokeninfo(&c, info);
	return call_end(&c);
}

CK_RV C_GetMechanismList(CK_SLOT_ID slot, CK_ULONG_PTR mechanisms,
                         CK_ULONG_PTR mechanisms_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_MECHANISM_LIST))
		return c.rv;
	put_ulong(&c, slot);
	put_room(&c, mechanisms, mechanisms_count);
	if (call_send(&c))
		get_ulongs(&c, mechanisms, mechanisms_count);
	return call_end(&c);
}

CK_RV C_GetMechanismInfo(CK_SLOT_ID slot, CK_ULONG kind, CK_MECHANISM_INFO_PTR info)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_MECHANISM_INFO))
		return c.rv;
	put_ulong(&c, slot);
	put_ulong(&c, kind);
	need(&c, info);
	if (call_send(&c))
		get_mechanisminfo(&c, info);
	return call_end(&c);
}

CK_RV C_InitToken(CK_SLOT_ID slot, CK_BYTE_PTR pin, CK_ULONG pin_len,
                  CK_UTF8CHAR_PTR label)
{
	struct call c;

	if (!call_begin(&c, CALL_C_INIT_TOKEN))
		return c.rv;
	put_ulong(&c, slot);
	put_bytes(&c, pin, pin_len);
	put_label(&c, label);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_InitPIN(CK_SESSION_HANDLE session, CK_BYTE_PTR pin, CK_ULONG pin_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_INIT_PIN))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, pin, pin_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_SetPIN(CK_SESSION_HANDLE session, CK_BYTE_PTR old, CK_ULONG old_len,
               CK_BYTE_PTR new, CK_ULONG new_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SET_PIN))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, old, old_len);
	put_bytes(&c, new, new_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_OpenSession(CK_SLOT_ID slot, CK_ULONG flags, CK_VOID_PTR opaque,
                    CK_NOTIFY callback, CK_SESSION_HANDLE_PTR session)
{
	struct call c;

	(void)opaque;
	(void)callback;
	if (!call_begin(&c, CALL_C_OPEN_SESSION))
		return c.rv;
	put_ulong(&c, slot);
	put_ulong(&c, flags);
	need(&c, session);
	if (call_send(&c))
		get_ulong(&c, session);
	return call_end(&c);
}

CK_RV C_CloseSession(CK_SESSION_HANDLE session)
{
	struct call c;

	if (!call_begin(&c, CALL_C_CLOSE_SESSION))
		return c.rv;
	put_session(&c, session);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_CloseAllSessions(CK_SLOT_ID slot)
{
	struct call c;

	if (!call_begin(&c, CALL_C_CLOSE_ALL_SESSIONS))
		return c.rv;
	put_ulong(&c, slot);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_GetSessionInfo(CK_SESSION_HANDLE session, CK_SESSION_INFO_PTR info)
{
	struct call c;

	if (session_known(session, info))
		return CKR_OK;
	if (!call_begin(&c, CALL_C_GET_SESSION_INFO))
		return c.rv;
	put_session(&c, session);
	need(&c, info);
	if (call_send(&c)) {
		get_sessioninfo(&c, info);
		session_learn(&c, session, info);
	}
	return call_end(&c);
}

CK_RV C_GetOperationState(CK_SESSION_HANDLE session, CK_BYTE_PTR state,
                          CK_ULONG_PTR state_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_OPERATION_STATE))
		return c.rv;
	put_session(&c, session);
	put_room(&c, state, state_len);
	if (call_send(&c))
		get_bytes(&c, state, state_len);
	return call_end(&c);
}

CK_RV C_SetOperationState(CK_SESSION_HANDLE session, CK_BYTE_PTR state,
                          CK_ULONG state_len, CK_OBJECT_HANDLE encryption,
                          CK_OBJECT_HANDLE authentication)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SET_OPERATION_STATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, state, state_len);
	put_ulong(&c, encryption);
	put_ulong(&c, authentication);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Login(CK_SESSION_HANDLE session, CK_ULONG user, CK_BYTE_PTR pin,
              CK_ULONG pin_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_LOGIN))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, user);
	put_bytes(&c, pin, pin_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Logout(CK_SESSION_HANDLE session)
{
	struct call c;

	if (!call_begin(&c, CALL_C_LOGOUT))
		return c.rv;
	put_session(&c, session);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_CreateObject(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template,
                     CK_ULONG template_count, CK_OBJECT_HANDLE_PTR object)
{
	struct call c;

	if (!call_begin(&c, CALL_C_CREATE_OBJECT))
		return c.rv;
	put_session(&c, session);
	put_template(&c, template, template_count);
	need(&c, object);
	if (call_send(&c))
		get_ulong(&c, object);
	return call_end(&c);
}

CK_RV C_CopyObject(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE source,
                   CK_ATTRIBUTE_PTR template, CK_ULONG template_count,
                   CK_OBJECT_HANDLE_PTR object)
{
	struct call c;

	if (!call_begin(&c, CALL_C_COPY_OBJECT))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, source);
	put_template(&c, template, template_count);
	need(&c, object);
	if (call_send(&c))
		get_ulong(&c, object);
	return call_end(&c);
}

CK_RV C_DestroyObject(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DESTROY_OBJECT))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, object);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_GetObjectSize(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                      CK_ULONG_PTR size)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_OBJECT_SIZE))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, object);
	need(&c, size);
	if (call_send(&c))
		get_ulong(&c, size);
	return call_end(&c);
}

CK_RV C_GetAttributeValue(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                          CK_ATTRIBUTE_PTR query, CK_ULONG query_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GET_ATTRIBUTE_VALUE))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, object);
	put_query(&c, query, query_count);
	if (call_send(&c))
		get_answers(&c, query, query_count);
	return call_end(&c);
}

CK_RV C_SetAttributeValue(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                          CK_ATTRIBUTE_PTR template, CK_ULONG template_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SET_ATTRIBUTE_VALUE))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, object);
	put_template(&c, template, template_count);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_FindObjectsInit(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR template,
                        CK_ULONG template_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_FIND_OBJECTS_INIT))
		return c.rv;
	put_session(&c, session);
	put_template(&c, template, template_count);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_FindObjects(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE_PTR objects,
                    CK_ULONG objects_max, CK_ULONG_PTR objects_count)
{
	struct call c;

	if (!call_begin(&c, CALL_C_FIND_OBJECTS))
		return c.rv;
	put_session(&c, session);
	put_found(&c, objects, objects_max, objects_count);
	if (call_send(&c))
		get_ulongs(&c, objects, objects_count);
	return call_end(&c);
}

CK_RV C_FindObjectsFinal(CK_SESSION_HANDLE session)
{
	struct call c;

	if (!call_begin(&c, CALL_C_FIND_OBJECTS_FINAL))
		return c.rv;
	put_session(&c, session);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_EncryptInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                    CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_ENCRYPT_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	if (call_send(&c))
		get_returned(&c);
	return call_end(&c);
}

CK_RV C_Encrypt(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_len,
                CK_BYTE_PTR encrypted, CK_ULONG_PTR encrypted_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_ENCRYPT))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, data, data_len);
	put_room(&c, encrypted, encrypted_len);
	if (call_send(&c))
		get_bytes(&c, encrypted, encrypted_len);
	return call_end(&c);
}

CK_RV C_EncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG part_len,
                      CK_BYTE_PTR encrypted, CK_ULONG_PTR encrypted_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_ENCRYPT_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	put_room(&c, encrypted, encrypted_len);
	if (call_send(&c))
		get_bytes(&c, encrypted, encrypted_len);
	return call_end(&c);
}

CK_RV C_EncryptFinal(CK_SESSION_HANDLE session, CK_BYTE_PTR encrypted,
                     CK_ULONG_PTR encrypted_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_ENCRYPT_FINAL))
		return c.rv;
	put_session(&c, session);
	put_room(&c, encrypted, encrypted_len);
	if (call_send(&c))
		get_bytes(&c, encrypted, encrypted_len);
	return call_end(&c);
}

CK_RV C_DecryptInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                    CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Decrypt(CK_SESSION_HANDLE session, CK_BYTE_PTR encrypted,
                CK_ULONG encrypted_len, CK_BYTE_PTR data, CK_ULONG_PTR data_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, encrypted, encrypted_len);
	put_room(&c, data, data_len);
	if (call_send(&c))
		get_bytes(&c, data, data_len);
	return call_end(&c);
}

CK_RV C_DecryptUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR encrypted,
                      CK_ULONG encrypted_len, CK_BYTE_PTR part, CK_ULONG_PTR part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, encrypted, encrypted_len);
	put_room(&c, part, part_len);
	if (call_send(&c))
		get_bytes(&c, part, part_len);
	return call_end(&c);
}

CK_RV C_DecryptFinal(CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG_PTR part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT_FINAL))
		return c.rv;
	put_session(&c, session);
	put_room(&c, part, part_len);
	if (call_send(&c))
		get_bytes(&c, part, part_len);
	return call_end(&c);
}

CK_RV C_DigestInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Digest(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_len,
               CK_BYTE_PTR digest, CK_ULONG_PTR digest_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, data, data_len);
	put_room(&c, digest, digest_len);
	if (call_send(&c))
		get_bytes(&c, digest, digest_len);
	return call_end(&c);
}

CK_RV C_DigestUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_DigestKey(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST_KEY))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_DigestFinal(CK_SESSION_HANDLE session, CK_BYTE_PTR digest,
                    CK_ULONG_PTR digest_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST_FINAL))
		return c.rv;
	put_session(&c, session);
	put_room(&c, digest, digest_len);
	if (call_send(&c))
		get_bytes(&c, digest, digest_len);
	return call_end(&c);
}

CK_RV C_SignInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                 CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_len,
             CK_BYTE_PTR signature, CK_ULONG_PTR signature_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, data, data_len);
	put_room(&c, signature, signature_len);
	if (call_send(&c))
		get_bytes(&c, signature, signature_len);
	return call_end(&c);
}

CK_RV C_SignUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_SignFinal(CK_SESSION_HANDLE session, CK_BYTE_PTR signature,
                  CK_ULONG_PTR signature_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_FINAL))
		return c.rv;
	put_session(&c, session);
	put_room(&c, signature, signature_len);
	if (call_send(&c))
		get_bytes(&c, signature, signature_len);
	return call_end(&c);
}

CK_RV C_SignRecoverInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                        CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_RECOVER_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_SignRecover(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_len,
                    CK_BYTE_PTR signature, CK_ULONG_PTR signature_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_RECOVER))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, data, data_len);
	put_room(&c, signature, signature_len);
	if (call_send(&c))
		get_bytes(&c, signature, signature_len);
	return call_end(&c);
}

CK_RV C_VerifyInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                   CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_Verify(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_len,
               CK_BYTE_PTR signature, CK_ULONG signature_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, data, data_len);
	put_bytes(&c, signature, signature_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_VerifyUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part, CK_ULONG part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_VerifyFinal(CK_SESSION_HANDLE session, CK_BYTE_PTR signature,
                    CK_ULONG signature_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY_FINAL))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, signature, signature_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_VerifyRecoverInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                          CK_OBJECT_HANDLE key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY_RECOVER_INIT))
		return c.rv;
	put_session(&c, session);
	put_beginning(&c, mechanism);
	put_ulong(&c, key);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_VerifyRecover(CK_SESSION_HANDLE session, CK_BYTE_PTR signature,
                      CK_ULONG signature_len, CK_BYTE_PTR data, CK_ULONG_PTR data_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_VERIFY_RECOVER))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, signature, signature_len);
	put_room(&c, data, data_len);
	if (call_send(&c))
		get_bytes(&c, data, data_len);
	return call_end(&c);
}

CK_RV C_DigestEncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part,
                            CK_ULONG part_len, CK_BYTE_PTR encrypted,
                            CK_ULONG_PTR encrypted_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DIGEST_ENCRYPT_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	put_room(&c, encrypted, encrypted_len);
	if (call_send(&c))
		get_bytes(&c, encrypted, encrypted_len);
	return call_end(&c);
}

CK_RV C_DecryptDigestUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR encrypted,
                            CK_ULONG encrypted_len, CK_BYTE_PTR part,
                            CK_ULONG_PTR part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT_DIGEST_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, encrypted, encrypted_len);
	put_room(&c, part, part_len);
	if (call_send(&c))
		get_bytes(&c, part, part_len);
	return call_end(&c);
}

CK_RV C_SignEncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR part,
                          CK_ULONG part_len, CK_BYTE_PTR encrypted,
                          CK_ULONG_PTR encrypted_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SIGN_ENCRYPT_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, part, part_len);
	put_room(&c, encrypted, encrypted_len);
	if (call_send(&c))
		get_bytes(&c, encrypted, encrypted_len);
	return call_end(&c);
}

CK_RV C_DecryptVerifyUpdate(CK_SESSION_HANDLE session, CK_BYTE_PTR encrypted,
                            CK_ULONG encrypted_len, CK_BYTE_PTR part,
                            CK_ULONG_PTR part_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DECRYPT_VERIFY_UPDATE))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, encrypted, encrypted_len);
	put_room(&c, part, part_len);
	if (call_send(&c))
		get_bytes(&c, part, part_len);
	return call_end(&c);
}

CK_RV C_GenerateKey(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                    CK_ATTRIBUTE_PTR template, CK_ULONG template_count,
                    CK_OBJECT_HANDLE_PTR key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GENERATE_KEY))
		return c.rv;
	put_session(&c, session);
	put_mechanism(&c, mechanism);
	put_template(&c, template, template_count);
	need(&c, key);
	if (call_send(&c)) {
		get_ulong(&c, key);
		get_returned(&c);
	}
	return call_end(&c);
}

CK_RV C_GenerateKeyPair(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                        CK_ATTRIBUTE_PTR public, CK_ULONG public_count,
                        CK_ATTRIBUTE_PTR private, CK_ULONG private_count,
                        CK_OBJECT_HANDLE_PTR public_key,
                        CK_OBJECT_HANDLE_PTR private_key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GENERATE_KEY_PAIR))
		return c.rv;
	put_session(&c, session);
	put_mechanism(&c, mechanism);
	put_template(&c, public, public_count);
	put_template(&c, private, private_count);
	need(&c, public_key);
	need(&c, private_key);
	if (call_send(&c)) {
		get_ulong(&c, public_key);
		get_ulong(&c, private_key);
	}
	return call_end(&c);
}

CK_RV C_WrapKey(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                CK_OBJECT_HANDLE wrapping, CK_OBJECT_HANDLE key, CK_BYTE_PTR wrapped,
                CK_ULONG_PTR wrapped_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_WRAP_KEY))
		return c.rv;
	put_session(&c, session);
	put_mechanism(&c, mechanism);
	put_ulong(&c, wrapping);
	put_ulong(&c, key);
	put_room(&c, wrapped, wrapped_len);
	if (call_send(&c)) {
		get_bytes(&c, wrapped, wrapped_len);
		get_returned(&c);
	}
	return call_end(&c);
}

CK_RV C_UnwrapKey(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                  CK_OBJECT_HANDLE unwrapping, CK_BYTE_PTR wrapped,
                  CK_ULONG wrapped_len, CK_ATTRIBUTE_PTR template,
                  CK_ULONG template_count, CK_OBJECT_HANDLE_PTR key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_UNWRAP_KEY))
		return c.rv;
	put_session(&c, session);
	put_mechanism(&c, mechanism);
	put_ulong(&c, unwrapping);
	put_bytes(&c, wrapped, wrapped_len);
	put_template(&c, template, template_count);
	need(&c, key);
	if (call_send(&c))
		get_ulong(&c, key);
	return call_end(&c);
}

CK_RV C_DeriveKey(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                  CK_OBJECT_HANDLE base, CK_ATTRIBUTE_PTR template,
                  CK_ULONG template_count, CK_OBJECT_HANDLE_PTR key)
{
	struct call c;

	if (!call_begin(&c, CALL_C_DERIVE_KEY))
		return c.rv;
	put_session(&c, session);
	put_mechanism(&c, mechanism);
	put_ulong(&c, base);
	put_template(&c, template, template_count);
	need_derived(&c, key);
	if (call_send(&c)) {
		get_derived(&c, key);
		get_returned(&c);
	}
	return call_end(&c);
}

CK_RV C_SeedRandom(CK_SESSION_HANDLE session, CK_BYTE_PTR seed, CK_ULONG seed_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SEED_RANDOM))
		return c.rv;
	put_session(&c, session);
	put_bytes(&c, seed, seed_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_GenerateRandom(CK_SESSION_HANDLE session, CK_BYTE_PTR random,
                       CK_ULONG random_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_GENERATE_RANDOM))
		return c.rv;
	put_session(&c, session);
	put_fill(&c, random, random_len);
	if (call_send(&c))
		get_fill(&c, random, random_len);
	return call_end(&c);
}

CK_RV C_WaitForSlotEvent(CK_ULONG flags, CK_SLOT_ID_PTR slot, CK_VOID_PTR opaque)
{
	struct call c;

	if (!call_begin(&c, CALL_C_WAIT_FOR_SLOT_EVENT))
		return c.rv;
	put_ulong(&c, flags);
	need(&c, slot);
	need_null(&c, opaque);
	if (call_send(&c))
		get_ulong(&c, slot);
	return call_end(&c);
}

CK_RV C_LoginUser(CK_SESSION_HANDLE session, CK_ULONG user, CK_BYTE_PTR pin,
                  CK_ULONG pin_len, CK_BYTE_PTR username, CK_ULONG username_len)
{
	struct call c;

	if (!call_begin(&c, CALL_C_LOGIN_USER))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, user);
	put_bytes(&c, pin, pin_len);
	put_bytes(&c, username, username_len);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_SessionCancel(CK_SESSION_HANDLE session, CK_ULONG flags)
{
	struct call c;

	if (!call_begin(&c, CALL_C_SESSION_CANCEL))
		return c.rv;
	put_session(&c, session);
	put_ulong(&c, flags);
	call_send(&c);
	return call_end(&c);
}

CK_RV C_MessageEncryptInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                           CK_OBJECT_HANDLE key)
{
	(void)session;
	(void)mechanism;
	(void)key;
	return call_unsupported();
}

CK_RV C_EncryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_len, CK_BYTE_PTR associated,
                       CK_ULONG associated_len, CK_BYTE_PTR plaintext,
                       CK_ULONG plaintext_len, CK_BYTE_PTR ciphertext,
                       CK_ULONG_PTR ciphertext_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)associated;
	(void)associated_len;
	(void)plaintext;
	(void)plaintext_len;
	(void)ciphertext;
	(void)ciphertext_len;
	return call_unsupported();
}

CK_RV C_EncryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_len, CK_BYTE_PTR associated,
                            CK_ULONG associated_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)associated;
	(void)associated_len;
	return call_unsupported();
}

CK_RV C_EncryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_len, CK_BYTE_PTR plaintext,
                           CK_ULONG plaintext_len, CK_BYTE_PTR ciphertext,
                           CK_ULONG_PTR ciphertext_len, CK_ULONG flags)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)plaintext;
	(void)plaintext_len;
	(void)ciphertext;
	(void)ciphertext_len;
	(void)flags;
	return call_unsupported();
}

CK_RV C_MessageEncryptFinal(CK_SESSION_HANDLE session)
{
	(void)session;
	return call_unsupported();
}

CK_RV C_MessageDecryptInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                           CK_OBJECT_HANDLE key)
{
	(void)session;
	(void)mechanism;
	(void)key;
	return call_unsupported();
}

CK_RV C_DecryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_len, CK_BYTE_PTR associated,
                       CK_ULONG associated_len, CK_BYTE_PTR ciphertext,
                       CK_ULONG ciphertext_len, CK_BYTE_PTR plaintext,
                       CK_ULONG_PTR plaintext_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)associated;
	(void)associated_len;
	(void)ciphertext;
	(void)ciphertext_len;
	(void)plaintext;
	(void)plaintext_len;
	return call_unsupported();
}

CK_RV C_DecryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_len, CK_BYTE_PTR associated,
                            CK_ULONG associated_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)associated;
	(void)associated_len;
	return call_unsupported();
}

CK_RV C_DecryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_len, CK_BYTE_PTR ciphertext,
                           CK_ULONG ciphertext_len, CK_BYTE_PTR plaintext,
                           CK_ULONG_PTR plaintext_len, CK_ULONG flags)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)ciphertext;
	(void)ciphertext_len;
	(void)plaintext;
	(void)plaintext_len;
	(void)flags;
	return call_unsupported();
}

CK_RV C_MessageDecryptFinal(CK_SESSION_HANDLE session)
{
	(void)session;
	return call_unsupported();
}

CK_RV C_MessageSignInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                        CK_OBJECT_HANDLE key)
{
	(void)session;
	(void)mechanism;
	(void)key;
	return call_unsupported();
}

CK_RV C_SignMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                    CK_ULONG parameter_len, CK_BYTE_PTR data, CK_ULONG data_len,
                    CK_BYTE_PTR signature, CK_ULONG_PTR signature_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)data;
	(void)data_len;
	(void)signature;
	(void)signature_len;
	return call_unsupported();
}

CK_RV C_SignMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                         CK_ULONG parameter_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	return call_unsupported();
}

CK_RV C_SignMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                        CK_ULONG parameter_len, CK_BYTE_PTR data, CK_ULONG data_len,
                        CK_BYTE_PTR signature, CK_ULONG_PTR signature_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)data;
	(void)data_len;
	(void)signature;
	(void)signature_len;
	return call_unsupported();
}

CK_RV C_MessageSignFinal(CK_SESSION_HANDLE session)
{
	(void)session;
	return call_unsupported();
}

CK_RV C_MessageVerifyInit(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism,
                          CK_OBJECT_HANDLE key)
{
	(void)session;
	(void)mechanism;
	(void)key;
	return call_unsupported();
}

CK_RV C_VerifyMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                      CK_ULONG parameter_len, CK_BYTE_PTR data, CK_ULONG data_len,
                      CK_BYTE_PTR signature, CK_ULONG signature_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)data;
	(void)data_len;
	(void)signature;
	(void)signature_len;
	return call_unsupported();
}

CK_RV C_VerifyMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	return call_unsupported();
}

CK_RV C_VerifyMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                          CK_ULONG parameter_len, CK_BYTE_PTR data, CK_ULONG data_len,
                          CK_BYTE_PTR signature, CK_ULONG signature_len)
{
	(void)session;
	(void)parameter;
	(void)parameter_len;
	(void)data;
	(void)data_len;
	(void)signature;
	(void)signature_len;
	return call_unsupported();
}

CK_RV C_MessageVerifyFinal(CK_SESSION_HANDLE session)
{
	(void)session;
	return call_unsupported();
}

const CK_FUNCTION_LIST functions_2_40 = {
	.version = { 2, 40 },
	.C_Initialize = C_Initialize,
	.C_Finalize = C_Finalize,
	.C_GetInfo = C_GetInfo,
	.C_GetFunctionList = C_GetFunctionList,
	.C_GetSlotList = C_GetSlotList,
	.C_GetSlotInfo = C_GetSlotInfo,
	.C_GetTokenInfo = C_GetTokenInfo,
	.C_GetMechanismList = C_GetMechanismList,
	.C_GetMechanismInfo = C_GetMechanismInfo,
	.C_InitToken = C_InitToken,
	.C_InitPIN = C_InitPIN,
	.C_SetPIN = C_SetPIN,
	.C_OpenSession = C_OpenSession,
	.C_CloseSession = C_CloseSession,
	.C_CloseAllSessions = C_CloseAllSessions,
	.C_GetSessionInfo = C_GetSessionInfo,
	.C_GetOperationState = C_GetOperationState,
	.C_SetOperationState = C_SetOperationState,
	.C_Login = C_Login,
	.C_Logout = C_Logout,
	.C_CreateObject = C_CreateObject,
	.C_CopyObject = C_CopyObject,
	.C_DestroyObject = C_DestroyObject,
	.C_GetObjectSize = C_GetObjectSize,
	.C_GetAttributeValue = C_GetAttributeValue,
	.C_SetAttributeValue = C_SetAttributeValue,
	.C_FindObjectsInit = C_FindObjectsInit,
	.C_FindObjects = C_FindObjects,
	.C_FindObjectsFinal = C_FindObjectsFinal,
	.C_EncryptInit = C_EncryptInit,
	.C_Encrypt = C_Encrypt,
	.C_EncryptUpdate = C_EncryptUpdate,
	.C_EncryptFinal = C_EncryptFinal,
	.C_DecryptInit = C_DecryptInit,
	.C_Decrypt = C_Decrypt,
	.C_DecryptUpdate = C_DecryptUpdate,
	.C_DecryptFinal = C_DecryptFinal,
	.C_DigestInit = C_DigestInit,
	.C_Digest = C_Digest,
	.C_DigestUpdate = C_DigestUpdate,
	.C_DigestKey = C_DigestKey,
	.C_DigestFinal = C_DigestFinal,
	.C_SignInit = C_SignInit,
	.C_Sign = C_Sign,
	.C_SignUpdate = C_SignUpdate,
	.C_SignFinal = C_SignFinal,
	.C_SignRecoverInit = C_SignRecoverInit,
	.C_SignRecover = C_SignRecover,
	.C_VerifyInit = C_VerifyInit,
	.C_Verify = C_Verify,
	.C_VerifyUpdate = C_VerifyUpdate,
	.C_VerifyFinal = C_VerifyFinal,
	.C_VerifyRecoverInit = C_VerifyRecoverInit,
	.C_VerifyRecover = C_VerifyRecover,
	.C_DigestEncryptUpdate = C_DigestEncryptUpdate,
	.C_DecryptDigestUpdate = C_DecryptDigestUpdate,
	.C_SignEncryptUpdate = C_SignEncryptUpdate,
	.C_DecryptVerifyUpdate = C_DecryptVerifyUpdate,
	.C_GenerateKey = C_GenerateKey,
	.C_GenerateKeyPair = C_GenerateKeyPair,
	.C_WrapKey = C_WrapKey,
	.C_UnwrapKey = C_UnwrapKey,
	.C_DeriveKey = C_DeriveKey,
	.C_SeedRandom = C_SeedRandom,
	.C_GenerateRandom = C_GenerateRandom,
	.C_GetFunctionStatus = C_GetFunctionStatus,
	.C_CancelFunction = C_CancelFunction,
	.C_WaitForSlotEvent = C_WaitForSlotEvent,
};

const CK_FUNCTION_LIST_3_0 functions_3_0 = {
	.version = { 3, 0 },
	.C_Initialize = C_Initialize,
	.C_Finalize = C_Finalize,
	.C_GetInfo = get_info_3_0,
	.C_GetFunctionList = C_GetFunctionList,
	.C_GetSlotList = C_GetSlotList,
	.C_GetSlotInfo = C_GetSlotInfo,
	.C_GetTokenInfo = C_GetTokenInfo,
	.C_GetMechanismList = C_GetMechanismList,
	.C_GetMechanismInfo = C_GetMechanismInfo,
	.C_InitToken = C_InitToken,
	.C_InitPIN = C_InitPIN,
	.C_SetPIN = C_SetPIN,
	.C_OpenSession = C_OpenSession,
	.C_CloseSession = C_CloseSession,
	.C_CloseAllSessions = C_CloseAllSessions,
	.C_GetSessionInfo = C_GetSessionInfo,
	.C_GetOperationState = C_GetOperationState,
	.C_SetOperationState = C_SetOperationState,
	.C_Login = C_Login,
	.C_Logout = C_Logout,
	.C_CreateObject = C_CreateObject,
	.C_CopyObject = C_CopyObject,
	.C_DestroyObject = C_DestroyObject,
	.C_GetObjectSize = C_GetObjectSize,
	.C_GetAttributeValue = C_GetAttributeValue,
	.C_SetAttributeValue = C_SetAttributeValue,
	.C_FindObjectsInit = C_FindObjectsInit,
	.C_FindObjects = C_FindObjects,
	.C_FindObjectsFinal = C_FindObjectsFinal,
	.C_EncryptInit = C_EncryptInit,
	.C_Encrypt = C_Encrypt,
	.C_EncryptUpdate = C_EncryptUpdate,
	.C_EncryptFinal = C_EncryptFinal,
	.C_DecryptInit = C_DecryptInit,
	.C_Decrypt = C_Decrypt,
	.C_DecryptUpdate = C_DecryptUpdate,
	.C_DecryptFinal = C_DecryptFinal,
	.C_DigestInit = C_DigestInit,
	.C_Digest = C_Digest,
	.C_DigestUpdate = C_DigestUpdate,
	.C_DigestKey = C_DigestKey,
	.C_DigestFinal = C_DigestFinal,
	.C_SignInit = C_SignInit,
	.C_Sign = C_Sign,
	.C_SignUpdate = C_SignUpdate,
	.C_SignFinal = C_SignFinal,
	.C_SignRecoverInit = C_SignRecoverInit,
	.C_SignRecover = C_SignRecover,
	.C_VerifyInit = C_VerifyInit,
	.C_Verify = C_Verify,
	.C_VerifyUpdate = C_VerifyUpdate,
	.C_VerifyFinal = C_VerifyFinal,
	.C_VerifyRecoverInit = C_VerifyRecoverInit,
	.C_VerifyRecover = C_VerifyRecover,
	.C_DigestEncryptUpdate = C_DigestEncryptUpdate,
	.C_DecryptDigestUpdate = C_DecryptDigestUpdate,
	.C_SignEncryptUpdate = C_SignEncryptUpdate,
	.C_DecryptVerifyUpdate = C_DecryptVerifyUpdate,
	.C_GenerateKey = C_GenerateKey,
	.C_GenerateKeyPair = C_GenerateKeyPair,
	.C_WrapKey = C_WrapKey,
	.C_UnwrapKey = C_UnwrapKey,
	.C_DeriveKey = C_DeriveKey,
	.C_SeedRandom = C_SeedRandom,
	.C_GenerateRandom = C_GenerateRandom,
	.C_GetFunctionStatus = C_GetFunctionStatus,
	.C_CancelFunction = C_CancelFunction,
	.C_WaitForSlotEvent = C_WaitForSlotEvent,
	.C_LoginUser = C_LoginUser,
	.C_SessionCancel = C_SessionCancel,
	.C_GetInterfaceList = C_GetInterfaceList,
	.C_GetInterface = C_GetInterface,
	.C_MessageEncryptInit = C_MessageEncryptInit,
	.C_EncryptMessage = C_EncryptMessage,
	.C_EncryptMessageBegin = C_EncryptMessageBegin,
	.C_EncryptMessageNext = C_EncryptMessageNext,
	.C_MessageEncryptFinal = C_MessageEncryptFinal,
	.C_MessageDecryptInit = C_MessageDecryptInit,
	.C_DecryptMessage = C_DecryptMessage,
	.C_DecryptMessageBegin = C_DecryptMessageBegin,
	.C_DecryptMessageNext = C_DecryptMessageNext,
	.C_MessageDecryptFinal = C_MessageDecryptFinal,
	.C_MessageSignInit = C_MessageSignInit,
	.C_SignMessage = C_SignMessage,
	.C_SignMessageBegin = C_SignMessageBegin,
	.C_SignMessageNext = C_SignMessageNext,
	.C_MessageSignFinal = C_MessageSignFinal,
	.C_MessageVerifyInit = C_MessageVerifyInit,
	.C_VerifyMessage = C_VerifyMessage,
	.C_VerifyMessageBegin = C_VerifyMessageBegin,
	.C_VerifyMessageNext = C_VerifyMessageNext,
	.C_MessageVerifyFinal = C_MessageVerifyFinal,
};
