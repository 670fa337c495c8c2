/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <time.h>

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void condition_create(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(c, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

bool condition_wait(pthread_cond_t *c, pthread_mutex_t *m, int64_t deadline)
{
	struct timespec t = { deadline / 1000, deadline % 1000 * 1000000 };

	return !pthread_cond_timedwait(c, m, &t);
}
