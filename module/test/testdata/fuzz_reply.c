/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds the module's decoder with replies that were right before some bytes
 * changed. Every run makes the same changes: a failure can be seen again. The
 * engine is a thread of this program; the sanitizers are the judge.
 */
#include "application.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { HELLO = 1000, ATTACH = 1001 };

static CK_FUNCTION_LIST *p11;

static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

/* A frame under construction. */
struct frame {
	uint8_t bytes[512];
	uint32_t length;
};

static void add(struct frame *f, const void *data, size_t n)
{
	memcpy(f->bytes + f->length, data, n);
	f->length += (uint32_t)n;
}

static void add_u8(struct frame *f, uint8_t v) { add(f, &v, sizeof(v)); }
static void add_u64(struct frame *f, uint64_t v) { add(f, &v, sizeof(v)); }

static void add_answer(struct frame *f, uint64_t type, uint8_t form, uint64_t length)
{
	add_u64(f, type);
	add_u8(f, form);
	add_u64(f, length);
}

static void add_body(struct frame *f, uint32_t call)
{
	switch (call) {
	case HELLO:
		add_u64(f, 1);
		add_u64(f, 16 << 20);
		break;
	case 5:		/* C_GetSlotList */
	case 28:	/* C_FindObjects */
		add_u8(f, 1);
		add_u64(f, 2);
		add_u64(f, 5);
		add_u64(f, 7);
		break;
	case 7:		/* C_GetTokenInfo */
		memset(f->bytes + f->length, ' ', 204);
		f->length += 204;
		break;
	case 25:	/* C_GetAttributeValue */
		add_u64(f, 4);
		add_answer(f, CKA_LABEL, 1, 3);
		add(f, "key", 3);
		add_answer(f, CKA_ID, 0, 20);
		add_answer(f, CKA_WRAP_TEMPLATE, 2, 2);
		add_answer(f, CKA_CLASS, 1, 8);
		add_u64(f, CKO_SECRET_KEY);
		add_answer(f, CKA_VALUE, 3, ~0ul);
		add_answer(f, CKA_UNWRAP_TEMPLATE, 4, 2);
		break;
	case 44:	/* C_Sign */
	case 65:	/* C_GenerateRandom */
		add_u8(f, 1);
		add_u64(f, 8);
		add(f, "01234567", 8);
		break;
	case 60:	/* C_GenerateKeyPair */
		add_u64(f, 9);
		add_u64(f, 10);
		break;
	}
}

static void add_reply(struct frame *f, uint32_t call)
{
	uint32_t rest;

	add(f, "\0\0\0\0", 4);
	add(f, &call, sizeof(call));
	add_u64(f, CKR_OK);
	add_body(f, call);
	rest = f->length - 4;
	memcpy(f->bytes, &rest, sizeof(rest));
}

/* One to four changes: a bit, a byte that is likely to matter, a piece lost or doubled. */
static void mutate(struct frame *f)
{
	static const uint8_t telling[] = { 0, 1, 2, 3, 4, 0x7f, 0x80, 0xff };

	for (uint32_t n = 1 + random_below(4); n; n--) {
		uint32_t at = random_below(f->length);

		switch (random_below(6)) {
		case 0:
			f->bytes[at] ^= (uint8_t)(1 << random_below(8));
			break;
		case 1:
			f->length = at + 1;
			break;
		case 2:
			if (f->length + 8 < sizeof(f->bytes)) {
				memmove(f->bytes + at + 8, f->bytes + at, f->length - at);
				f->length += 8;
			}
			break;
		default:
			f->bytes[at] = telling[random_below(sizeof(telling))];
		}
	}
}

/* Reads a request and the two descriptors beside it, if any. 0: the end. */
static uint32_t receive(int fd, int attached[2])
{
	static uint8_t body[1 << 16];
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr header;
	} a;
	uint32_t head[2];
	struct iovec v = { head, sizeof(head) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &a,
			    .msg_controllen = sizeof(a) };

	if (recvmsg(fd, &m, MSG_WAITALL) != sizeof(head))
		return 0;
	if (m.msg_controllen)
		memcpy(attached, CMSG_DATA(&a.header), 2 * sizeof(int));
	if (head[0] > 4 && recv(fd, body, head[0] - 4, MSG_WAITALL) <= 0)
		return 0;
	return head[1];
}

