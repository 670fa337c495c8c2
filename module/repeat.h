/* SPDX-License-Identifier: Apache-2.0 */
/* Which Init of an operation is like another one. */
#ifndef ONESLOT_REPEAT_H
#define ONESLOT_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether an Init has the answer of one with other arguments of the same length: they are
 * the same but for the IV of a mechanism that takes any.
 */
bool init_repeats(const uint8_t *last, const uint8_t *args, size_t length);

#endif
