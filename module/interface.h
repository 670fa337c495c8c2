/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of functions that applications get. */
#ifndef ONESLOT_INTERFACE_H
#define ONESLOT_INTERFACE_H

#include "cryptoki.h"

/* Generated, in stubs_gen.c. */
extern const CK_FUNCTION_LIST functions_2_40;
extern const CK_FUNCTION_LIST_3_0 functions_3_0;

/* C_GetInfo of the 3.0 list. */
CK_RV get_info_3_0(CK_INFO_PTR info);

#endif
