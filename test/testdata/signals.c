/* SPDX-License-Identifier: Apache-2.0 */
/* An application with signal handlers and stacks of its own, in which nothing may
 * change: field reports H8 and H11. It goes on when it reads a line. */
#include "signer.h"

#include <dirent.h>
#include <signal.h>

static void handler(int signal) { (void)signal; }

/* All that the kernel says of this process's signals. */
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

static int tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGPROF, SIGCHLD, SIGURG, SIGHUP, SIGTERM };
	static char small[8192];
	stack_t alternative = { .ss_sp = small, .ss_size = sizeof(small) }, now;
	CK_C_INITIALIZE_ARGS none = { .flags = CKF_LIBRARY_CANT_CREATE_OS_THREADS | CKF_OS_LOCKING_OK };
	char before[1024], after[1024], line[64];
	struct signer s;
	struct sigaction act;

	CHECK(argc == 2);
	alarm(300);
	CHECK(!sigaltstack(&alternative, NULL));
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		CHECK(!sigaction(own[i], &(struct sigaction){ .sa_handler = handler, .sa_flags = SA_ONSTACK }, NULL));
	signals(before, sizeof(before));
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(&none));
	s.session = open_session();
	RETURNS(CKR_OK, p11->C_Login(s.session, CKU_USER, (CK_BYTE *)getenv("PIN"), strlen(getenv("PIN"))));
	s.key = find_key(s.session);
	sign(s);
	CHECK(tasks() == 1);
	CHECK(fgets(line, sizeof(line), stdin));
	/* The engine is gone. SIGPIPE would end us here: it is not ignored. */
	CHECK(p11->C_GenerateRandom(s.session, (CK_BYTE *)line, 16) != CKR_OK);
	CHECK(p11->C_GenerateRandom(s.session, (CK_BYTE *)line, 16) != CKR_OK);
	signals(after, sizeof(after));
	CHECK(!strcmp(before, after));
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		CHECK(!sigaction(own[i], NULL, &act) && act.sa_handler == handler);
	CHECK(!sigaltstack(NULL, &now) && now.ss_sp == small);
	CHECK(tasks() == 1);
	return 0;
}
