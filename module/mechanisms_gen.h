/* SPDX-License-Identifier: Apache-2.0 */
/* Code generated from wire/mechanisms.def by wire/gen. DO NOT EDIT. */
#ifndef ONESLOT_MECHANISMS_GEN_H
#define ONESLOT_MECHANISMS_GEN_H

#include "cryptoki.h"

/* How the parameter of a mechanism travels; PROTOCOL.md, "Mechanism parameters". */
enum mechanism_form {
	FORM_UNKNOWN,
	FORM_NONE,
	FORM_RAW,
	FORM_OAEP,
	FORM_GCM,
	FORM_CCM,
	FORM_ECDH,
	FORM_STRING,
	FORM_CBCDATA8,
	FORM_CBCDATA16,
	FORM_EDDSA,
	FORM_RSAWRAP,
	FORM_KEY,
	FORM_MASTER,
	FORM_MASTER12,
	FORM_MATERIAL,
	FORM_MATERIAL12,
	FORM_PRF,
	FORM_KDF,
	FORM_PBE,
};

enum mechanism_form mechanism_form(CK_MECHANISM_TYPE type);

#endif