/* One connection for calls at a time; it ends with the reply, which may be cut short. */
static void *engine(void *listener)
{
	int control = accept(*(int *)listener, NULL, NULL);

	for (;;) {
		struct frame f = { .length = 0 };
		int worker[2] = { -1, -1 };
		uint32_t call = receive(control, worker);

		if (!call)
			break;
		add_reply(&f, call);
		send(control, f.bytes, f.length, MSG_NOSIGNAL);
		if (worker[0] < 0)
			continue;
		f.length = 0;
		add_reply(&f, receive(worker[0], worker));
		mutate(&f);
		send(worker[1], f.bytes, f.length, MSG_NOSIGNAL);
		close(worker[0]);
		close(worker[1]);
	}
	close(control);
	return NULL;
}

static void get_attributes(void)
{
	CK_BYTE *label = malloc(3);
	CK_ATTRIBUTE *inner = calloc(2, sizeof(*inner));
	CK_ULONG *class = malloc(sizeof(*class));
	CK_ATTRIBUTE query[] = {
		{ CKA_LABEL, label, 3 }, { CKA_ID, NULL, 0 },
		{ CKA_WRAP_TEMPLATE, inner, 2 * sizeof(*inner) }, { CKA_UNWRAP_TEMPLATE, NULL, 0 },
	};

	inner[0] = (CK_ATTRIBUTE){ CKA_CLASS, class, sizeof(*class) };
	inner[1] = (CK_ATTRIBUTE){ CKA_VALUE, label, 3 };
	if (p11->C_GetAttributeValue(1, 2, query, 4) == CKR_OK)
		CHECK(query[0].ulValueLen <= 3 || query[0].ulValueLen == ~0ul);
	free(label);
	free(inner);
	free(class);
}

static void generate(void)
{
	CK_MECHANISM rsa = { CKM_RSA_PKCS_KEY_PAIR_GEN, NULL, 0 };
	CK_OBJECT_HANDLE a, b;

	p11->C_GenerateKeyPair(1, &rsa, NULL, 0, NULL, 0, &a, &b);
}

/* Buffers have their exact size on the heap, so that one byte too many is seen. */
static void call_once(uint32_t which)
{
	CK_ULONG n = 8, slots = 2;
	CK_BYTE *bytes = malloc(n);
	CK_SLOT_ID *list = malloc(slots * sizeof(*list));
	CK_TOKEN_INFO *token = malloc(sizeof(*token));

	switch (which) {
	case 0:
		CHECK(p11->C_GetSlotList(CK_TRUE, list, &slots) != CKR_OK || slots <= 2);
		break;
	case 1:
		CHECK(p11->C_FindObjects(1, list, 2, &slots) != CKR_OK || slots <= 2);
		break;
	case 2:
		p11->C_GetTokenInfo(1, token);
		break;
	case 3:
		CHECK(p11->C_Sign(1, bytes, 0, bytes, &n) != CKR_OK || n <= 8);
		break;
	case 4:
		p11->C_GenerateRandom(1, bytes, n);
		break;
	case 5:
		generate();
		break;
	default:
		get_attributes();
	}
	free(bytes);
	free(list);
	free(token);
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;

	CHECK(argc == 4 && strlen(argv[2]) < sizeof(a.sun_path));
	strcpy(a.sun_path, argv[2]);
	CHECK(!bind(listener, (struct sockaddr *)&a, sizeof(a)) && !listen(listener, 1));
	CHECK(!pthread_create(&thread, NULL, engine, &listener));
	setenv("ONESLOT_SOCKET", argv[2], 1);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	for (long rounds = atol(argv[3]); rounds; rounds--)
		call_once(random_below(12));
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	pthread_join(thread, NULL);
	return 0;
}
