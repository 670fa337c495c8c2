/* SPDX-License-Identifier: Apache-2.0 */
/* Initialising, forking and unloading, with an engine behind the module. */
#include "application.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>

static CK_FUNCTION_LIST *p11;
static const char *path;

static CK_RV info(void)
{
	CK_SESSION_INFO i;

	/* Of another session each time, since the module remembers. */
	return p11->C_GetSessionInfo(atomic_fetch_add(&next_session, 1), &i);
}

static CK_RV mutex(void *m) { (void)m; return CKR_OK; }
static CK_RV create_mutex(void **m) { (void)m; return CKR_OK; }

/* Every combination of arguments that PKCS#11 2.40, section 5.4, speaks of. */
static void arguments(void)
{
	CK_C_INITIALIZE_ARGS all = { create_mutex, mutex, mutex, mutex, 0, NULL };
	CK_C_INITIALIZE_ARGS some = { create_mutex, mutex, NULL, mutex, 0, NULL };
	CK_C_INITIALIZE_ARGS reserved = { .pReserved = &all };

	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, info());
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetInfo(NULL));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetFunctionStatus(1));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_CancelFunction(1));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_GetFunctionList(NULL));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Initialize(&some));
	RETURNS(CKR_ARGUMENTS_BAD, p11->C_Initialize(&reserved));
	for (CK_FLAGS flags = 0; flags < 4; flags++) {
		CK_C_INITIALIZE_ARGS none = { .flags = flags };

		all.flags = flags;
		RETURNS(CKR_OK, p11->C_Initialize(&all));
		RETURNS(CKR_CRYPTOKI_ALREADY_INITIALIZED, p11->C_Initialize(NULL));
		RETURNS(CKR_OK, info());
		RETURNS(CKR_OK, p11->C_Finalize(NULL));
		RETURNS(CKR_OK, p11->C_Initialize(&none));
		RETURNS(CKR_OK, info());
		RETURNS(CKR_ARGUMENTS_BAD, p11->C_Finalize(&none));
		RETURNS(CKR_FUNCTION_NOT_PARALLEL, p11->C_GetFunctionStatus(1));
		RETURNS(CKR_FUNCTION_NOT_PARALLEL, p11->C_CancelFunction(1));
		RETURNS(CKR_OK, p11->C_Finalize(NULL));
		RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
	}
}

static atomic_int winners;

static void *initialize(void *unused)
{
	CK_RV rv = p11->C_Initialize(NULL);

	(void)unused;
	CHECK(rv == CKR_OK || rv == CKR_CRYPTOKI_ALREADY_INITIALIZED);
	winners += rv == CKR_OK;
	return NULL;
}

/* Of many threads that initialise at once, one does. */
static void race(void)
{
	pthread_t threads[16];

	for (int round = 0; round < 20; round++) {
		winners = 0;
		for (int i = 0; i < 16; i++)
			CHECK(!pthread_create(&threads[i], NULL, initialize, NULL));
		for (int i = 0; i < 16; i++)
			pthread_join(threads[i], NULL);
		CHECK(winners == 1);
		RETURNS(CKR_OK, info());
		RETURNS(CKR_OK, p11->C_Finalize(NULL));
	}
}

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void stranger(void)
{
	CK_ULONG n = 0;

	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, info());
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &n));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
}

static void child_of_its_own(void)
{
	int before = count_descriptors();

	stranger();
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	CHECK(count_descriptors() == before - 2);	/* three inherited; one new so far */
	RETURNS(CKR_OK, info());
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
}

/* A daemon closes what it inherited, and its files get the numbers of our sockets. */
static void child_that_closes_all(void)
{
	int files[16];

	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 16; i++)
		files[i] = open("/dev/null", O_RDWR);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	for (int i = 0; i < 16; i++)
		CHECK(fcntl(files[i], F_GETFD) >= 0);
	RETURNS(CKR_OK, info());
}

static pid_t fork_child(void (*child)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	child();
	exit(0);
}

static atomic_bool enough;
static atomic_int started;

static void *use(void *unused)
{
	(void)unused;
	RETURNS(CKR_OK, info());
	started++;
	while (!enough)
		RETURNS(CKR_OK, info());
	return NULL;
}

/*
 * The parent's threads are in the middle of calls, and may hold any lock, while
 * its children come and go.
 */
