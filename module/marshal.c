/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of PROTOCOL.md. Lengths are checked in two places: grow, for what
 * the application says, and take, for what the engine says.
 */
#include "call.h"

#include <string.h>

#define LABEL_LENGTH 32

/* Room for n more bytes of the request, or NULL. */
static uint8_t *grow(struct call *c, CK_ULONG n)
{
	struct connection *to = c->connection;
	uint8_t *p;

	if (c->rv != CKR_OK)
		return NULL;
	if (n > to->limit - c->length) {
		c->rv = CKR_ARGUMENTS_BAD;
		return NULL;
	}
	if (!connection_reserve(to, c->length, c->length + n)) {
		c->rv = CKR_HOST_MEMORY;
		return NULL;
	}
	p = to->buffer + c->length;
	c->length += n;
	return p;
}

/* The next count elements of the reply, or NULL. */
static const uint8_t *take(struct call *c, CK_ULONG count, size_t size)
{
	const uint8_t *p;

	if (c->broken || count > (c->length - c->at) / size) {
		c->broken = true;
		return NULL;
	}
	p = c->connection->buffer + c->at;
	c->at += count * size;
	return p;
}

void put_raw(struct call *c, const void *data, CK_ULONG length)
{
	uint8_t *p = grow(c, length);

	if (p && length)
		memcpy(p, data, length);
}

void put_u8(struct call *c, uint8_t v) { put_raw(c, &v, sizeof(v)); }
void put_bool(struct call *c, CK_BBOOL v) { put_u8(c, v != CK_FALSE); }
void put_ulong(struct call *c, CK_ULONG v) { put_raw(c, &v, sizeof(v)); }

/* Present or not, and a number beside it: NULL keeps its length. */
static void put_presence(struct call *c, const void *data, CK_ULONG beside)
{
	put_u8(c, data != NULL);
	put_ulong(c, beside);
}

void put_bytes(struct call *c, const void *data, CK_ULONG length)
{
	put_presence(c, data, length);
	if (data)
		put_raw(c, data, length);
}

void put_label(struct call *c, const CK_UTF8CHAR *label)
{
	put_bytes(c, label, LABEL_LENGTH);
}

size_t put_bytes_begin(struct call *c)
{
	put_u8(c, 1);
	put_ulong(c, 0);
	return c->length;
}

void put_bytes_end(struct call *c, size_t begin)
{
	CK_ULONG length = c->length - begin;

	if (c->rv == CKR_OK)
		memcpy(c->connection->buffer + begin - sizeof(length), &length, sizeof(length));
}

void need(struct call *c, const void *out)
{
	if (!out)
		call_refuse(c, CKR_ARGUMENTS_BAD);
}

void need_null(struct call *c, const void *reserved)
{
	if (reserved)
		call_refuse(c, CKR_ARGUMENTS_BAD);
}

/*
 * The capacity is read once. The application may change it while the call runs,
 * and must not be able to make the reply overflow what was given.
 */
void put_room(struct call *c, const void *out, const CK_ULONG *capacity)
{
	need(c, capacity);
	if (!capacity)
		return;
	c->room = *capacity;
	c->asks_length = !out;
	put_presence(c, out, c->room);
}

void put_found(struct call *c, const void *out, CK_ULONG capacity, const CK_ULONG *count)
{
	need(c, out);
	need(c, count);
	c->room = capacity;
	put_presence(c, out, capacity);
}

/* More than a frame holds could never be answered. */
void put_fill(struct call *c, const void *out, CK_ULONG length)
{
	need(c, out);
	if (length > FRAME_MAX / 2)
		call_refuse(c, CKR_ARGUMENTS_BAD);
	c->room = length;
	put_presence(c, out, length);
}

void get_raw(struct call *c, void *out, size_t length)
{
	const uint8_t *p = take(c, length, 1);

	if (p && length)
		memcpy(out, p, length);
}

uint8_t get_u8(struct call *c)
{
	uint8_t v = 0;

	get_raw(c, &v, sizeof(v));
	return v;
}

CK_ULONG get_u64(struct call *c)
{
	CK_ULONG v = 0;

	get_raw(c, &v, sizeof(v));
	return v;
}

static bool get_presence(struct call *c)
{
	uint8_t v = get_u8(c);

	if (v > 1)
		c->broken = true;
	return v == 1;
}

/* A handle that comes with an error is none. */
void get_ulong(struct call *c, CK_ULONG *out)
{
	CK_ULONG v = get_u64(c);

	if (!c->broken && c->rv == CKR_OK)
		*out = v;
}

/*
 * An output buffer of elements of one size. Success with the length alone is
 * the answer to NULL only: the application would read what was never written.
 */
static void get_elements(struct call *c, void *out, CK_ULONG *count, size_t size)
{
	bool present = get_presence(c);
	CK_ULONG n = get_u64(c);
	const uint8_t *p;

	if (present) {
		if (n && (!out || n > c->room || c->rv != CKR_OK))
			c->broken = true;
		p = take(c, n, size);
		if (p && n)
			memcpy(out, p, n * size);
	} else if (out && n && c->rv == CKR_OK) {
		c->broken = true;
	}
	if (!c->broken)
		*count = n;
}

void get_bytes(struct call *c, CK_BYTE *out, CK_ULONG *length)
{
	get_elements(c, out, length, 1);
}

void get_ulongs(struct call *c, CK_ULONG *out, CK_ULONG *count)
{
	get_elements(c, out, count, sizeof(*out));
}

void get_fill(struct call *c, CK_BYTE *out, CK_ULONG length)
{
	CK_ULONG filled = 0;

	get_elements(c, out, &filled, 1);
	if (filled != length)
		c->broken = true;
}
