/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "clock.h"
#include "extension.h"
#include "fork.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * At most so many calls of a process run at a time; further threads wait for a
 * connection. One more carries nothing but X_Attach.
 */
#define CALLS_MAX 64

/* Waiting for a connection, and for busy threads in C_Finalize, ends after this. */
#define WAIT_MS SILENCE_MS

struct process {
	pid_t pid;
	struct process *inherited;	/* the parent's, so that it is not lost */
	atomic_bool ready;	/* between C_Initialize and C_Finalize */

	pthread_mutex_t mutex;	/* guards what follows; never held during a call */
	pthread_cond_t changed;	/* something below changed that a waiter may want */
	unsigned waiters;
	bool claimed;		/* C_Initialize or C_Finalize is under way */
	unsigned busy;		/* connections that threads hold */
	struct connection *idle;
	struct connection *control;
	struct connection connections[CALLS_MAX + 1];

	struct sessions sessions;	/* has its own mutexes */
};

/*
 * Never freed while it can be seen, so that a thread may look at it at any time.
 * A child of fork, or of a raw clone, finds its parent's here: it must not touch
 * the mutex, which a thread that does not exist here may hold, nor speak on the
 * sockets, for the answers would go to the wrong process. At C_Initialize it
 * puts its own in the place.
 */
static _Atomic(struct process *) current;

static struct process *here(void)
{
	struct process *p = atomic_load(&current);

	return p && p->pid == process_id() ? p : NULL;
}

bool process_initialized(void)
{
	struct process *p = here();

	return p && atomic_load(&p->ready);
}

static struct process *create(struct process *inherited)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = process_id();
	p->inherited = inherited;
	pthread_mutex_init(&p->mutex, NULL);
	condition_create(&p->changed);
	sessions_create(&p->sessions);
	for (int i = 0; i <= CALLS_MAX; i++)
		connection_create(&p->connections[i]);
	return p;
}

/* What the parent left is left as it is, apart from its sockets. */
static struct process *create_here(void)
{
	struct process *inherited = atomic_load(&current);
	struct process *mine = here();

	if (mine)
		return mine;
	mine = create(inherited);
	if (!mine)
		return NULL;
	if (!atomic_compare_exchange_strong(&current, &inherited, mine)) {
		free(mine);	/* another thread was faster */
		return here();
	}
	for (int i = 0; inherited && i <= CALLS_MAX; i++)
		connection_disown(&inherited->connections[i]);
	return mine;
}

/* With the mutex held. False: the deadline has passed. */
static bool wait_for_change(struct process *p, int64_t deadline)
{
	bool in_time;

	p->waiters++;
	in_time = condition_wait(&p->changed, &p->mutex, deadline);
	p->waiters--;
	return in_time;
}

static void tell(struct process *p)
{
	if (p->waiters)
		pthread_cond_broadcast(&p->changed);
}

/* With the mutex held. A place for a connection, busy from now on, or NULL. */
static struct connection *reserve(struct process *p)
{
	for (int i = 0; i <= CALLS_MAX; i++) {
		struct connection *n = &p->connections[i];

		if (!n->taken) {
			n->taken = n->busy = true;
			n->doomed = false;
			p->busy++;
			return n;
		}
	}
	return NULL;
}

static void drop(struct connection *n)
{
	connection_close(n);
	n->taken = n->busy = n->doomed = false;
}

/* With the mutex held. */
static void put_down(struct process *p, struct connection *n, bool broken)
{
	n->busy = false;
	p->busy--;
	if (broken || n->doomed) {
		if (n == p->control)
			p->control = NULL;
		drop(n);
	} else if (n != p->control) {
		n->next = p->idle;
		p->idle = n;
	}
	tell(p);
}

/*
 * A thread that is second waits for the first: what it is told, it may rely on.
 */
CK_RV process_claim(void)
{
	struct process *p = create_here();
	int64_t deadline = now_ms() + WAIT_MS;
	CK_RV rv = CKR_OK;

	if (!p)
		return CKR_HOST_MEMORY;
	pthread_mutex_lock(&p->mutex);
	while (p->claimed && wait_for_change(p, deadline))
		;
	if (p->claimed || p->ready)
		rv = CKR_CRYPTOKI_ALREADY_INITIALIZED;
	else
		p->claimed = true;
	pthread_mutex_unlock(&p->mutex);
	return rv;
}

void process_failed(void)
{
	struct process *p = here();

	pthread_mutex_lock(&p->mutex);
	p->claimed = false;
	tell(p);
	pthread_mutex_unlock(&p->mutex);
}

