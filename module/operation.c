/* SPDX-License-Identifier: Apache-2.0 */
#include "operation.h"
#include "call.h"
#include "calls_gen.h"
#include "clock.h"
#include "process.h"
#include "repeat.h"

#include <string.h>

/* An Init, the call that belongs to it, and both in one. */
static const struct kind {
	uint32_t init, single, once;
} kinds[] = {
	{ CALL_C_SIGN_INIT, CALL_C_SIGN, CALL_X_SIGN_ONCE },
	{ CALL_C_VERIFY_INIT, CALL_C_VERIFY, CALL_X_VERIFY_ONCE },
	{ CALL_C_DECRYPT_INIT, CALL_C_DECRYPT, CALL_X_DECRYPT_ONCE },
	{ CALL_C_ENCRYPT_INIT, CALL_C_ENCRYPT, CALL_X_ENCRYPT_ONCE },
	{ CALL_C_DIGEST_INIT, CALL_C_DIGEST, CALL_X_DIGEST_ONCE },
};

/* By either of its functions. NULL: none is put off. */
static const struct kind *kind_of(uint32_t number)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].init == number || kinds[i].single == number)
			return &kinds[i];
	return NULL;
}

static bool is_init(uint32_t number)
{
	const struct kind *k = kind_of(number);

	return k && k->init == number;
}

/* Calls that may change how the engine answers an Init or C_GetSessionInfo. */
static bool changes(uint32_t number)
{
	switch (number) {
	case CALL_C_INIT_TOKEN:
	case CALL_C_INIT_PIN:
	case CALL_C_SET_PIN:
	case CALL_C_CLOSE_SESSION:
	case CALL_C_CLOSE_ALL_SESSIONS:
	case CALL_C_SET_OPERATION_STATE:
	case CALL_C_LOGIN:
	case CALL_C_LOGIN_USER:
	case CALL_C_LOGOUT:
	case CALL_C_DESTROY_OBJECT:
	case CALL_C_SET_ATTRIBUTE_VALUE:
		return true;
	}
	return false;
}

/* Calls that may use, begin or end an operation of their session. */
static bool touches(uint32_t number)
{
	switch (number) {
	case CALL_C_GET_OPERATION_STATE:
	case CALL_C_SESSION_CANCEL:
		return true;
	}
	return changes(number) ||
	       (number >= CALL_C_ENCRYPT_INIT && number <= CALL_C_DECRYPT_VERIFY_UPDATE);
}

void sessions_create(struct sessions *all)
{
	atomic_store(&all->era, 1);
	for (int i = 0; i < SESSIONS; i++) {
		pthread_mutex_init(&all->places[i].mutex, NULL);
		condition_create(&all->places[i].changed);
	}
}

/* With the mutex held. */
static void forget(struct session *s, CK_SESSION_HANDLE next)
{
	s->handle = next;
	s->state = NOTHING;
	s->inside = 0;
	s->crowded = false;
	s->under_way = 0;
	s->informed = 0;
	explicit_bzero(s->beginning, s->length);
	s->length = 0;
}

void sessions_forget(struct sessions *all)
{
	atomic_fetch_add(&all->era, 1);
	for (int i = 0; i < SESSIONS; i++) {
		struct session *s = &all->places[i];

		pthread_mutex_lock(&s->mutex);
		if (s->state == PUT_OFF)
			atomic_fetch_sub(&all->put_off, 1);
		forget(s, CK_INVALID_HANDLE);
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->mutex);
	}
}

/* The place of a session, which another may hold. */
static struct session *place(struct sessions *all, CK_SESSION_HANDLE handle)
{
	return handle == CK_INVALID_HANDLE ? NULL : &all->places[handle % SESSIONS];
}

/* What was put off, out of the session. */
struct beginning {
	uint32_t number;
	size_t length;
	uint8_t args[BEGINNING_MAX];
};

/* With the mutex held. */
static void take(struct sessions *all, struct session *s, struct beginning *b)
{
	b->number = s->number;
	b->length = s->length;
	memcpy(b->args, s->beginning, s->length);
	s->state = CARRIED_OUT;
	atomic_fetch_sub(&all->put_off, 1);
}

