/* SPDX-License-Identifier: Apache-2.0 */
#include "environment.h"
#include "fork.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;

/*
 * What the first process had, and what a child makes of it. Each is replaced
 * whole, so a fork at any moment finds it complete.
 */
static struct environment *remembered;
static struct environment *merged;

static size_t name_length(const char *entry) { return strcspn(entry, "="); }

static const char *find(char *const *list, const char *name, size_t length)
{
	for (; list && *list; list++)
		if (name_length(*list) == length && !strncmp(*list, name, length) &&
		    (*list)[length] == '=')
			return *list + length + 1;
	return NULL;
}

const char *environment_get(const struct environment *e, const char *name)
{
	const char *value = find(e->list, name, strlen(name));

	return value && *value ? value : NULL;
}

/* The engine's working directory is the root, so our paths have to start there. */
static char *copy_entry(const char *entry)
{
	static const char *const paths[] = { "ONESLOT_CONF", "ONESLOT_ENGINE", "ONESLOT_SOCKET" };
	size_t length = name_length(entry);
	char directory[PATH_MAX];
	char *absolute;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const char *value = entry + length + 1;

		if (strlen(paths[i]) != length || strncmp(entry, paths[i], length) ||
		    entry[length] != '=' || *value == '/' || *value == '\0' ||
		    !getcwd(directory, sizeof(directory)))
			continue;
		if (asprintf(&absolute, "%s=%s/%s", paths[i], directory, value) < 0)
			return NULL;
		return absolute;
	}
	return strdup(entry);
}

/* A program by its path from the folder where this library really lies. */
static char *find_from_here(const char *program)
{
	char real[PATH_MAX], *path;
	Dl_info library;

	if (!dladdr((void *)find_from_here, &library) || !realpath(library.dli_fname, real))
		return strdup("");
	*strrchr(real, '/') = '\0';
	return asprintf(&path, "%s/%s", real, program) < 0 ? NULL : path;
}

static void forget(struct environment *e)
{
	if (!e)
		return;
	for (char **entry = e->list; entry && *entry; entry++)
		free(*entry);
	free(e->list);
	free(e->beside);
	free(e->installed);
	free(e);
}

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Copies list, and of more what list does not have. */
static struct environment *copy(char *const *list, char *const *more, const struct environment *before)
{
	struct environment *e = calloc(1, sizeof(*e));
	bool complete = true;
	size_t n = 0;

	if (!e)
		return NULL;
	e->pid = process_id();
	/* Looked up once: the path of the library may be relative to a directory since left. */
	e->beside = before ? strdup(before->beside) : find_from_here("oneslot");
	e->installed = before ? strdup(before->installed) : find_from_here("../bin/oneslot");
	e->list = calloc(count(list) + count(more) + 1, sizeof(*e->list));
	complete = e->beside && e->installed && e->list;
	for (; complete && list && *list; list++)
		complete = (e->list[n++] = copy_entry(*list)) != NULL;
	for (; complete && more && *more; more++)
		if (!find(e->list, *more, name_length(*more)))
			complete = (e->list[n++] = strdup(*more)) != NULL;
	if (complete)
		return e;
	forget(e);
	return NULL;
}

static const struct environment *replace(struct environment **place, struct environment *e)
{
	struct environment *old = *place;

	if (e) {
		*place = e;
		forget(old);
	}
	return e;
}

const struct environment *environment_now(void)
{
	static char *safe[] = { "PATH=/usr/bin:/bin", NULL };
	char **now = getauxval(AT_SECURE) ? safe : environ;

	if (!remembered || remembered->pid == process_id())
		return replace(&remembered, copy(now, NULL, remembered));
	return replace(&merged, copy(now, remembered->list, remembered));
}
