/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One socket to the engine, with the buffer that its frames are built and
 * received in. A connection carries one call at a time (PROTOCOL.md).
 */
#ifndef ONESLOT_CONNECTION_H
#define ONESLOT_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits of PROTOCOL.md. The tests build with a shorter silence. */
#define FRAME_MAX ((size_t)16 << 20)
#ifndef SILENCE_MS
#define SILENCE_MS 20000
#endif

/*
 * The fork of a process with threads may meet these two in any state, so fd is
 * set last and cleared first: what a child reads is true or absent. The inode
 * proves that the number still means our socket.
 */
struct descriptor {
	atomic_int fd;	/* -1: none */
	ino_t inode;
};

struct connection {
	struct descriptor out;	/* requests */
	struct descriptor in;	/* replies; none: they come on the same socket */

	uint8_t *buffer;
	size_t capacity;
	size_t used;	/* bytes to be wiped after the call */
	size_t limit;	/* largest frame that the engine takes */

	/* Guarded by the mutex of the process. */
	bool taken;	/* this place in the table is in use */
	bool busy;	/* a thread works with it */
	bool doomed;	/* C_Finalize has ended it; who holds it closes it */
	struct connection *next;	/* in the list of idle connections */
};

/* A place for a connection that is not open. */
void connection_create(struct connection *n);

/*
 * Makes a connection of a socket for requests and one for replies, or -1 if it
 * is the same. It owns them from now on. False: no memory.
 */
bool connection_open(struct connection *n, int out, int in);
void connection_close(struct connection *n);

/* Ends the wait of whoever waits for an answer on it, at once. */
void connection_shut(struct connection *n);

/* An engine that is gone has closed its end, and none speaks unasked. */
bool connection_attended(struct connection *n);

/*
 * Closes the sockets that were inherited over a fork, without a byte and without
 * touching what is shared with the parent.
 */
void connection_disown(struct connection *n);

/* Makes the buffer hold size bytes, of which the first used are kept. */
bool connection_reserve(struct connection *n, size_t used, size_t size);

/*
 * Sends the first length bytes of the buffer, with two descriptors beside them
 * unless passed is NULL, and waits for the reply. Returns the length of the whole frame that
 * then stands in the buffer, or 0: the connection is of no use any more.
 */
size_t connection_exchange(struct connection *n, size_t length, const int *passed);

/* Forgets what the call left in the buffer. */
void connection_wipe(struct connection *n);

#endif
