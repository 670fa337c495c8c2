/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process has with the engine: nothing, or a set of connections that
 * its threads borrow. A child of fork has nothing, whatever its parent had.
 */
#ifndef ONESLOT_PROCESS_H
#define ONESLOT_PROCESS_H

#include "connection.h"

#include "cryptoki.h"
#include "operation.h"

/* True between C_Initialize and C_Finalize, in this very process. */
bool process_initialized(void);

/*
 * The steps of C_Initialize. process_claim makes the caller the one thread that
 * may go on; it has to come to process_connected (which takes fd) or
 * process_failed.
 */
CK_RV process_claim(void);
CK_RV process_connected(int fd);
void process_failed(void);

/*
 * Ends every connection and waits, for a bounded time, until the threads that
 * were inside a call have left it.
 */
CK_RV process_finalize(void);

/*
 * Borrows an idle connection, or a new one. NULL: *rv says why. Giving it back
 * broken closes it.
 */
struct connection *process_borrow(CK_RV *rv, struct sessions **all);
/* True if C_Finalize ended the connection while it was borrowed. */
bool process_return(struct connection *n, bool broken);

/* What is known of sessions. NULL: not initialised. */
struct sessions *process_sessions(void);
/* True if the engine is seen to be there. */
bool process_attended(void);

#endif
