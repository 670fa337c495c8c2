/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "shim.h"

#include <stdbool.h>
#include <sys/resource.h>

/*
 * Whether the vendor's library computes in its calls or waits in them, for an HSM that is
 * elsewhere: a thread that gave its processor away of its own accord has waited. Some calls
 * are looked at, since a look costs two system calls.
 */
#define LOOK_EVERY 16
#define LOOKS 8

atomic_uint oneslot_waits;
static atomic_uint calls, looks, waited;

static long given_away(void)
{
        struct rusage used;

        return getrusage(RUSAGE_THREAD, &used) ? 0 : used.ru_nvcsw;
}

static void judge(bool has_waited)
{
        atomic_fetch_add(&waited, has_waited);
        if (atomic_fetch_add(&looks, 1) % LOOKS == LOOKS - 1)
                atomic_store(&oneslot_waits, atomic_exchange(&waited, 0) > LOOKS / 2);
}

CK_RV oneslot_in_out(fn_in_out f, hs s, CK_BYTE *in, CK_ULONG n, CK_BYTE *out, CK_ULONG *m)
{
        bool look = atomic_fetch_add(&calls, 1) % LOOK_EVERY == 0;
        long before;
        CK_RV rv;

        oneslot_on_time();
        if (!f)
                return CKR_FUNCTION_NOT_SUPPORTED;
        before = look ? given_away() : 0;
        rv = f(s, in, n, out, m);
        if (look)
                judge(given_away() != before);
        return rv;
}
