/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CK_FUNCTION_LIST *oneslot_load(const char *path, char **reason)
{
        oneslot_on_time();
        /* RTLD_LOCAL: two vendors' copies of one library must not meet. */
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
                const char *text = dlerror();
                *reason = strdup(text ? text : "cannot be opened");
                return NULL;
        }
        CK_C_GetFunctionList get = (CK_C_GetFunctionList)dlsym(handle, "C_GetFunctionList");
        if (!get) {
                *reason = strdup("not a PKCS#11 module: it has no C_GetFunctionList");
                return NULL;
        }
        CK_FUNCTION_LIST *list = NULL;
        CK_RV rv = get(&list);
        if (rv != CKR_OK || !list) {
                if (asprintf(reason, "C_GetFunctionList failed with 0x%lx", (unsigned long)rv) < 0)
                        *reason = NULL;
                return NULL;
        }
        return list; /* never closed: modules leave threads and exit handlers behind */
}

CK_RV oneslot_initialize(CK_FUNCTION_LIST *f, char *reserved)
{
        /* NSS reads its parameters where the standard has pReserved, and has
         * a further pointer behind it. */
        struct {
                CK_C_INITIALIZE_ARGS args;
                void *further;
        } a;
        memset(&a, 0, sizeof a);
        a.args.flags = CKF_OS_LOCKING_OK;
        a.args.pReserved = (void *)reserved;
        oneslot_on_time();
        return f->C_Initialize ? f->C_Initialize(&a) : CKR_FUNCTION_NOT_SUPPORTED;
}

/* VENDOR calls the library; vendors leave out what they do not have. */
#define VENDOR(function, ...)                             \
        do {                                              \
                long entered;                             \
                CK_RV result;                             \
                if (!(function))                          \
                        return CKR_FUNCTION_NOT_SUPPORTED; \
                entered = oneslot_enter();                \
                result = (function)(__VA_ARGS__);         \
                oneslot_leave(entered);                   \
                return result;                            \
        } while (0)

/* CALL calls through the list, THROUGH a function that the caller chose. */
#define CALL(name, ...) VENDOR(f->name, __VA_ARGS__)
#define THROUGH(...) VENDOR(f, __VA_ARGS__)

CK_RV oneslot_finalize(CK_FUNCTION_LIST *f) { CALL(C_Finalize, NULL); }

CK_RV oneslot_info(CK_FUNCTION_LIST *f, CK_INFO *info) { CALL(C_GetInfo, info); }

CK_RV oneslot_slots(CK_FUNCTION_LIST *f, CK_SLOT_ID *list, CK_ULONG *count)
{
        CALL(C_GetSlotList, CK_TRUE, list, count);
}

CK_RV oneslot_slot_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_SLOT_INFO *info)
{
        CALL(C_GetSlotInfo, slot, info);
}

CK_RV oneslot_token_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
        CALL(C_GetTokenInfo, slot, info);
}

CK_RV oneslot_mechanisms(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_ULONG *list, CK_ULONG *count)
{
        CALL(C_GetMechanismList, slot, list, count);
}

CK_RV oneslot_mechanism_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_ULONG type, CK_MECHANISM_INFO *info)
{
        CALL(C_GetMechanismInfo, slot, type, info);
}

void oneslot_mechanism_infos(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, const CK_ULONG *types, CK_ULONG n,
                             CK_MECHANISM_INFO *infos, CK_RV *results)
{
        for (CK_ULONG i = 0; i < n; i++)
                results[i] = oneslot_mechanism_info(f, slot, types[i], &infos[i]);
}

CK_RV oneslot_open(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_FLAGS flags, hs *session)
{
        CALL(C_OpenSession, slot, flags, NULL, NULL, session);
}

CK_RV oneslot_session_info(CK_FUNCTION_LIST *f, hs s, CK_SESSION_INFO *info) { CALL(C_GetSessionInfo, s, info); }

