/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"
#include "connection.h"
#include "environment.h"
#include "spawn.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A listener that does not accept must not hold C_Initialize for ever. */
static int dial(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct timeval patience = { SILENCE_MS / 1000, SILENCE_MS % 1000 * 1000 };
	int fd, failed;

	if (strlen(path) >= sizeof(a.sun_path))
		return -1;
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	do
		failed = connect(fd, (struct sockaddr *)&a, sizeof(a));
	while (failed && errno == EINTR);
	if (!failed)
		return fd;
	close(fd);
	return -1;
}

static int dial_running(const struct environment *e)
{
	const char *directory = environment_get(e, "XDG_RUNTIME_DIR");
	char path[PATH_MAX];
	int fd = -1;

	if (directory) {
		snprintf(path, sizeof(path), "%s/oneslot/engine.sock", directory);
		fd = dial(path);
	}
	return fd >= 0 ? fd : dial("/run/oneslot/engine.sock");
}

static const char *find_program(const struct environment *e)
{
	const char *places[] = {
		environment_get(e, "ONESLOT_ENGINE"),
		e->beside,
		e->installed,
		"/usr/libexec/oneslot/oneslot",
		"/usr/bin/oneslot",
	};

	if (places[0])
		return places[0];
	for (size_t i = 1; i < sizeof(places) / sizeof(*places); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

/*
 * The engine and its members run Go code on half of the processors, unless the user
 * says otherwise. Told at its start, a Go program is spared setting up the others:
 * a tenth of the time that it takes to start.
 */
static bool spawn_with_processors(const char *program, char **list, int socket)
{
	char text[32], **entry = list, **longer;
	cpu_set_t ours;
	bool started;
	int half;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return spawn_engine(program, list, socket); /* it finds out by itself */
	for (; *entry; entry++)
		if (!strncmp(*entry, "GOMAXPROCS=", 11))
			return spawn_engine(program, list, socket);
	longer = calloc((size_t)(entry - list) + 2, sizeof(*longer));
	if (!longer)
		return false;
	memcpy(longer, list, (size_t)(entry - list) * sizeof(*longer));
	half = CPU_COUNT(&ours) / 2;
	snprintf(text, sizeof(text), "GOMAXPROCS=%d", half > 1 ? half : 1);
	longer[entry - list] = text;
	started = spawn_engine(program, longer, socket);
	free(longer);
	return started;
}

static int start(const struct environment *e)
{
	const char *program = find_program(e);
	bool started;
	int ends[2];

	if (!program || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	started = spawn_with_processors(program, e->list, ends[1]);
	close(ends[1]);
	if (started)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Who names a socket means it: no other engine takes its place. */
int engine_connect(void)
{
	const struct environment *e = environment_now();
	const char *path;
	int fd;

	if (!e)
		return -1;
	path = environment_get(e, "ONESLOT_SOCKET");
	if (path)
		return dial(path);
	fd = dial_running(e);
	return fd >= 0 ? fd : start(e);
}
