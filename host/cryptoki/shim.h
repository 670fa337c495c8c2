/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What cgo cannot do by itself: open a module, and call through the pointers of
 * its function list. Functions of one shape share a caller.
 */
#ifndef ONESLOT_SHIM_H
#define ONESLOT_SHIM_H

#include <p11-kit/pkcs11.h>

#include <stdatomic.h>

typedef CK_SESSION_HANDLE hs;
typedef CK_RV (*fn_session)(hs);
typedef CK_RV (*fn_in)(hs, CK_BYTE *, CK_ULONG);
typedef CK_RV (*fn_out)(hs, CK_BYTE *, CK_ULONG *);
typedef CK_RV (*fn_in_out)(hs, CK_BYTE *, CK_ULONG, CK_BYTE *, CK_ULONG *);
typedef CK_RV (*fn_in_in)(hs, CK_BYTE *, CK_ULONG, CK_BYTE *, CK_ULONG);
typedef CK_RV (*fn_init)(hs, CK_MECHANISM *, CK_OBJECT_HANDLE);
typedef CK_RV (*fn_object)(hs, CK_OBJECT_HANDLE);
typedef CK_RV (*fn_attributes)(hs, CK_OBJECT_HANDLE, CK_ATTRIBUTE *, CK_ULONG);

/* In slack.c: before a thread calls the vendor's library for the first time. */
void oneslot_on_time(void);

/* In pace.c: around a call of the library. What enter returns is for leave. */
long oneslot_enter(void);
void oneslot_leave(long entered);
/* Not 0: the library waits in many of its calls. */
extern atomic_uint oneslot_waits;

/* Opens the module and fetches its list. On failure returns NULL, and *reason
 * is a text that the caller frees. */
CK_FUNCTION_LIST *oneslot_load(const char *path, char **reason);

CK_RV oneslot_initialize(CK_FUNCTION_LIST *f, char *reserved);
CK_RV oneslot_finalize(CK_FUNCTION_LIST *f);
CK_RV oneslot_info(CK_FUNCTION_LIST *f, CK_INFO *info);
CK_RV oneslot_slots(CK_FUNCTION_LIST *f, CK_SLOT_ID *list, CK_ULONG *count);
CK_RV oneslot_slot_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_SLOT_INFO *info);
CK_RV oneslot_token_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_TOKEN_INFO *info);
CK_RV oneslot_mechanisms(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_ULONG *list, CK_ULONG *count);
CK_RV oneslot_mechanism_info(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_ULONG type, CK_MECHANISM_INFO *info);
/* The same for n types: a call from Go costs more than what most modules do in it. */
void oneslot_mechanism_infos(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, const CK_ULONG *types, CK_ULONG n,
                             CK_MECHANISM_INFO *infos, CK_RV *results);
CK_RV oneslot_open(CK_FUNCTION_LIST *f, CK_SLOT_ID slot, CK_FLAGS flags, hs *session);

CK_RV oneslot_session_info(CK_FUNCTION_LIST *f, hs s, CK_SESSION_INFO *info);
CK_RV oneslot_login(CK_FUNCTION_LIST *f, hs s, CK_ULONG user, CK_BYTE *pin, CK_ULONG length);
CK_RV oneslot_set_state(CK_FUNCTION_LIST *f, hs s, CK_BYTE *state, CK_ULONG length, CK_OBJECT_HANDLE enc, CK_OBJECT_HANDLE auth);
CK_RV oneslot_digest_init(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m);

CK_RV oneslot_create(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o);
CK_RV oneslot_copy(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE from, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o);
CK_RV oneslot_size(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE o, CK_ULONG *size);
CK_RV oneslot_find_init(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n);
CK_RV oneslot_find(CK_FUNCTION_LIST *f, hs s, CK_OBJECT_HANDLE *list, CK_ULONG max, CK_ULONG *count);
/* A whole search: *count of the list are filled. With *more set it is still open, since
 * the list is full. */
CK_RV oneslot_find_all(CK_FUNCTION_LIST *f, hs s, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *list, CK_ULONG max,
                       CK_ULONG *count, CK_BBOOL *more);
CK_RV oneslot_generate(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o);
CK_RV oneslot_generate_pair(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n,
                            CK_ATTRIBUTE *t2, CK_ULONG n2, CK_OBJECT_HANDLE *o, CK_OBJECT_HANDLE *o2);
CK_RV oneslot_wrap(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_OBJECT_HANDLE key,
                   CK_BYTE *out, CK_ULONG *length);
CK_RV oneslot_unwrap(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE by, CK_BYTE *in, CK_ULONG length,
                     CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *o);
CK_RV oneslot_derive(CK_FUNCTION_LIST *f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE base, CK_ATTRIBUTE *t, CK_ULONG n,
                     CK_OBJECT_HANDLE *o);

CK_RV oneslot_session(fn_session f, hs s);
CK_RV oneslot_in(fn_in f, hs s, CK_BYTE *in, CK_ULONG n);
CK_RV oneslot_out(fn_out f, hs s, CK_BYTE *out, CK_ULONG *n);
CK_RV oneslot_in_out(fn_in_out f, hs s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *m);
CK_RV oneslot_in_in(fn_in_in f, hs s, CK_BYTE *in, CK_ULONG n, CK_BYTE *in2, CK_ULONG m);
CK_RV oneslot_init(fn_init f, hs s, CK_MECHANISM *m, CK_OBJECT_HANDLE key);
CK_RV oneslot_object(fn_object f, hs s, CK_OBJECT_HANDLE o);
CK_RV oneslot_attributes(fn_attributes f, hs s, CK_OBJECT_HANDLE o, CK_ATTRIBUTE *t, CK_ULONG n);

#endif
