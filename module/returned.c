/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of mechanisms into which the token writes: what is asked, and what
 * comes back. Where to write is read once, when the call is put together, so
 * that the reply cannot overflow what was given.
 */
#include "call.h"

#include <string.h>

/* CK_SSL3_RANDOM_DATA */
struct tls_random {
	CK_BYTE *client;
	CK_ULONG client_length;
	CK_BYTE *server;
	CK_ULONG server_length;
};

/* PKCS#11 2.40, mechanisms, 2.26.4 and 2.27.4; those for TLS 1.2 only add a hash. */
struct master_params {
	struct tls_random random;
	CK_VERSION *version;
	CK_MECHANISM_TYPE hash;
};

struct material_params {
	CK_ULONG mac_bits, key_bits, iv_bits;
	CK_BBOOL export;
	struct tls_random random;
	struct key_material *out;
	CK_MECHANISM_TYPE hash;
};

struct prf_params {
	CK_BYTE *seed;
	CK_ULONG seed_length;
	CK_BYTE *label;
	CK_ULONG label_length;
	CK_BYTE *output;
	CK_ULONG *output_length;
};

struct kdf_params {
	CK_MECHANISM_TYPE prf;
	CK_BYTE *label;
	CK_ULONG label_length;
	struct tls_random random;
	CK_BYTE *context;
	CK_ULONG context_length;
};

struct pbe_params {
	CK_BYTE *iv;
	CK_BYTE *password;
	CK_ULONG password_length;
	CK_BYTE *salt;
	CK_ULONG salt_length;
	CK_ULONG iterations;
};

#define PBE_IV_LENGTH 8

static void put_random(struct call *c, const struct tls_random *r)
{
	put_bytes(c, r->client, r->client_length);
	put_bytes(c, r->server, r->server_length);
}

void put_master(struct call *c, const CK_MECHANISM *m, bool hash)
{
	struct master_params p;
	size_t size = hash ? sizeof(p) : offsetof(struct master_params, hash);

	if (!read_params(c, m, &p, size))
		return;
	put_random(c, &p.random);
	put_bytes(c, p.version, p.version ? sizeof(*p.version) : 0);
	if (hash)
		put_ulong(c, p.hash);
	c->back.first = (CK_BYTE *)p.version;
	c->back.first_length = sizeof(*p.version);
}

void put_material(struct call *c, const CK_MECHANISM *m, bool hash)
{
	struct material_params p;
	size_t size = hash ? sizeof(p) : offsetof(struct material_params, hash);

	c->back.instead = true;
	if (!read_params(c, m, &p, size))
		return;
	/* More than a frame holds could never be answered. */
	if (!p.out || p.iv_bits / 8 > FRAME_MAX / 4) {
		call_refuse(c, CKR_MECHANISM_PARAM_INVALID);
		return;
	}
	put_ulong(c, p.mac_bits);
	put_ulong(c, p.key_bits);
	put_ulong(c, p.iv_bits);
	put_bool(c, p.export);
	put_random(c, &p.random);
	c->back.keys = p.out;
	c->back.first_length = c->back.second_length = p.iv_bits / 8;
	if (p.iv_bits) {
		c->back.first = p.out->client_iv;
		c->back.second = p.out->server_iv;
	}
	put_bool(c, c->back.first != NULL);
	put_bool(c, c->back.second != NULL);
	if (hash)
		put_ulong(c, p.hash);
}

void put_prf(struct call *c, const CK_MECHANISM *m)
{
	struct prf_params p;

	c->back.instead = true;
	if (!read_params(c, m, &p, sizeof(p)))
		return;
	if (!p.output || !p.output_length || *p.output_length > FRAME_MAX / 2) {
		call_refuse(c, CKR_MECHANISM_PARAM_INVALID);
		return;
	}
	c->back.first = p.output;
	c->back.first_length = *p.output_length;
	c->back.length = p.output_length;
	put_bytes(c, p.seed, p.seed_length);
	put_bytes(c, p.label, p.label_length);
	put_ulong(c, c->back.first_length);
}

void put_kdf(struct call *c, const CK_MECHANISM *m)
{
	struct kdf_params p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_ulong(c, p.prf);
	put_bytes(c, p.label, p.label_length);
	put_random(c, &p.random);
	put_bytes(c, p.context, p.context_length);
}

void put_pbe(struct call *c, const CK_MECHANISM *m)
{
	struct pbe_params p;

	if (!read_params(c, m, &p, sizeof(p)))
		return;
	put_bool(c, p.iv != NULL);
	put_bytes(c, p.password, p.password_length);
	put_bytes(c, p.salt, p.salt_length);
	put_ulong(c, p.iterations);
	c->back.first = p.iv;
	c->back.first_length = PBE_IV_LENGTH;
}

void need_derived(struct call *c, const CK_OBJECT_HANDLE *key)
{
	if (!c->back.instead)
		need(c, key);
}

void get_derived(struct call *c, CK_OBJECT_HANDLE *key)
{
	CK_OBJECT_HANDLE v = get_u64(c);

	if (!c->broken && c->rv == CKR_OK && !c->back.instead)
		*key = v;
}

/* A piece of a parameter: exactly what there is room for, unless length tells. */
static void get_piece(struct call *c, CK_BYTE *out, CK_ULONG room, CK_ULONG *length)
{
	bool present = get_u8(c) != 0;
	CK_ULONG n = get_u64(c);

	if (!present || !n)
		return;
	if (!out || (length ? n > room : n != room)) {
		c->broken = true;
		return;
	}
	get_raw(c, out, n);
	if (length && !c->broken)
		*length = n;
}

void get_returned(struct call *c)
{
	const struct back *b = &c->back;
	CK_OBJECT_HANDLE keys[4];
	size_t i;

	if (!b->keys) {
		get_piece(c, b->first, b->first_length, b->length);
		return;
	}
	if (get_u8(c) == 0 || get_u64(c) == 0) {
		/* A reply that brings an error brings no keys. */
		c->broken = c->broken || c->rv == CKR_OK;
		return;
	}
	for (i = 0; i < 4; i++)
		keys[i] = get_u64(c);
	get_piece(c, b->first, b->first_length, NULL);
	get_piece(c, b->second, b->second_length, NULL);
	if (c->broken || c->rv != CKR_OK)
		return;
	memcpy(b->keys->keys, keys, sizeof(keys));
}
