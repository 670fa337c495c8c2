/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "process.h"

#include <string.h>

/* Offsets in a reply: u32 length of the rest, u32 call, u64 rv. */
#define CALL_AT 4
#define REQUEST_HEADER 8
#define RV_AT 8
#define REPLY_HEADER 16

void call_start(struct call *c, struct connection *n, uint32_t number)
{
	*c = (struct call){
		.number = number,
		.connection = n,
		.length = REQUEST_HEADER,
	};
}

bool call_begin(struct call *c, uint32_t number)
{
	CK_RV rv = CKR_OK;
	struct sessions *all;
	struct connection *n = process_borrow(&rv, &all);

	call_start(c, n, number);
	c->rv = rv;
	if (n)
		operation_begin(c, all);
	return n != NULL;
}

const uint8_t *call_arguments(struct call *c, size_t *length)
{
	*length = c->length - REQUEST_HEADER;
	return c->connection->buffer + REQUEST_HEADER;
}

bool call_was_sent(const struct call *c) { return c->at != 0; }

void call_refuse(struct call *c, CK_RV rv)
{
	if (c->rv == CKR_OK)
		c->rv = rv;
}

CK_RV call_unsupported(void)
{
	return process_initialized() ? CKR_FUNCTION_NOT_SUPPORTED
				     : CKR_CRYPTOKI_NOT_INITIALIZED;
}

static bool has_body(CK_RV rv)
{
	return rv == CKR_OK || rv == CKR_BUFFER_TOO_SMALL ||
	       rv == CKR_ATTRIBUTE_SENSITIVE || rv == CKR_ATTRIBUTE_TYPE_INVALID;
}

bool call_send(struct call *c)
{
	uint8_t *frame = c->connection->buffer;
	uint32_t rest = (uint32_t)(c->length - CALL_AT);
	uint32_t answered;

	/* What a refused call wrote has to be forgotten as well. */
	c->connection->used = c->length;
	if (c->rv != CKR_OK || operation_put_off(c))
		return false;
	memcpy(frame, &rest, sizeof(rest));
	memcpy(frame + CALL_AT, &c->number, sizeof(c->number));
	c->length = connection_exchange(c->connection, c->length, c->passed);
	c->at = REPLY_HEADER;

	frame = c->connection->buffer;
	memcpy(&answered, frame + CALL_AT, sizeof(answered));
	if (c->length < REPLY_HEADER || answered != c->number) {
		c->broken = true;
		return false;
	}
	memcpy(&c->rv, frame + RV_AT, sizeof(c->rv));
	return has_body(c->rv);
}

void call_check(struct call *c)
{
	if (call_was_sent(c) && c->at != c->length)
		c->broken = true;
	if (c->broken)
		c->rv = CKR_DEVICE_ERROR;
}

CK_RV call_end(struct call *c)
{
	bool finalized;

	call_check(c);
	operation_end(c);
	connection_wipe(c->connection);
	finalized = process_return(c->connection, c->broken);
	return c->broken && finalized ? CKR_CRYPTOKI_NOT_INITIALIZED : c->rv;
}
