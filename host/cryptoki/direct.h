/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct path: the calls that applications make all day, answered on the
 * socket of a session without a word of Go. A Go program that goes into C and
 * back for each call has its monitor thread woken each time, and its work handed
 * from thread to thread; here one thread reads, calls the module and answers.
 * Whatever is not plain and complete is left to Go, unread or as it was read.
 */
#ifndef ONESLOT_DIRECT_H
#define ONESLOT_DIRECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shim.h"

#define ONESLOT_FORBIDDEN 3

struct oneslot_direct {
        CK_FUNCTION_LIST *f;
        hs session;
        const uint64_t *raw;    /* mechanisms whose parameter is carried as it is */
        size_t raws;
        const _Atomic uint64_t *forbidden;      /* handles that nobody may use; 0: none */

        uint8_t *in;
        size_t used, capacity;
        uint8_t *out;
        size_t room;

        pthread_mutex_t sending;        /* one frame at a time: a reply, or a sign of life */
        int to;                         /* guarded by sending: where frames go; -1: not on the direct path */
        int64_t begun, signed_at;       /* guarded by sending: ms; begun 0: no call is under way */
};

/* How the direct path ends. */
enum oneslot_end {
        ONESLOT_IDLE,   /* nothing came for a while */
        ONESLOT_OTHER,  /* in[:used] is, or begins, a request for Go */
        ONESLOT_CLOSED, /* the session is over */
};

/* NULL: no memory. */
struct oneslot_direct *oneslot_direct_new(CK_FUNCTION_LIST *f, hs session, const uint64_t *raw, size_t raws,
                                          const uint64_t *forbidden);
void oneslot_direct_free(struct oneslot_direct *d);

/* Answers requests that come on one socket on another, which may be the same,
 * until one is for Go or none came for idle_ms. */
enum oneslot_end oneslot_direct_serve(struct oneslot_direct *d, int from, int to, int idle_ms);

/* Sends a sign of life if a call has given none for every_ms. Never blocks for
 * longer than it takes to look. */
void oneslot_direct_beat(struct oneslot_direct *d, int every_ms);

/* The two halves of it. */

/* In answer.c: runs the request in in[:used] and writes the frame that answers it.
 * Returns its length, 0 if the request is for Go. */
size_t oneslot_direct_answer(struct oneslot_direct *d);

/* In direct.c: a call of the module begins. */
void oneslot_direct_begin(struct oneslot_direct *d);

#endif