static void forks(void)
{
	pid_t children[20];
	pthread_t threads[4];

	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
	reap_child(fork_child(child_of_its_own));
	RETURNS(CKR_OK, info());
	reap_child(fork_child(child_that_closes_all));
	RETURNS(CKR_OK, info());
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, use, NULL));
	while (started < 4)	/* the sanitizers' allocator must not be busy at a fork */
		sched_yield();
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		children[i] = pid;
		if (pid)
			continue;
		stranger();
		RETURNS(CKR_OK, p11->C_Initialize(NULL));
		RETURNS(CKR_OK, info());
		if (i % 2)
			RETURNS(CKR_OK, p11->C_Finalize(NULL));
		if (i % 3)
			exit(0);
		_exit(0);
	}
	for (int i = 0; i < 20; i++)
		reap_child(children[i]);
	enough = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	RETURNS(CKR_OK, info());
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
}

static int cloned(void *unused)
{
	(void)unused;
	return info() == CKR_CRYPTOKI_NOT_INITIALIZED ? 0 : 1;
}

/* A process made without fork(), so that no handler of pthread_atfork ran. */
static void raw_clone(void)
{
	static char stack[1 << 18] __attribute__((aligned(16)));
	pid_t pid;

	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	pid = clone(cloned, stack + sizeof(stack), SIGCHLD, NULL);
	CHECK(pid > 0);
	reap_child(pid);
	RETURNS(CKR_OK, info());
}

static atomic_int sigchlds;

static void on_sigchld(int s) { (void)s; sigchlds++; }

/* The lines of /proc/self/status about signals. */
static void signals(char *out, size_t size)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	*out = '\0';
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4))
			strncat(out, line, size - strlen(out) - 1);
	fclose(f);
}

/* Starting a private engine leaves no trace in the application. */
static void invisible(bool ignore)
{
	char before[1024], after[1024];
	struct sigaction act = { .sa_handler = ignore ? SIG_IGN : on_sigchld };
	sigset_t some;
	int marker = open("/dev/zero", O_RDONLY);	/* must not reach the engine */

	CHECK(marker >= 0);
	sigaction(SIGCHLD, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);	/* a Go program leaves it so if it starts so */
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, NULL);
	signals(before, sizeof(before));
	p11 = load(path);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	signals(after, sizeof(after));
	CHECK(!strcmp(before, after));
	CHECK(wait(NULL) == -1 && errno == ECHILD && sigchlds == 0);
}

static long count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	long lines = 0;
	int c;

	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

static void load_use_unload(void)
{
	void *module = dlopen(path, RTLD_NOW);
	CK_C_GetFunctionList get = (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");

	RETURNS(CKR_OK, get(&p11));
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	CHECK(!dlclose(module));
}

/* A hundred times dlopen to dlclose grow nothing. */
static void reload(void)
{
	long maps;
	int descriptors;

	for (int i = 0; i < 5; i++)
		load_use_unload();
	maps = count_maps();
	descriptors = count_descriptors();
	(void)maps;
	for (int i = 0; i < 100; i++)
		load_use_unload();
	CHECK(count_descriptors() == descriptors);
#ifndef __SANITIZE_ADDRESS__	/* which keeps freed memory */
	CHECK(count_maps() <= maps + 2);
#endif
	reap_child(fork_child(load_use_unload));
}

/* Loading alone does nothing: no descriptor, no thread, no socket. */
static void loading(void)
{
	int before = count_descriptors();

	p11 = load(path);
	CHECK(count_descriptors() == before);
}

static void worker(void)
{
	clearenv();
	CHECK(!chdir("/"));
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	RETURNS(CKR_OK, info());
}

/* As nginx: initialised in the master, forked, environment emptied. */
static void emptied(void)
{
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	unlink(getenv("ONESLOT_TEST_REPORT"));
	reap_child(fork_child(worker));
	RETURNS(CKR_OK, info());
}

/* A failed start leaves nothing to wait for either, even where orphans come to us. */
static void unreachable(void)
{
	int before = count_descriptors();

	CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	RETURNS(CKR_GENERAL_ERROR, p11->C_Initialize(NULL));
	RETURNS(CKR_GENERAL_ERROR, p11->C_Initialize(NULL));
	CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
	CHECK(count_descriptors() == before);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	path = argv[1];
	if (!strcmp(argv[2], "invisible") || !strcmp(argv[2], "ignored")) {
		invisible(!strcmp(argv[2], "ignored"));
		return 0;
	}
	if (!strcmp(argv[2], "reload")) {
		reload();
		return 0;
	}
	loading();
	if (!strcmp(argv[2], "arguments"))
		arguments();
	else if (!strcmp(argv[2], "race"))
		race();
	else if (!strcmp(argv[2], "forks"))
		forks();
	else if (!strcmp(argv[2], "clone"))
		raw_clone();
	else if (!strcmp(argv[2], "emptied"))
		emptied();
	else if (!strcmp(argv[2], "unreachable"))
		unreachable();
	else
		return 2;
	return 0;
}
