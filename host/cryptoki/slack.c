/* SPDX-License-Identifier: Apache-2.0 */

#include "shim.h"

#include <stdbool.h>
#include <sys/prctl.h>

/*
 * Go's monitor thread looks for work every 20 us while there is some, and takes the
 * processor of each goroutine away that has been in C for that long. For who serves many
 * short calls that costs more than the calls. So members are started with this slack of
 * timers, by the module (module/spawn.c) through the engine, and by an appliance
 * (host/appliance/user.go). The threads that run a vendor's library have the standard's:
 * one that polls its HSM must not wait longer than in any other process. What else an
 * administrator chose stays.
 */
#define LATE_NS 1000000
#define STANDARD_NS 50000ul

void oneslot_on_time(void)
{
        static __thread bool done;

        if (done)
                return;
        done = true;
        if (prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == LATE_NS)
                prctl(PR_SET_TIMERSLACK, STANDARD_NS, 0, 0, 0);
}
