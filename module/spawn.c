/* SPDX-License-Identifier: Apache-2.0 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENGINE_FD 3
#define STACK_SIZE ((size_t)64 << 10)
#define DESCRIPTORS_MAX (1u << 20)

/*
 * Both new processes run in our memory, one after the other, while we wait: no
 * page is copied, however large the application is, and no handler that it gave
 * to pthread_atfork runs. Exit signal 0 keeps the kernel from telling anybody.
 */
#define IN_OUR_MEMORY (CLONE_VM | CLONE_VFORK)

struct start {
	const char *program;
	char *const *environment;
	int socket;
	char *inner_stack;	/* upper end */
	volatile int error;	/* what stopped it, written by the new processes */
};

static void close_from(unsigned first)
{
	struct rlimit open_files;
	unsigned end = DESCRIPTORS_MAX;

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, first, ~0u, 0u))
		return;
#endif
	if (!getrlimit(RLIMIT_NOFILE, &open_files) && open_files.rlim_max < end)
		end = (unsigned)open_files.rlim_max;
	for (; first < end; first++)
		close((int)first);
}

/* The socket may have any number, also one of those that are about to be filled. */
static bool arrange_descriptors(int socket)
{
	int aside = fcntl(socket, F_DUPFD, ENGINE_FD + 1);
	int null = open("/dev/null", O_RDWR);

	if (aside < 0 || null < 0)
		return false;
	for (int fd = 0; fd < ENGINE_FD; fd++)
		if (dup2(null, fd) < 0)
			return false;
	if (dup2(aside, ENGINE_FD) < 0)
		return false;
	close_from(ENGINE_FD + 1);
	return true;
}

/* Signals are still blocked, so none can reach a handler of the application here. */
static void reset_signals(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &standard, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Go's monitor thread wakes up every 20 us while there is work, to see whether a thread
 * is stuck in a system call; the kernel makes 70 of it. In the engine none is for long:
 * with this slack it costs a tenth less processor's time up to the first signature.
 * Timers of the engine may be as late. Members inherit it, but for the threads that run
 * a vendor's library (host/cryptoki/slack.c).
 */
#define ENGINE_SLACK_NS 1000000ul

static int become_engine(void *argument)
{
	struct start *s = argument;
	char *const words[] = { "oneslot", "engine", "--fd", "3", NULL };

	setsid();
	if (!chdir("/") && arrange_descriptors(s->socket)) {
		reset_signals();
		prctl(PR_SET_TIMERSLACK, ENGINE_SLACK_NS, 0, 0, 0);
		execve(s->program, words, s->environment);
	}
	s->error = errno;
	return 127;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
}

/* The parent that the engine loses at once. */
static int stand_between(void *argument)
{
	struct start *s = argument;
	pid_t engine = clone(become_engine, s->inner_stack, IN_OUR_MEMORY, s);

	if (engine < 0)
		s->error = errno;
	else if (s->error)
		reap(engine);
	return 0;
}

bool spawn_engine(const char *program, char *const *environment, int socket)
{
	struct start s = { .program = program, .environment = environment, .socket = socket };
	char *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;
	int cancel;
	pid_t between;

	if (stacks == MAP_FAILED)
		return false;
	s.inner_stack = stacks + STACK_SIZE;
	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	between = clone(stand_between, stacks + 2 * STACK_SIZE, IN_OUR_MEMORY, &s);
	if (between < 0)
		s.error = errno;
	else
		reap(between);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
	munmap(stacks, 2 * STACK_SIZE);
	return s.error == 0;
}