/*
 * On the call's connection, in which nothing was put so far. Meanwhile other calls
 * of the session wait, since they may be those that the Init is for.
 */
static CK_RV carry_out(struct call *c, struct session *s, struct beginning *b)
{
	struct call init;

	call_start(&init, c->connection, b->number);
	put_raw(&init, b->args, b->length);
	if (call_send(&init) && init.number == CALL_C_ENCRYPT_INIT)
		get_returned(&init);	/* nothing */
	call_check(&init);
	connection_wipe(c->connection);
	explicit_bzero(b->args, b->length);
	if (init.broken) {
		c->broken = true;
		call_refuse(c, CKR_DEVICE_ERROR);
	}
	pthread_mutex_lock(&s->mutex);
	if (s->state == CARRIED_OUT) {
		s->state = init.rv == CKR_OK ? BEGUN : FAILED;
		s->failure = init.rv;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	return init.rv;
}

/* With the mutex held. It ends with the call of another thread, which has an end. */
static void wait_until_carried_out(struct session *s)
{
	int64_t deadline = now_ms() + SILENCE_MS;

	while (s->state == CARRIED_OUT)
		if (!condition_wait(&s->changed, &s->mutex, deadline))
			s->state = NOTHING;
}

/* All that was put off is carried out. */
static void carry_out_all(struct call *c)
{
	struct sessions *all = c->part.all;

	for (int i = 0; i < SESSIONS && atomic_load(&all->put_off) && !c->broken; i++) {
		struct session *s = &all->places[i];
		struct beginning b = { 0 };

		pthread_mutex_lock(&s->mutex);
		if (s->state == PUT_OFF)
			take(all, s, &b);
		pthread_mutex_unlock(&s->mutex);
		if (b.length)
			carry_out(c, s, &b);
	}
}

void operation_begin(struct call *c, struct sessions *all)
{
	c->part = (struct part){ .all = all, .number = c->number };
	if (changes(c->number)) {
		atomic_fetch_add(&all->era, 1);	/* first: from here none is put off */
		carry_out_all(c);
	}
	c->part.era = atomic_load(&all->era);
}

/* With the mutex held. */
static void make_room(struct session *s, CK_SESSION_HANDLE handle)
{
	if (s->handle != handle && s->state <= ENDED && !s->inside)
		forget(s, handle);
}

/*
 * With the mutex held: the call comes to the session. What it takes along, or has
 * to have carried out before, is b.
 */
static void enter(struct call *c, struct session *s, struct beginning *b)
{
	const struct kind *k = kind_of(c->number);
	struct part *p = &c->part;

	/* It began before this call, which must not overtake it. */
	if (k && k->init == s->under_way)
		call_refuse(c, CKR_OPERATION_ACTIVE);
	switch (s->state) {
	case PUT_OFF:
		take(p->all, s, b);
		p->taken = k && k->init == b->number && k->single == c->number;
		if (p->taken) {
			s->state = NOTHING;	/* no other call is to wait for it */
			s->under_way = b->number;
		}
		return;
	case FAILED:
		/* The application believes that there is an operation to work with. */
		if (c->number >= CALL_C_ENCRYPT_INIT && !is_init(c->number))
			call_refuse(c, s->failure);
		break;
	case ENDED:
		if (!s->crowded && k && k->init == c->number && s->number == c->number)
			return;
		break;
	case BEGUN:
		if (!s->crowded && k && k->single == c->number && s->number == k->init)
			return;
		break;
	default:
		break;
	}
	s->state = NOTHING;
}

void put_session(struct call *c, CK_SESSION_HANDLE handle)
{
	struct part *p = &c->part;
	struct session *s = p->all && touches(c->number) ? place(p->all, handle) : NULL;
	struct beginning b = { 0 };

	if (s) {
		p->handle = handle;
		pthread_mutex_lock(&s->mutex);
		if (s->handle == handle)
			wait_until_carried_out(s);
		if (is_init(c->number))
			make_room(s, handle);
		if (s->handle == handle) {
			p->session = s;
			s->crowded |= s->inside++ > 0;
			enter(c, s, &b);
		}
		pthread_mutex_unlock(&s->mutex);
	}
	if (p->taken) {
		c->number = kind_of(p->number)->once;
		put_raw(c, b.args, b.length);
		explicit_bzero(b.args, b.length);
		return;
	}
	if (b.length) {
		carry_out(c, s, &b);
		pthread_mutex_lock(&s->mutex);
		if (s->handle == handle)
			enter(c, s, &b);
		pthread_mutex_unlock(&s->mutex);
	}
	put_ulong(c, handle);
}

bool operation_put_off(struct call *c)
{
	struct part *p = &c->part;
	struct session *s = p->session;
	const bool returns = c->back.first || c->back.keys;	/* an IV that the token chose, perhaps */
	const uint8_t *args;
	size_t length;
	bool off = false;

	if (!s || !is_init(c->number) || c->rv != CKR_OK)
		return false;
	args = call_arguments(c, &length);
	pthread_mutex_lock(&s->mutex);
	if (s->handle == p->handle && !s->crowded) {
		off = s->state == ENDED && s->number == c->number && !returns &&
		      s->length == length && init_repeats(s->beginning, args, length) && s->era == atomic_load(&p->all->era);
		if (off) {
			memcpy(s->beginning, args, length);
			s->state = PUT_OFF;
			atomic_fetch_add(&p->all->put_off, 1);
		} else {
			s->state = NOTHING;
			explicit_bzero(s->beginning, s->length);
			s->length = length <= BEGINNING_MAX && !returns ? length : 0;
			memcpy(s->beginning, args, s->length);
			s->number = c->number;
			s->era = p->era;
		}
	}
	pthread_mutex_unlock(&s->mutex);
	return off;
}

/* With the mutex held: what is known after the session's last call. */
static enum operation_state after(struct call *c, struct session *s)
{
	const struct kind *k = kind_of(c->part.number);
	bool sent = call_was_sent(c);

	if (s->state == PUT_OFF || s->state == CARRIED_OUT || !k || !s->length)
		return s->state;
	if (k->init == c->part.number && sent)
		return c->rv == CKR_OK ? BEGUN : NOTHING;
	if (k->init == c->part.number)
		return s->state;
	if (c->part.taken && !sent && !c->broken) {
		/* The arguments were refused here, so the operation goes on. */
		atomic_fetch_add(&c->part.all->put_off, 1);
		return PUT_OFF;
	}
	if (!sent || (s->state != BEGUN && !c->part.taken))
		return NOTHING;
	if (c->rv == CKR_BUFFER_TOO_SMALL || (c->rv == CKR_OK && c->asks_length))
		return BEGUN;
	return c->rv == CKR_OK ? ENDED : NOTHING;
}

void operation_end(struct call *c)
{
	struct part *p = &c->part;
	struct session *s = p->session;

	if (!p->all)
		return;
	if (changes(p->number))
		atomic_fetch_add(&p->all->era, 1);
	if (!s)
		return;
	pthread_mutex_lock(&s->mutex);
	if (s->handle == p->handle && s->inside) {
		if (!s->crowded)
			s->state = after(c, s);
		else if (s->state <= ENDED)
			s->state = NOTHING;
		if (p->taken)
			s->under_way = 0;
		if (!--s->inside)
			s->crowded = false;
	}
	pthread_mutex_unlock(&s->mutex);
}

bool session_known(CK_SESSION_HANDLE handle, CK_SESSION_INFO *info)
{
	struct sessions *all = process_sessions();
	struct session *s = all ? place(all, handle) : NULL;
	bool known;

	if (!s || !info)
		return false;
	pthread_mutex_lock(&s->mutex);
	known = s->handle == handle && s->informed == atomic_load(&all->era);
	if (known)
		*info = s->info;
	pthread_mutex_unlock(&s->mutex);
	return known && process_attended();
}

void session_learn(struct call *c, CK_SESSION_HANDLE handle, const CK_SESSION_INFO *info)
{
	struct session *s = c->part.all ? place(c->part.all, handle) : NULL;

	if (!s || c->broken || c->rv != CKR_OK)
		return;
	pthread_mutex_lock(&s->mutex);
	make_room(s, handle);
	if (s->handle == handle) {
		s->info = *info;
		s->informed = c->part.era;
	}
	pthread_mutex_unlock(&s->mutex);
}
