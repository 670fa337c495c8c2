/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a private engine so that the application never notices. */
#ifndef ONESLOT_SPAWN_H
#define ONESLOT_SPAWN_H

#include <stdbool.h>

/*
 * Runs program as `oneslot engine --fd 3`, with socket as descriptor 3 and
 * nothing else of ours: /dev/null on 0 to 2, no other descriptor, no signal
 * blocked or ignored, a session of its own, the root as working directory.
 *
 * The application gets no SIGCHLD, and wait() has nothing to find: the engine is
 * a grandchild whose parent is gone. (As with every daemon, an application that
 * is process 1 or a subreaper inherits it nevertheless.)
 */
bool spawn_engine(const char *program, char *const *environment, int socket);

#endif
