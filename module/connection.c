/* SPDX-License-Identifier: Apache-2.0 */
#include "connection.h"
#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
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

static bool descriptor_open(struct descriptor *d, int fd)
{
	struct stat s;

	if (fstat(fd, &s))
		return false;
	d->inode = s.st_ino;
	atomic_store(&d->fd, fd);
	return true;
}

/*
 * Applications that become daemons close every descriptor and open files of
 * their own, so a number is closed only while it is the socket it used to be.
 */
static void descriptor_close(struct descriptor *d)
{
	int fd = atomic_exchange(&d->fd, -1);
	struct stat s;

	if (fd >= 0 && !fstat(fd, &s) && S_ISSOCK(s.st_mode) && s.st_ino == d->inode)
		close(fd);
}

static int receiving(const struct connection *n)
{
	return n->in.fd >= 0 ? n->in.fd : n->out.fd;
}

void connection_create(struct connection *n)
{
	atomic_init(&n->out.fd, -1);
	atomic_init(&n->in.fd, -1);
}

bool connection_open(struct connection *n, int out, int in)
{
	const struct timeval silence = { SILENCE_MS / 1000, SILENCE_MS % 1000 * 1000 };

	setsockopt(in < 0 ? out : in, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
	n->buffer = malloc(BUFFER_START);
	n->capacity = BUFFER_START;
	n->used = 0;
	n->limit = FRAME_MAX;
	if (n->buffer && (in < 0 || descriptor_open(&n->in, in))) {
		if (descriptor_open(&n->out, out))
			return true;
		atomic_store(&n->in.fd, -1);
	}
	free(n->buffer);
	n->buffer = NULL;
	close(out);
	if (in >= 0)
		close(in);
	return false;
}

void connection_disown(struct connection *n)
{
	descriptor_close(&n->out);
	descriptor_close(&n->in);
}

void connection_shut(struct connection *n)
{
	if (n->out.fd >= 0)
		shutdown(n->out.fd, SHUT_RDWR);
	if (n->in.fd >= 0)
		shutdown(n->in.fd, SHUT_RDWR);
}

bool connection_attended(struct connection *n)
{
	char byte;

	return recv(receiving(n), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
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

/* A SIGPIPE would be the application's. */
#define HOW (MSG_NOSIGNAL | MSG_DONTWAIT)

static ssize_t send_passing(int fd, const uint8_t *data, size_t length, const int passed[2])
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr header;
	} ancillary = { 0 };
	struct iovec v = { (void *)data, length };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	ancillary.header.cmsg_level = SOL_SOCKET;
	ancillary.header.cmsg_type = SCM_RIGHTS;
	ancillary.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&ancillary.header), passed, 2 * sizeof(int));
	m.msg_control = &ancillary;
	m.msg_controllen = sizeof(ancillary.space);
	return sendmsg(fd, &m, HOW);
}

static bool transmit(struct connection *n, size_t length, const int *passed)
{
	int64_t deadline = now_ms() + SILENCE_MS;
	size_t sent = 0;

	while (sent < length) {
		const uint8_t *rest = n->buffer + sent;
		ssize_t some = passed ? send_passing(n->out.fd, rest, length - sent, passed)
				      : send(n->out.fd, rest, length - sent, HOW);

		if (some > 0) {
			sent += (size_t)some;
			passed = NULL;
			deadline = now_ms() + SILENCE_MS;
		} else if (!passing(errno) || !wait_for(n->out.fd, POLLOUT, deadline)) {
			return false;
		}
	}
	return true;
}

/*
 * Receives until the buffer holds want bytes; more may have come with them. The
 * socket waits by itself, for the length of a silence (connection_open). Whoever is
 * late, since it was stopped meanwhile, takes what has come, and waits no more.
 */
static bool fill(struct connection *n, size_t want, size_t *have, int64_t *deadline)
{
	int fd = receiving(n), flags = 0;

	while (*have < want) {
		ssize_t some = recv(fd, n->buffer + *have, n->capacity - *have, flags);

		if (some == 0 || (some < 0 && errno != EINTR))
			return false;
		if (some > 0) {
			if (*have == 0)	/* from here the frame has its own time */
				*deadline = now_ms() + SILENCE_MS;
			*have += (size_t)some;
			if (n->used < *have)
				n->used = *have;
		}
		if (*have < want && now_ms() >= *deadline)
			flags = MSG_DONTWAIT;
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

size_t connection_exchange(struct connection *n, size_t length, const int *passed)
{
	n->used = length;
	return transmit(n, length, passed) ? receive(n) : 0;
}
