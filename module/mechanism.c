/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mechanisms: the parameter, a C structure with pointers, made flat in the form
 * that mechanisms.def gives it.
 */
#include "call.h"
#include "mechanisms_gen.h"

#include <string.h>

/* Structures that the header lacks: PKCS#11 3.0 "Mechanisms", 2.13.6, 2.3.10, 2.1.20. */
struct ccm_params {
	CK_ULONG data_length;
	CK_BYTE *nonce;
	CK_ULONG nonce_length;
	CK_BYTE *aad;
	CK_ULONG aad_length;
	CK_ULONG mac_length;
};

struct eddsa_params {
	CK_BBOOL prehash;
	CK_ULONG context_length;
	CK_BYTE *context;
};

struct rsa_aes_key_wrap_params {
	CK_ULONG aes_bits;
	CK_RSA_PKCS_OAEP_PARAMS *oaep;
};

/* CK_GCM_PARAMS as headers before 2.40 errata 01 had it, without ulIvBits. */
struct gcm_params_short {
	CK_BYTE *iv;
	CK_ULONG iv_length;
	CK_BYTE *aad;
	CK_ULONG aad_length;
	CK_ULONG tag_bits;
};

bool read_params(struct call *c, const CK_MECHANISM *m, void *params, size_t size)
{
	if (m->ulParameterLen != size) {
		call_refuse(c, CKR_MECHANISM_PARAM_INVALID);
		return false;
	}
	memcpy(params, m->pParameter, size);
	return true;
}

static void put_oaep_params(struct call *c, const CK_RSA_PKCS_OAEP_PARAMS *p)
{
	put_ulong(c, p->hashAlg);
	put_ulong(c, p->mgf);
	put_ulong(c, p->source);
	put_bytes(c, p->pSourceData, p->ulSourceDataLen);
}

static void put_oaep(struct call *c, const CK_MECHANISM *m)
{
	CK_RSA_PKCS_OAEP_PARAMS p;

	if (read_params(c, m, &p, sizeof(p)))
		put_oaep_params(c, &p);
}

static void put_rsawrap(struct call *c, const CK_MECHANISM *m)
{
	struct rsa_aes_key_wrap_params p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	if (!p.oaep) {
		call_refuse(c, CKR_MECHANISM_PARAM_INVALID);
		return;
	}
	put_ulong(c, p.aes_bits);
	put_oaep_params(c, p.oaep);
}

static void put_gcm(struct call *c, const CK_MECHANISM *m)
{
	struct gcm_params_short s;
	CK_GCM_PARAMS p;

	if (m->ulParameterLen == sizeof(s)) {
		memcpy(&s, m->pParameter, sizeof(s));
		p = (CK_GCM_PARAMS){ s.iv, s.iv_length, 8 * s.iv_length,
				     s.aad, s.aad_length, s.tag_bits };
	} else if (!read_params(c, m, &p, sizeof(p))) {
		return;
	}
	put_bytes(c, p.iv_ptr, p.iv_len);
	c->back.first = p.iv_ptr;	/* some tokens choose it themselves */
	c->back.first_length = p.iv_len;
	put_ulong(c, p.iv_bits);
	put_bytes(c, p.aad_ptr, p.aad_len);
	put_ulong(c, p.tag_bits);
}

static void put_ccm(struct call *c, const CK_MECHANISM *m)
{
	struct ccm_params p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_ulong(c, p.data_length);
	put_bytes(c, p.nonce, p.nonce_length);
	put_bytes(c, p.aad, p.aad_length);
	put_ulong(c, p.mac_length);
}

static void put_ecdh(struct call *c, const CK_MECHANISM *m)
{
	CK_ECDH1_DERIVE_PARAMS p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_ulong(c, p.kdf);
	put_bytes(c, p.shared_data, p.shared_data_len);
	put_bytes(c, p.public_data, p.public_data_len);
}

static void put_string(struct call *c, const CK_MECHANISM *m)
{
	CK_KEY_DERIVATION_STRING_DATA p;

	if (read_params(c, m, &p, sizeof(p)))
		put_bytes(c, p.string_data, p.string_data_len);
}

static void put_cbcdata8(struct call *c, const CK_MECHANISM *m)
{
	CK_DES_CBC_ENCRYPT_DATA_PARAMS p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_raw(c, p.iv, sizeof(p.iv));
	put_bytes(c, p.data_params, p.length);
}

static void put_cbcdata16(struct call *c, const CK_MECHANISM *m)
{
	CK_AES_CBC_ENCRYPT_DATA_PARAMS p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_raw(c, p.iv, sizeof(p.iv));
	put_bytes(c, p.data_params, p.length);
}

static void put_eddsa(struct call *c, const CK_MECHANISM *m)
{
	struct eddsa_params p;

	if (m->ulParameterLen == 0 || !read_params(c, m, &p, sizeof(p)))
		return;
	put_u8(c, p.prehash);
	put_bytes(c, p.context, p.context_length);
}

static void put_key(struct call *c, const CK_MECHANISM *m)
{
	CK_OBJECT_HANDLE key;

	if (read_params(c, m, &key, sizeof(key)))
		put_ulong(c, key);
}

static void put_params(struct call *c, const CK_MECHANISM *m)
{
	switch (mechanism_form(m->mechanism)) {
	case FORM_RAW:
		put_raw(c, m->pParameter, m->ulParameterLen);
		break;
	case FORM_OAEP:
		put_oaep(c, m);
		break;
	case FORM_GCM:
		put_gcm(c, m);
		break;
	case FORM_CCM:
		put_ccm(c, m);
		break;
	case FORM_ECDH:
		put_ecdh(c, m);
		break;
	case FORM_STRING:
		put_string(c, m);
		break;
	case FORM_CBCDATA8:
		put_cbcdata8(c, m);
		break;
	case FORM_CBCDATA16:
		put_cbcdata16(c, m);
		break;
	case FORM_EDDSA:
		put_eddsa(c, m);
		break;
	case FORM_RSAWRAP:
		put_rsawrap(c, m);
		break;
	case FORM_KEY:
		put_key(c, m);
		break;
	case FORM_MASTER:
	case FORM_MASTER12:
		put_master(c, m, mechanism_form(m->mechanism) == FORM_MASTER12);
		break;
	case FORM_MATERIAL:
	case FORM_MATERIAL12:
		put_material(c, m, mechanism_form(m->mechanism) == FORM_MATERIAL12);
		break;
	case FORM_PRF:
		put_prf(c, m);
		break;
	case FORM_KDF:
		put_kdf(c, m);
		break;
	case FORM_PBE:
		put_pbe(c, m);
		break;
	case FORM_NONE:
	case FORM_UNKNOWN:
		if (m->ulParameterLen)
			call_refuse(c, CKR_MECHANISM_PARAM_INVALID);
		break;
	}
}

void put_mechanism(struct call *c, const CK_MECHANISM *m)
{
	size_t begin;

	need(c, m);
	if (c->rv != CKR_OK)
		return;
	put_u8(c, 1);
	put_ulong(c, m->mechanism);
	if (!m->pParameter) {
		put_bytes(c, NULL, m->ulParameterLen);
		return;
	}
	begin = put_bytes_begin(c);
	put_params(c, m);
	put_bytes_end(c, begin);
}

void put_beginning(struct call *c, const CK_MECHANISM *m)
{
	if (m) {
		put_mechanism(c, m);
		return;
	}
	put_u8(c, 0);
	put_ulong(c, 0);
	put_bytes(c, NULL, 0);
}