CK_RV oneslot_login(CK_FUNCTION_LIST *f, hs s, CK_ULONG user, CK_BYTE *pin, CK_ULONG length)
{
        CALL(C_Login, s, user, pin, length);
}

CK_RV oneslot_set_state(CK_FUNCTION_LIST *f, hs s, CK_BYTE *state, CK_ULONG length, CK_OBJECT_HANDLE enc,
                        CK_OBJECT_HANDLE auth)
{
        CALL(C_SetOperationState, s, state, length, enc, auth);
}

CK_RV oneslot_digest_init(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m) { CALL(C_DigestInit, s, m); }

CK_RV oneslot_create(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
        CALL(C_CreateObject, s, t, n, o);
}

CK_RV oneslot_copy(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
        CALL(C_CopyObject, s, from, t, n, o);
}

CK_RV oneslot_size(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE o, CK_ULONG *size) { CALL(C_GetObjectSize, s, o, size); }

CK_RV oneslot_find_init(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n) { CALL(C_FindObjectsInit, s, t, n); }

CK_RV oneslot_find(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE *list, CK_ULONG max, CK_ULONG *count)
{
        CALL(C_FindObjects, s, list, max, count);
}

CK_RV oneslot_find_all(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *list, CK_ULONG max,
                       CK_ULONG *count, CK_BBOOL *more)
{
        CK_RV rv = oneslot_find_init(f, s, t, n);
        *count = 0;
        *more = CK_FALSE;
        if (rv != CKR_OK)
                return rv;
        while (*count < max) {
                CK_ULONG got = 0;
                rv = oneslot_find(f, s, list + *count, max - *count, &got);
                if (rv == CKR_OK && got > max - *count)
                        rv = CKR_GENERAL_ERROR;
                if (rv != CKR_OK || got == 0) {
                        oneslot_session(f->C_FindObjectsFinal, s);
                        return rv;
                }
                *count += got;
        }
        *more = CK_TRUE;
        return CKR_OK;
}

CK_RV oneslot_generate(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
        CALL(C_GenerateKey, s, m, t, n, o);
}

CK_RV oneslot_generate_pair(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_ATTRIBUTE *t2,
                            CK_ULONG n2, CK_OBJECT_HANDLE *o, CK_OBJECT_HANDLE *o2)
{
        CALL(C_GenerateKeyPair, s, m, t, n, t2, n2, o, o2);
}

CK_RV oneslot_wrap(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_OBJECT_HANDLE key, CK_BYTE *out,
                   CK_ULONG *length)
{
        CALL(C_WrapKey, s, m, by, key, out, length);
}

CK_RV oneslot_unwrap(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_BYTE *in, CK_ULONG length,
                     CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o)
{
        CALL(C_UnwrapKey, s, m, by, in, length, t, n, o);
}

CK_RV oneslot_derive(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE base, CK_ATTRIBUTE *t, CK_ULONG n,
                     CK_OBJECT_HANDLE *o)
{
        CALL(C_DeriveKey, s, m, base, t, n, o);
}

CK_RV oneslot_session(fn_session f, hs s) { THROUGH(s); }
CK_RV oneslot_in(fn_in f, hs s, CK_BYTE *in, CK_ULONG n) { THROUGH(s, in, n); }
CK_RV oneslot_out(fn_out f, hs s, CK_BYTE *out, CK_ULONG *n) { THROUGH(s, out, n); }
CK_RV oneslot_in_out(fn_in_out f, hs s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *m) { THROUGH(s, in, n, out, m); }
CK_RV oneslot_in_in(fn_in_in f, hs s, CK_BYTE *in, CK_ULONG n, CK_BYTE *in2, CK_ULONG m) { THROUGH(s, in, n, in2, m); }
CK_RV oneslot_init(fn_init f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE key) { THROUGH(s, m, key); }
CK_RV oneslot_object(fn_object f, hs s, CK_OBJECT_HANDLE o) { THROUGH(s, o); }
CK_RV oneslot_attributes(fn_attributes f, hs s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n) { THROUGH(s, o, t, n); }
