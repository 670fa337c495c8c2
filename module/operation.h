/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the module knows of sessions by what went through it, so that it need not
 * ask the engine.
 *
 * An application that signs with one key says C_SignInit and C_Sign again and
 * again. An Init that repeats the last one of its session is put off: it is
 * answered here, and goes with C_Sign, in one call of which the engine does the
 * second half only if the first succeeded (X_SignOnce and its like). That is done
 * only if the operation which this Init began has ended, and if no call of this
 * process began since that could make a difference: it is answered as the engine
 * would. What other processes do meanwhile, C_Sign tells, as it always did.
 * Whatever else may need the operation has the Init carried out first.
 */
#ifndef ONESLOT_OPERATION_H
#define ONESLOT_OPERATION_H

#include "cryptoki.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct call;
struct connection;

/* Sessions that are remembered, each in the place of its handle's rest. */
#define SESSIONS 128
/* Inits with longer arguments are not put off. */
#define BEGINNING_MAX 192

enum operation_state {
	NOTHING,	/* nothing is known */
	BEGUN,		/* by an Init that the engine answered */
	ENDED,		/* by the call that belongs to it */
	PUT_OFF,	/* begun as far as the application knows */
	CARRIED_OUT,	/* what was put off is on its way to the engine */
	FAILED,		/* that went wrong, which the application is to be told */
};

struct session {
	pthread_mutex_t mutex;	/* guards what follows; never held during a call */
	pthread_cond_t changed;	/* it is CARRIED_OUT no more */
	CK_SESSION_HANDLE handle;
	enum operation_state state;
	unsigned inside;	/* calls under way that touch operations */
	bool crowded;		/* they are or were several: what they come to is not known */
	uint32_t under_way;	/* Init that goes with its call just now, 0: none */
	uint64_t era;		/* in which the Init was answered */
	CK_RV failure;
	uint32_t number;	/* of the Init */
	size_t length;
	uint8_t beginning[BEGINNING_MAX];	/* its arguments */

	uint64_t informed;	/* era of info, 0: none */
	CK_SESSION_INFO info;
};

struct sessions {
	_Atomic uint64_t era;	/* counts calls that may change what is known */
	atomic_uint put_off;
	struct session places[SESSIONS];
};

void sessions_create(struct sessions *all);
/* Nothing is known any more. */
void sessions_forget(struct sessions *all);

/* What a call has to do with a session. */
struct part {
	struct sessions *all;	/* NULL: nothing */
	uint64_t era;		/* when the call began */
	struct session *session;	/* NULL: the call touches no operation */
	CK_SESSION_HANDLE handle;
	uint32_t number;	/* of the function that was called */
	bool taken;		/* it takes along what was put off */
};

/* The steps of a call, in this order: before anything is put, sent, and at its end. */
void operation_begin(struct call *c, struct sessions *all);
void put_session(struct call *c, CK_SESSION_HANDLE session);
/* True if the call is an Init and was put off: it succeeded. */
bool operation_put_off(struct call *c);
void operation_end(struct call *c);

/* C_GetSessionInfo. True: *info is as the engine would tell. */
bool session_known(CK_SESSION_HANDLE session, CK_SESSION_INFO *info);
void session_learn(struct call *c, CK_SESSION_HANDLE session, const CK_SESSION_INFO *info);

#endif
