/* SPDX-License-Identifier: Apache-2.0 */
#include "extension.h"
#include "call.h"
#include "calls_gen.h"
#include "fork.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VERSION 1
#define ROLE_MODULE 1
#define FRAME_MIN 4096	/* an engine that takes less is none */

CK_RV extension_hello(struct connection *n)
{
	static const char magic[] = "oneslot";
	const char *name = program_invocation_short_name;
	CK_ULONG accepted = 0, frame = 0;
	struct call c;

	call_start(&c, n, CALL_X_HELLO);
	put_bytes(&c, magic, strlen(magic));
	put_ulong(&c, VERSION);
	put_ulong(&c, ROLE_MODULE);
	put_ulong(&c, (CK_ULONG)process_id());
	put_bytes(&c, name, strlen(name));
	if (call_send(&c)) {
		get_ulong(&c, &accepted);
		get_ulong(&c, &frame);
	}
	call_check(&c);
	connection_wipe(n);
	if (c.rv != CKR_OK || accepted != VERSION || frame < FRAME_MIN)
		return CKR_GENERAL_ERROR;
	if (frame < n->limit)
		n->limit = frame;
	return CKR_OK;
}

/* Requests and replies go on sockets of their own: see PROTOCOL.md. */
CK_RV extension_attach(struct connection *control, struct connection *n)
{
	struct call c;
	int requests[2], replies[2], theirs[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests))
		return CKR_HOST_MEMORY;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, replies)) {
		close(requests[0]);
		close(requests[1]);
		return CKR_HOST_MEMORY;
	}
	theirs[0] = requests[1];
	theirs[1] = replies[1];
	call_start(&c, control, CALL_X_ATTACH);
	c.passed = theirs;
	call_send(&c);
	call_check(&c);
	connection_wipe(control);
	close(requests[1]);
	close(replies[1]);
	if (c.rv != CKR_OK) {
		close(requests[0]);
		close(replies[0]);
		return c.broken ? CKR_DEVICE_ERROR : CKR_HOST_MEMORY;
	}
	if (!connection_open(n, requests[0], replies[0]))
		return CKR_HOST_MEMORY;
	n->limit = control->limit;
	return CKR_OK;
}
