/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

/* Larger requests are for Go, which grows its buffers as bytes come. */
#define IN_MAX ((size_t)64 << 10)

/* Where the buffer for answers starts. */
#define OUT_START ((size_t)8 << 10)

/* How long a peer may take to make room for an answer. */
#define SEND_MS 20000

#define MESSAGE_ALIVE 0

static int64_t now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct oneslot_direct *oneslot_direct_new(CK_FUNCTION_LIST *f, hs session, const uint64_t *raw, size_t raws,
                                          const uint64_t *forbidden)
{
        struct oneslot_direct *d = calloc(1, sizeof *d);

        if (!d)
                return NULL;
        d->f = f;
        d->session = session;
        d->raw = raw;
        d->raws = raws;
        d->forbidden = (const _Atomic uint64_t *)forbidden;
        d->to = -1;
        d->capacity = IN_MAX;
        d->in = malloc(d->capacity);
        d->room = OUT_START;
        d->out = malloc(d->room);
        if (!d->in || !d->out) {
                free(d->in);
                free(d->out);
                free(d);
                return NULL;
        }
        pthread_mutex_init(&d->sending, NULL);
        return d;
}

void oneslot_direct_free(struct oneslot_direct *d)
{
        explicit_bzero(d->in, d->capacity);
        explicit_bzero(d->out, d->room);
        free(d->in);
        free(d->out);
        pthread_mutex_destroy(&d->sending);
        free(d);
}

void oneslot_direct_begin(struct oneslot_direct *d)
{
        int64_t now = now_ms();

        pthread_mutex_lock(&d->sending);
        d->begun = d->signed_at = now;
        pthread_mutex_unlock(&d->sending);
}

/* Waits until the socket is ready. False: the time is over. */
static bool wait_for(int fd, short event, int ms)
{
        struct pollfd p = { .fd = fd, .events = event };
        int64_t deadline = now_ms() + ms;

        for (;;) {
                int ready = poll(&p, 1, ms);
                int64_t left;

                if (ready >= 0)
                        return ready > 0;
                left = deadline - now_ms();
                if (errno != EINTR || left <= 0)
                        return false;
                ms = (int)left;
        }
}

static bool passing(int error) { return error == EAGAIN || error == EINTR; }

static bool send_all(int fd, const uint8_t *data, size_t length)
{
        size_t sent = 0;

        while (sent < length) {
                ssize_t some = send(fd, data + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (some > 0)
                        sent += (size_t)some;
                else if (!passing(errno) || !wait_for(fd, POLLOUT, SEND_MS))
                        return false;
        }
        return true;
}

static bool reply(struct oneslot_direct *d, size_t length)
{
        bool ok;

        pthread_mutex_lock(&d->sending);
        d->begun = 0;
        ok = send_all(d->to, d->out, length);
        pthread_mutex_unlock(&d->sending);
        explicit_bzero(d->out, length);
        return ok;
}

/* The length of the whole frame that begins the buffer, 0 if it is not all there. */
static size_t frame_length(const struct oneslot_direct *d)
{
        uint32_t n;

        if (d->used < 4)
                return 0;
        memcpy(&n, d->in, sizeof n);
        return (size_t)n + 4 == d->used ? d->used : 0;
}

/* The socket itself waits, for no longer than the session may be idle. */
static bool prepare(int from, int idle_ms)
{
        const struct timeval idle = { idle_ms / 1000, idle_ms % 1000 * 1000 };
        int flags = fcntl(from, F_GETFL);

        return flags >= 0 && !fcntl(from, F_SETFL, flags & ~O_NONBLOCK) &&
               !setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
}

static enum oneslot_end serve(struct oneslot_direct *d, int from)
{
        for (;;) {
                ssize_t got = recv(from, d->in, d->capacity, 0);
                size_t length;

                if (got < 0 && errno == EAGAIN)
                        return ONESLOT_IDLE;
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return ONESLOT_CLOSED;
                d->used = (size_t)got;
                if (!frame_length(d))
                        return ONESLOT_OTHER;
                length = oneslot_direct_answer(d);
                if (!length)
                        return ONESLOT_OTHER;
                explicit_bzero(d->in, d->used);
                d->used = 0;
                if (!reply(d, length))
                        return ONESLOT_CLOSED;
        }
}

enum oneslot_end oneslot_direct_serve(struct oneslot_direct *d, int from, int to, int idle_ms)
{
        enum oneslot_end end;

        oneslot_on_time();
        pthread_mutex_lock(&d->sending);
        d->to = to;
        pthread_mutex_unlock(&d->sending);
        d->used = 0;
        end = prepare(from, idle_ms) ? serve(d, from) : ONESLOT_CLOSED;
        pthread_mutex_lock(&d->sending);
        d->to = -1;
        d->begun = 0;
        pthread_mutex_unlock(&d->sending);
        return end;
}

void oneslot_direct_beat(struct oneslot_direct *d, int every_ms)
{
        static const uint8_t alive[] = { 1, 0, 0, 0, MESSAGE_ALIVE };
        int64_t now = now_ms();

        if (pthread_mutex_trylock(&d->sending))
                return; /* a reply is being sent: a sign of life if ever there was one */
        if (d->to >= 0 && d->begun && now - d->signed_at >= every_ms) {
                d->signed_at = now;
                send(d->to, alive, sizeof alive, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        pthread_mutex_unlock(&d->sending);
}
