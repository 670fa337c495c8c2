/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "shim.h"

#include <sys/resource.h>

/*
 * Whether the vendor's library computes in its calls or waits in them, for an HSM that is
 * elsewhere: a thread that gave its processor away of its own accord has waited. Some calls
 * are looked at, since a look costs two system calls. Their distance is odd, so that of the
 * calls that come in pairs, an Init and its own, both are; and of such an HSM only one may wait.
 */
#define LOOK_EVERY 17
#define LOOKS 8
#define ENOUGH 3

atomic_uint oneslot_waits;
static atomic_uint calls, looks, waited;

long oneslot_enter(void)
{
        struct rusage used;

        oneslot_on_time();
        if (atomic_fetch_add(&calls, 1) % LOOK_EVERY || getrusage(RUSAGE_THREAD, &used))
                return -1;
        return used.ru_nvcsw;
}

void oneslot_leave(long entered)
{
        struct rusage used;

        if (entered < 0 || getrusage(RUSAGE_THREAD, &used))
                return;
        atomic_fetch_add(&waited, used.ru_nvcsw != entered);
        if (atomic_fetch_add(&looks, 1) % LOOKS == LOOKS - 1)
                atomic_store(&oneslot_waits, atomic_exchange(&waited, 0) >= ENOUGH);
}
