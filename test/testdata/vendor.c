/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's module: SoftHSM, with mechanisms that write into their parameter.
 * The keys are no real ones: they are made of the parameter, so that a test can
 * tell them apart. With VENDOR_LATE set, IVs are chosen in C_Encrypt.
 */
#include "parameters.h"

static CK_FUNCTION_LIST *soft, list;

static const CK_MECHANISM_TYPE added[] = {
	CKM_TLS12_MASTER_KEY_DERIVE, CKM_TLS12_KEY_AND_MAC_DERIVE, CKM_TLS_PRF, CKM_PBE_SHA1_DES3_EDE_CBC,
};
#define ADDED (sizeof(added) / sizeof(added[0]))

static CK_RV mechanism_list(CK_SLOT_ID slot, CK_MECHANISM_TYPE *out, CK_ULONG *count)
{
	CK_ULONG n = 0, room = *count;
	CK_RV rv = soft->C_GetMechanismList(slot, NULL, &n);

	*count = n + ADDED;
	if (rv != CKR_OK || !out)
		return rv;
	if (room < *count)
		return CKR_BUFFER_TOO_SMALL;
	rv = soft->C_GetMechanismList(slot, out, &n);
	memcpy(out + n, added, sizeof(added));
	return rv;
}

static CK_RV mechanism_info(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO *info)
{
	for (size_t i = 0; i < ADDED; i++)
		if (added[i] == type) {
			*info = (CK_MECHANISM_INFO){ 0, 0, i == 3 ? CKF_GENERATE : CKF_DERIVE };
			return CKR_OK;
		}
	return soft->C_GetMechanismInfo(slot, type, info);
}

/* A secret key with this value, as the template wants it. */
static CK_RV make(CK_SESSION_HANDLE s, CK_ATTRIBUTE *t, CK_ULONG n, const void *value, CK_ULONG length,
		  CK_OBJECT_HANDLE *key)
{
	CK_OBJECT_CLASS class = CKO_SECRET_KEY;
	CK_KEY_TYPE type = CKK_GENERIC_SECRET;
	CK_ATTRIBUTE all[32] = {
		{ CKA_CLASS, &class, sizeof(class) },
		{ CKA_KEY_TYPE, &type, sizeof(type) },
		{ CKA_VALUE, (void *)value, length },
	};
	CK_ULONG m = 3;

	for (CK_ULONG i = 0; i < n && m < 32; i++)
		if (t[i].type != CKA_CLASS && t[i].type != CKA_KEY_TYPE && t[i].type != CKA_VALUE_LEN)
			all[m++] = t[i];
	return soft->C_CreateObject(s, all, m, key);
}

static CK_RV material(CK_SESSION_HANDLE s, struct material12 *p, CK_ATTRIBUTE *t, CK_ULONG n)
{
	CK_BYTE value[32];

	for (int i = p->mac_bits ? 0 : 2; i < 4; i++) {
		CK_ULONG length = (i < 2 ? p->mac_bits : p->key_bits) / 8;
		CK_RV rv;

		memset(value, 'A' + i, sizeof(value));
		rv = make(s, t, n, value, length, &p->out->keys[i]);
		if (rv != CKR_OK)
			return rv;
	}
	memset(p->out->client_iv, p->random.client[0], p->iv_bits / 8);
	memset(p->out->server_iv, p->random.server[0], p->iv_bits / 8);
	return CKR_OK;
}

static CK_RV derive(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE base, CK_ATTRIBUTE *t, CK_ULONG n,
		    CK_OBJECT_HANDLE *key)
{
	switch (m->mechanism) {
	case CKM_TLS12_MASTER_KEY_DERIVE: {
		struct master12 *p = m->pParameter;

		if (m->ulParameterLen != sizeof(*p))
			return CKR_MECHANISM_PARAM_INVALID;
		*p->version = (CK_VERSION){ 3, 3 };
		return make(s, t, n, "012345678901234567890123456789012345678901234567", 48, key);
	}
	case CKM_TLS12_KEY_AND_MAC_DERIVE:
		if (m->ulParameterLen != sizeof(struct material12) || key)
			return CKR_MECHANISM_PARAM_INVALID;
		return material(s, m->pParameter, t, n);
	case CKM_TLS_PRF: {
		struct prf *p = m->pParameter;

		if (m->ulParameterLen != sizeof(*p) || *p->output_length < p->label_length || key)
			return CKR_MECHANISM_PARAM_INVALID;
		memset(p->output, p->seed[0], *p->output_length);
		memcpy(p->output, p->label, p->label_length);
		return CKR_OK;
	}
	}
	return soft->C_DeriveKey(s, m, base, t, n, key);
}

static CK_RV generate(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_ATTRIBUTE *t, CK_ULONG n, CK_OBJECT_HANDLE *key)
{
	struct pbe *p = m->pParameter;

	if (m->mechanism != CKM_PBE_SHA1_DES3_EDE_CBC)
		return soft->C_GenerateKey(s, m, t, n, key);
	if (m->ulParameterLen != sizeof(*p) || p->iterations != 1000)
		return CKR_MECHANISM_PARAM_INVALID;
	if (p->iv)
		memcpy(p->iv, p->salt, 8);
	return make(s, t, n, p->password, p->password_length, key);
}

/* An IV of zeros is an order to choose one. */
static CK_BYTE *chosen;

static CK_RV encrypt_init(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key)
{
	static const CK_BYTE zeros[12];

	if (m->mechanism == CKM_AES_GCM) {
		CK_GCM_PARAMS *p = m->pParameter;

		chosen = NULL;
		if (p->iv_len == 12 && !memcmp(p->iv_ptr, zeros, 12)) {
			chosen = p->iv_ptr;
			if (!getenv("VENDOR_LATE"))
				soft->C_GenerateRandom(s, chosen, 12);
		}
	}
	return soft->C_EncryptInit(s, m, key);
}

static CK_RV encrypt(CK_SESSION_HANDLE s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *length)
{
	if (chosen && out && getenv("VENDOR_LATE"))
		soft->C_GenerateRandom(s, chosen, 12);
	return soft->C_Encrypt(s, in, n, out, length);
}

/* Nobody's module should do this. */
static CK_RV seed(CK_SESSION_HANDLE s, CK_BYTE *data, CK_ULONG n)
{
	if (n == 5 && !memcmp(data, "crash", 5))
		*(volatile int *)NULL = 0;
	return soft->C_SeedRandom(s, data, n);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
	soft = load("/usr/lib/softhsm/libsofthsm2.so");
	list = *soft;
	list.C_GetMechanismList = mechanism_list;
	list.C_GetMechanismInfo = mechanism_info;
	list.C_DeriveKey = derive;
	list.C_GenerateKey = generate;
	list.C_EncryptInit = encrypt_init;
	list.C_Encrypt = encrypt;
	list.C_SeedRandom = seed;
	*out = &list;
	return CKR_OK;
}
