/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of mechanisms that a token writes into, which p11-kit's header lacks
 * (PKCS#11 2.40, mechanisms, 2.26 and 2.27). */
#ifndef PARAMETERS_H
#define PARAMETERS_H

#include "application.h"

struct tls_random {
	CK_BYTE *client;
	CK_ULONG client_length;
	CK_BYTE *server;
	CK_ULONG server_length;
};

struct master12 {
	struct tls_random random;
	CK_VERSION *version;
	CK_MECHANISM_TYPE hash;
};

struct key_material {
	CK_OBJECT_HANDLE keys[4];
	CK_BYTE *client_iv, *server_iv;
};

struct material12 {
	CK_ULONG mac_bits, key_bits, iv_bits;
	CK_BBOOL export;
	struct tls_random random;
	struct key_material *out;
	CK_MECHANISM_TYPE hash;
};

struct prf {
	CK_BYTE *seed;
	CK_ULONG seed_length;
	CK_BYTE *label;
	CK_ULONG label_length;
	CK_BYTE *output;
	CK_ULONG *output_length;
};

struct pbe {
	CK_BYTE *iv, *password;
	CK_ULONG password_length;
	CK_BYTE *salt;
	CK_ULONG salt_length, iterations;
};

#endif
