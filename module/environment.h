/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that the engine is found and started with. Servers empty the
 * environment of their workers (nginx does), so what stood in it at C_Initialize
 * is kept, and fills in for a child of fork what the child lacks.
 */
#ifndef ONESLOT_ENVIRONMENT_H
#define ONESLOT_ENVIRONMENT_H

#include <sys/types.h>

struct environment {
	pid_t pid;	/* the process that had it */
	char *beside;	/* the program `oneslot` in the module's own folder */
	char *installed; /* and in bin, where that folder is lib */
	char **list;	/* as environ */
};

/*
 * The environment to use for this C_Initialize; it stays valid until the next.
 * NULL: no memory. Of a set-user-ID program nothing is used, for its caller
 * wrote it.
 */
const struct environment *environment_now(void);

/* NULL if unset or empty. */
const char *environment_get(const struct environment *e, const char *name);

#endif
