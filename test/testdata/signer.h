/* SPDX-License-Identifier: Apache-2.0 */
/* Applications in C that sign. Each signature is printed with what was signed, for
 * the test to verify: "signature <hex of data> <hex of signature>". */
#ifndef SIGNER_H
#define SIGNER_H

#include "application.h"

static CK_FUNCTION_LIST *p11;

/* One session, logged in, and the private key "k". */
struct signer {
	CK_SESSION_HANDLE session;
	CK_OBJECT_HANDLE key;
};

static CK_SLOT_ID find_slot(void)
{
	const char *label = getenv("TOKEN");
	CK_SLOT_ID slots[64];
	CK_TOKEN_INFO info;
	CK_ULONG n = 64;

	RETURNS(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &n));
	for (CK_ULONG i = 0; i < n; i++) {
		RETURNS(CKR_OK, p11->C_GetTokenInfo(slots[i], &info));
		/* The environment of some is emptied: then there is one slot. */
		if (!label || !memcmp(info.label, label, strlen(label)))
			return slots[i];
	}
	fprintf(stderr, "no token\n");
	_exit(1);
}

static inline CK_SESSION_HANDLE open_session(void)
{
	CK_SESSION_HANDLE session;

	RETURNS(CKR_OK, p11->C_OpenSession(find_slot(), CKF_SERIAL_SESSION | CKF_RW_SESSION,
					   NULL, NULL, &session));
	return session;
}

static CK_OBJECT_HANDLE find_key(CK_SESSION_HANDLE session)
{
	CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
	CK_ATTRIBUTE template[] = {
		{ CKA_CLASS, &class, sizeof(class) },
		{ CKA_LABEL, "k", 1 },
	};
	CK_OBJECT_HANDLE found[2];
	CK_ULONG n;

	RETURNS(CKR_OK, p11->C_FindObjectsInit(session, template, 2));
	RETURNS(CKR_OK, p11->C_FindObjects(session, found, 2, &n));
	RETURNS(CKR_OK, p11->C_FindObjectsFinal(session));
	CHECK(n == 1);
	return found[0];
}

static inline struct signer start_with_pin(const char *pin)
{
	struct signer s;

	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	s.session = open_session();
	RETURNS(CKR_OK, p11->C_Login(s.session, CKU_USER, (CK_BYTE *)pin, strlen(pin)));
	s.key = find_key(s.session);
	return s;
}

static inline struct signer start(void) { return start_with_pin(getenv("PIN")); }

/* One write for a line, since several processes print into one pipe. */
static void print(const CK_BYTE *data, size_t n, const CK_BYTE *signature, CK_ULONG length)
{
	char line[2048];
	int end = sprintf(line, "signature ");

	for (size_t i = 0; i < n; i++)
		end += sprintf(line + end, "%02x", data[i]);
	line[end++] = ' ';
	for (CK_ULONG i = 0; i < length; i++)
		end += sprintf(line + end, "%02x", signature[i]);
	line[end++] = '\n';
	CHECK(write(1, line, (size_t)end) == end);
}

static void sign(struct signer s)
{
	static unsigned count;
	CK_MECHANISM mechanism = { CKM_SHA256_RSA_PKCS, NULL, 0 };
	CK_BYTE data[32] = { 0 }, signature[512];
	CK_ULONG length = sizeof(signature);

	snprintf((char *)data, sizeof(data), "process %d, %u", getpid(), count++);
	RETURNS(CKR_OK, p11->C_SignInit(s.session, &mechanism, s.key));
	RETURNS(CKR_OK, p11->C_Sign(s.session, data, sizeof(data), signature, &length));
	print(data, sizeof(data), signature, length);
}

#endif
