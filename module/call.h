/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call: built with put_, sent, its reply read with get_. The first error
 * sticks: after it every put_ and get_ does nothing, nothing is sent, and
 * call_end returns it.
 */
#ifndef ONESLOT_CALL_H
#define ONESLOT_CALL_H

#include "connection.h"
#include "operation.h"

#include "cryptoki.h"

/* CK_SSL3_KEY_MAT_OUT: MAC keys of client and server, then their keys. */
struct key_material {
	CK_OBJECT_HANDLE keys[4];
	CK_BYTE *client_iv, *server_iv;
};

/* Where the application wants what returns in a mechanism's parameter. */
struct back {
	CK_BYTE *first, *second;	/* NULL: not wanted */
	CK_ULONG first_length, second_length;
	CK_ULONG *length;		/* told how much first got, which may be less */
	struct key_material *keys;
	bool instead;			/* of the handle of a derived key */
};

struct call {
	CK_RV rv;	/* the first error, then what the engine answered */
	bool broken;	/* the reply cannot be believed, nor the connection */
	uint32_t number;
	const int *passed;	/* two descriptors to send along, or NULL */
	struct connection *connection;
	size_t length;	/* of the frame in the connection's buffer */
	size_t at;	/* next byte of the reply */
	CK_ULONG attributes;	/* in the templates and questions so far */
	CK_ULONG room;	/* capacity that the application gave, as it was sent */
	bool asks_length;	/* it gave no buffer */
	struct part part;
	struct back back;
};

/* Borrows a connection for a call. False: return c->rv. */
bool call_begin(struct call *c, uint32_t number);
/* The same on a connection that the caller holds. */
void call_start(struct call *c, struct connection *n, uint32_t number);
/* What was put into it. */
const uint8_t *call_arguments(struct call *c, size_t *length);
bool call_was_sent(const struct call *c);
/* True if the engine answered and the reply is to be read. */
bool call_send(struct call *c);
/* Checks that the reply was read to its last byte. */
void call_check(struct call *c);
CK_RV call_end(struct call *c);

/* What a function returns that no member offers. */
CK_RV call_unsupported(void);

/* Fails the call before it is sent. */
void call_refuse(struct call *c, CK_RV rv);

/* The values of PROTOCOL.md, in marshal.c. */
void put_u8(struct call *c, uint8_t v);
void put_bool(struct call *c, CK_BBOOL v);
void put_ulong(struct call *c, CK_ULONG v);
void put_raw(struct call *c, const void *data, CK_ULONG length);
void put_bytes(struct call *c, const void *data, CK_ULONG length);
void put_label(struct call *c, const CK_UTF8CHAR *label);
void put_room(struct call *c, const void *out, const CK_ULONG *capacity);
void put_found(struct call *c, const void *out, CK_ULONG capacity, const CK_ULONG *count);
void put_fill(struct call *c, const void *out, CK_ULONG length);
/* `bytes` whose content is put in between. */
size_t put_bytes_begin(struct call *c);
void put_bytes_end(struct call *c, size_t begin);
/* A pointer through which the reply will be written, or that must be NULL. */
void need(struct call *c, const void *out);
void need_null(struct call *c, const void *reserved);

uint8_t get_u8(struct call *c);
CK_ULONG get_u64(struct call *c);
void get_raw(struct call *c, void *out, size_t length);
void get_ulong(struct call *c, CK_ULONG *out);
void get_bytes(struct call *c, CK_BYTE *out, CK_ULONG *length);
void get_ulongs(struct call *c, CK_ULONG *out, CK_ULONG *count);
void get_fill(struct call *c, CK_BYTE *out, CK_ULONG length);
void get_info(struct call *c, CK_INFO *out);
void get_slotinfo(struct call *c, CK_SLOT_INFO *out);
void get_tokeninfo(struct call *c, CK_TOKEN_INFO *out);
void get_sessioninfo(struct call *c, CK_SESSION_INFO *out);
void get_mechanisminfo(struct call *c, CK_MECHANISM_INFO *out);

/* In template.c. */
void put_template(struct call *c, const CK_ATTRIBUTE *list, CK_ULONG count);
void put_query(struct call *c, const CK_ATTRIBUTE *list, CK_ULONG count);
void get_answers(struct call *c, CK_ATTRIBUTE *list, CK_ULONG count);

/* In mechanism.c. */
void put_mechanism(struct call *c, const CK_MECHANISM *m);
/* The parameter, if it has this size: nobody promised that it is aligned. */
bool read_params(struct call *c, const CK_MECHANISM *m, void *params, size_t size);
/* Of an Init, where NULL ends the active operation instead (3.0, 5.8.1 and others). */
void put_beginning(struct call *c, const CK_MECHANISM *m);

/* In returned.c: parameters that the token writes into, and what it wrote. */
void put_master(struct call *c, const CK_MECHANISM *m, bool hash);
void put_material(struct call *c, const CK_MECHANISM *m, bool hash);
void put_prf(struct call *c, const CK_MECHANISM *m);
void put_kdf(struct call *c, const CK_MECHANISM *m);
void put_pbe(struct call *c, const CK_MECHANISM *m);
void need_derived(struct call *c, const CK_OBJECT_HANDLE *key);
void get_derived(struct call *c, CK_OBJECT_HANDLE *key);
void get_returned(struct call *c);

#endif
