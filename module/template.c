/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates, the questions of C_GetAttributeValue, and its answers. Attributes
 * whose value is a list of attributes nest in all three.
 */
#include "call.h"

/* Limits of PROTOCOL.md. */
#define ATTRIBUTES_MAX 1024
#define DEPTH_MAX 4

/* How a value or a question is written down. */
enum form { FORM_NULL = 0, FORM_FLAT = 1, FORM_ARRAY = 2 };

/* How an answer is written down. */
enum answer {
	ANSWER_LENGTH = 0,
	ANSWER_VALUE = 1,
	ANSWER_ARRAY = 2,
	ANSWER_UNAVAILABLE = 3,
	ANSWER_ARRAY_LENGTH = 4,
};

/* Their value holds pointers. CKA_ALLOWED_MECHANISMS is an array without any. */
static bool is_template(CK_ATTRIBUTE_TYPE type)
{
	return type == CKA_WRAP_TEMPLATE || type == CKA_UNWRAP_TEMPLATE ||
	       type == CKA_DERIVE_TEMPLATE;
}

static enum form form_of(const CK_ATTRIBUTE *a)
{
	if (!a->pValue)
		return FORM_NULL;
	return is_template(a->type) ? FORM_ARRAY : FORM_FLAT;
}

/* The number is limited for the whole call, whatever lists it is spread over. */
static bool within_limits(struct call *c, CK_ULONG count, int depth)
{
	if (count > ATTRIBUTES_MAX - c->attributes || depth > DEPTH_MAX)
		call_refuse(c, CKR_ARGUMENTS_BAD);
	else
		c->attributes += count;
	return c->rv == CKR_OK;
}

static void put_attributes(struct call *c, const CK_ATTRIBUTE *a, CK_ULONG count, int depth)
{
	if (!within_limits(c, count, depth))
		return;
	for (; count; a++, count--) {
		CK_ULONG nested = a->ulValueLen / sizeof(*a);
		enum form form = form_of(a);

		put_ulong(c, a->type);
		put_u8(c, form);
		put_ulong(c, form == FORM_ARRAY ? nested : a->ulValueLen);
		if (form == FORM_FLAT) {
			put_raw(c, a->pValue, a->ulValueLen);
		} else if (form == FORM_ARRAY) {
			if (a->ulValueLen % sizeof(*a))
				call_refuse(c, CKR_ATTRIBUTE_VALUE_INVALID);
			put_attributes(c, a->pValue, nested, depth + 1);
		}
	}
}

/* The receiver takes NULL for an empty list, so NULL with a count stops here. */
static void put_presence(struct call *c, const CK_ATTRIBUTE *list, CK_ULONG count)
{
	if (!list && count)
		call_refuse(c, CKR_ARGUMENTS_BAD);
	put_u8(c, list != NULL);
	put_ulong(c, count);
}

void put_template(struct call *c, const CK_ATTRIBUTE *list, CK_ULONG count)
{
	put_presence(c, list, count);
	if (list)
		put_attributes(c, list, count, 0);
}

/* Bytes beyond the last whole attribute in the room for an array are no room. */
static void put_questions(struct call *c, const CK_ATTRIBUTE *a, CK_ULONG count, int depth)
{
	if (!within_limits(c, count, depth))
		return;
	for (; count; a++, count--) {
		CK_ULONG nested = a->ulValueLen / sizeof(*a);
		enum form form = form_of(a);

		put_ulong(c, a->type);
		put_u8(c, form);
		put_ulong(c, form == FORM_ARRAY ? nested : a->ulValueLen);
		if (form == FORM_ARRAY)
			put_questions(c, a->pValue, nested, depth + 1);
	}
}

void put_query(struct call *c, const CK_ATTRIBUTE *list, CK_ULONG count)
{
	put_presence(c, list, count);
	if (list)
		put_questions(c, list, count, 0);
}

static void get_list(struct call *c, CK_ATTRIBUTE *a, CK_ULONG count, int depth);

/*
 * One answer into the place it was asked for. The room is what ulValueLen said;
 * an engine that answers with more, or with a length instead of the value
 * although all went well, is not believed. Nor is one that takes a value for an
 * array or the reverse: what the application gave would be read as pointers.
 */
static void get_answer(struct call *c, CK_ATTRIBUTE *a, CK_ATTRIBUTE_TYPE type, int depth)
{
	enum answer form = get_u8(c);
	CK_ULONG length = get_u64(c);
	bool array = is_template(a->type) && is_template(type);
	bool flat = !is_template(a->type) && !is_template(type);
	bool unasked = a->pValue && c->rv == CKR_OK;

	if (c->broken)
		return;
	switch (form) {
	case ANSWER_LENGTH:
		c->broken = unasked;
		break;
	case ANSWER_VALUE:
		c->broken = !a->pValue || !flat || length > a->ulValueLen;
		if (!c->broken)
			get_raw(c, a->pValue, length);
		break;
	case ANSWER_ARRAY:
		c->broken = !a->pValue || !array || length > a->ulValueLen / sizeof(*a);
		if (!c->broken)
			get_list(c, a->pValue, length, depth + 1);
		length *= sizeof(*a);
		break;
	case ANSWER_UNAVAILABLE:
		c->broken = length != CK_UNAVAILABLE_INFORMATION;
		break;
	case ANSWER_ARRAY_LENGTH:
		c->broken = unasked || length > ATTRIBUTES_MAX;
		length *= sizeof(*a);
		break;
	default:
		c->broken = true;
	}
	if (c->broken)
		return;
	a->type = type;
	a->ulValueLen = length;
}

/*
 * Of the attributes of an array the application learns the types here; at the
 * top it gave them.
 */
static void get_list(struct call *c, CK_ATTRIBUTE *a, CK_ULONG count, int depth)
{
	for (; count && !c->broken; a++, count--) {
		CK_ATTRIBUTE_TYPE type = get_u64(c);

		if (depth > DEPTH_MAX || (depth == 0 && type != a->type))
			c->broken = true;
		else
			get_answer(c, a, type, depth);
	}
}

void get_answers(struct call *c, CK_ATTRIBUTE *list, CK_ULONG count)
{
	if (get_u64(c) != count)
		c->broken = true;
	else
		get_list(c, list, count, 0);
}
