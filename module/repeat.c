/* SPDX-License-Identifier: Apache-2.0 */
#include "repeat.h"
#include "cryptoki.h"

#include <string.h>

/* Where the parts of an Init are in its arguments: session, mechanism with its
 * parameter, key (calls.def). */
enum { TYPE_AT = 8 + 1, LENGTH_AT = TYPE_AT + 8 + 1, PARAMETER_AT = LENGTH_AT + 8, KEY_SIZE = 8 };

/* The length of the mechanism's parameter if that is an IV, of which any is as good. */
static size_t iv_length(const uint8_t *args, size_t length)
{
	uint64_t type, n;

	if (length < PARAMETER_AT + KEY_SIZE)
		return 0;
	memcpy(&type, args + TYPE_AT, sizeof(type));
	memcpy(&n, args + LENGTH_AT, sizeof(n));
	switch (type) {
	case CKM_AES_CBC:
	case CKM_AES_CBC_PAD:
	case CKM_DES3_CBC:
	case CKM_DES3_CBC_PAD:
		return n == length - PARAMETER_AT - KEY_SIZE ? n : 0;
	}
	return 0;
}

bool init_repeats(const uint8_t *last, const uint8_t *args, size_t length)
{
	size_t iv = iv_length(args, length);

	if (!iv)
		return !memcmp(last, args, length);
	return !memcmp(last, args, PARAMETER_AT) &&
	       !memcmp(last + PARAMETER_AT + iv, args + PARAMETER_AT + iv, KEY_SIZE);
}
