/* SPDX-License-Identifier: Apache-2.0 */
/* The header of PKCS#11, whose functions are all that this library exports. */
#ifndef ONESLOT_CRYPTOKI_H
#define ONESLOT_CRYPTOKI_H

#pragma GCC visibility push(default)
#include <p11-kit/pkcs11.h>
#pragma GCC visibility pop

#endif
