/* SPDX-License-Identifier: Apache-2.0 */
/* Where the engine is, and how one is started. */
#ifndef ONESLOT_ENGINE_H
#define ONESLOT_ENGINE_H

/*
 * Connects to the engine that the environment names, else to one that runs,
 * else to a new one of this process. Returns a socket, or -1. Called by one
 * thread at a time.
 */
int engine_connect(void);

#endif