CK_RV process_connected(int fd)
{
	struct process *p = here();
	struct connection *n;
	CK_RV rv = CKR_HOST_MEMORY;

	pthread_mutex_lock(&p->mutex);
	n = reserve(p);
	pthread_mutex_unlock(&p->mutex);
	if (!n)
		close(fd);
	else if (connection_open(n, fd, -1))
		rv = extension_hello(n);

	pthread_mutex_lock(&p->mutex);
	p->control = n;
	if (n)
		put_down(p, n, rv != CKR_OK);
	p->ready = rv == CKR_OK;
	p->claimed = false;
	tell(p);
	pthread_mutex_unlock(&p->mutex);
	return rv;
}

/*
 * With the mutex held, which is let go while the engine is asked for one more
 * connection. NULL: *rv says why.
 */
static struct connection *add(struct process *p, struct connection *n, CK_RV *rv)
{
	struct connection *control = p->control;

	control->busy = true;
	p->busy++;
	pthread_mutex_unlock(&p->mutex);
	*rv = extension_attach(control, n);
	pthread_mutex_lock(&p->mutex);
	put_down(p, control, *rv == CKR_DEVICE_ERROR);
	if (*rv == CKR_OK && n->doomed)
		*rv = CKR_CRYPTOKI_NOT_INITIALIZED;
	if (*rv == CKR_OK)
		return n;
	put_down(p, n, true);
	return NULL;
}

static struct connection *take_idle(struct process *p)
{
	struct connection *n = p->idle;

	if (n) {
		p->idle = n->next;
		n->busy = true;
		p->busy++;
	}
	return n;
}

/*
 * With the mutex held. A connection when one is idle, can be made, or comes back
 * in time. A process that has no descriptors left makes do with those it has.
 */
static struct connection *find(struct process *p, CK_RV *rv)
{
	int64_t deadline = 0;
	bool full = false;

	while (p->ready) {
		struct connection *n = take_idle(p);

		if (n)
			return n;
		*rv = CKR_DEVICE_ERROR;
		if (!p->control)
			return NULL;
		if (!full && !p->control->busy && (n = reserve(p))) {
			n = add(p, n, rv);
			full = *rv == CKR_HOST_MEMORY && p->busy;
			if (n || !full)
				return n;
			continue;
		}
		if (!deadline)
			deadline = now_ms() + WAIT_MS;
		if (!wait_for_change(p, deadline))
			return NULL;
	}
	*rv = CKR_CRYPTOKI_NOT_INITIALIZED;
	return NULL;
}

struct connection *process_borrow(CK_RV *rv, struct sessions **all)
{
	struct process *p = here();
	struct connection *n;

	if (!p) {
		*rv = CKR_CRYPTOKI_NOT_INITIALIZED;
		return NULL;
	}
	*all = &p->sessions;
	pthread_mutex_lock(&p->mutex);
	n = find(p, rv);
	pthread_mutex_unlock(&p->mutex);
	if (n)
		*rv = CKR_OK;
	return n;
}

bool process_return(struct connection *n, bool broken)
{
	struct process *p = here();
	bool doomed;

	pthread_mutex_lock(&p->mutex);
	doomed = n->doomed;
	put_down(p, n, broken);
	pthread_mutex_unlock(&p->mutex);
	return doomed;
}

struct sessions *process_sessions(void)
{
	struct process *p = here();

	return p && atomic_load(&p->ready) ? &p->sessions : NULL;
}

bool process_attended(void)
{
	struct process *p = here();
	bool there = false;

	pthread_mutex_lock(&p->mutex);
	if (p->ready && p->idle)
		there = connection_attended(p->idle);
	pthread_mutex_unlock(&p->mutex);
	return there;
}

/* Whoever waits for an answer on a socket sees its end at once. */
static void end_connections(struct process *p)
{
	for (int i = 0; i <= CALLS_MAX; i++) {
		struct connection *n = &p->connections[i];

		if (!n->taken)
			continue;
		n->doomed = true;
		connection_shut(n);
		if (!n->busy)
			drop(n);
	}
	p->idle = NULL;
	p->control = NULL;
}

CK_RV process_finalize(void)
{
	struct process *p = here();
	int64_t deadline = now_ms() + WAIT_MS;

	if (!p)
		return CKR_CRYPTOKI_NOT_INITIALIZED;
	pthread_mutex_lock(&p->mutex);
	if (!p->ready) {
		pthread_mutex_unlock(&p->mutex);
		return CKR_CRYPTOKI_NOT_INITIALIZED;
	}
	p->ready = false;
	p->claimed = true;
	end_connections(p);
	tell(p);
	while (p->busy && wait_for_change(p, deadline))
		;
	sessions_forget(&p->sessions);
	p->claimed = false;
	tell(p);
	pthread_mutex_unlock(&p->mutex);
	return CKR_OK;
}
