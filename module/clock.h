/* SPDX-License-Identifier: Apache-2.0 */
/* Time that passes evenly, in milliseconds, and waiting with an end. */
#ifndef ONESLOT_CLOCK_H
#define ONESLOT_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

int64_t now_ms(void);

void condition_create(pthread_cond_t *c);
/* With the mutex held. False: the deadline has passed. */
bool condition_wait(pthread_cond_t *c, pthread_mutex_t *m, int64_t deadline);

#endif
