/* SPDX-License-Identifier: Apache-2.0 */
#include "connection.h"
#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Integers travel as they stand in memory, here and in attribute values. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little endian only");
_Static_assert(sizeof(unsigned long) == 8, "64-bit platforms only");

#define BUFFER_START ((size_t)8 << 10)
#define BUFFER_KEEP ((size_t)1 << 20)	/* what an idle connection may hold */

/* Offsets in a frame: u32 length of the rest, u32 call. */
#define CALL_AT 4
#define HEADER 8

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

bool connection_open(struct connection *n, int fd)
{
	struct stat s;

	n->buffer = malloc(BUFFER_START);
	if (!n->buffer || fstat(fd, &s)) {
		free(n->buffer);
		n->buffer = NULL;
		close(fd);
		return false;
	}
	n->capacity = BUFFER_START;
	n->used = 0;
	n->limit = FRAME_MAX;
	n->inode = s.st_ino;
	atomic_store(&n->fd, fd);
	return true;
}

/*
 * Applications that become daemons close every descriptor and open files of
 * their own, so a number is closed only while it is the socket it used to be.
 */
void connection_disown(struct connection *n)
{
	int fd = atomic_exchange(&n->fd, -1);
	struct stat s;

	if (fd >= 0 && !fstat(fd, &s) && S_ISSOCK(s.st_mode) && s.st_ino == n->inode)
		close(fd);
}

void connection_close(struct connection *n)
{
	connection_disown(n);
	if (n->buffer)
		explicit_bzero(n->buffer, n->used);
	free(n->buffer);
	n->buffer = NULL;
	n->capacity = 0;
}

/* Not realloc, which would leave what it moves behind unwiped. */
bool connection_reserve(struct connection *n, size_t used, size_t size)
{
	size_t capacity = n->capacity;
	uint8_t *bigger;

	if (size <= capacity)
		return true;
	while (capacity < size)
		capacity *= 2;
	bigger = malloc(capacity);
	if (!bigger)
		return false;
	memcpy(bigger, n->buffer, used);
	explicit_bzero(n->buffer, n->used > used ? n->used : used);
	free(n->buffer);
	n->buffer = bigger;
	n->capacity = capacity;
	return true;
}

void connection_wipe(struct connection *n)
{
	uint8_t *smaller;

	explicit_bzero(n->buffer, n->used);
	n->used = 0;
	if (n->capacity <= BUFFER_KEEP)
		return;
	smaller = malloc(BUFFER_START);
	if (!smaller)
		return;
	free(n->buffer);
	n->buffer = smaller;
	n->capacity = BUFFER_START;
}

/* Waits until fd is ready or the deadline has passed. */
static bool wait_for(int fd, short event, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = event };

	for (;;) {
		int64_t left = deadline - now_ms();
		int ready = poll(&p, 1, left > 0 ? (int)left : 0);

		if (ready > 0)
			return true;
		if (ready == 0 || errno != EINTR)
			return false;
	}
}

static bool passing(int error) { return error == EAGAIN || error == EINTR; }

static ssize_t send_some(int fd, const uint8_t *data, size_t length, int passed)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} ancillary = { 0 };
	struct iovec v = { (void *)data, length };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (passed >= 0) {
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ancillary.header), &passed, sizeof(int));
		m.msg_control = &ancillary;
		m.msg_controllen = sizeof(ancillary.space);
	}
	/* A SIGPIPE would be the application's. */
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool transmit(struct connection *n, size_t length, int passed)
{
	int64_t deadline = now_ms() + SILENCE_MS;
	size_t sent = 0;

	while (sent < length) {
		ssize_t some = send_some(n->fd, n->buffer + sent, length - sent, passed);

		if (some > 0) {
			sent += (size_t)some;
			passed = -1;
			deadline = now_ms() + SILENCE_MS;
		} else if (!passing(errno) || !wait_for(n->fd, POLLOUT, deadline)) {
			return false;
		}
	}
	return true;
}

/* Receives until the buffer holds want bytes; more may have come with them. */
static bool fill(struct connection *n, size_t want, size_t *have, int64_t *deadline)
{
	while (*have < want) {
		ssize_t some;

		if (!wait_for(n->fd, POLLIN, *deadline))
			return false;
		some = recv(n->fd, n->buffer + *have, n->capacity - *have, MSG_DONTWAIT);
		if (some == 0 || (some < 0 && !passing(errno)))
			return false;
		if (some < 0)
			continue;
		if (*have == 0)	/* from here the frame has its own time */
			*deadline = now_ms() + SILENCE_MS;
		*have += (size_t)some;
		if (n->used < *have)
			n->used = *have;
	}
	return true;
}

/* Every alive frame starts the silence anew. */
static size_t receive(struct connection *n)
{
	size_t have = 0;

	for (;;) {
		int64_t deadline = now_ms() + SILENCE_MS;
		size_t size;

		if (!fill(n, CALL_AT, &have, &deadline))
			return 0;
		size = u32_at(n->buffer);
		if (size < HEADER - CALL_AT || size > FRAME_MAX)
			return 0;
		size += CALL_AT;
		if (!connection_reserve(n, have, size) || !fill(n, size, &have, &deadline))
			return 0;
		if (u32_at(n->buffer + CALL_AT) != 0)
			return have == size ? size : 0;
		if (size != HEADER)
			return 0;
		have -= HEADER;
		memmove(n->buffer, n->buffer + HEADER, have);
	}
}

size_t connection_exchange(struct connection *n, size_t length, int passed)
{
	n->used = length;
	return transmit(n, length, passed) ? receive(n) : 0;
}
