/* SPDX-License-Identifier: Apache-2.0 */
/* What servers do around fork: field reports H1 and H2. */
#include "signer.h"

#include <fcntl.h>
#include <sys/stat.h>

static pid_t child(void (*life)(struct signer), struct signer inherited)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(300);	/* a child that hangs is the fault we look for */
	life(inherited);
	_exit(0);
}

static void refused(struct signer s)
{
	CK_MECHANISM mechanism = { CKM_SHA256_RSA_PKCS, NULL, 0 };
	CK_SESSION_INFO info;

	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_SignInit(s.session, &mechanism, s.key));
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSessionInfo(s.session, &info));
}

static void initializes(struct signer inherited)
{
	struct signer own;

	refused(inherited);
	own = start();
	for (int i = 0; i < 5; i++)
		sign(own);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
}

static void finalizes(struct signer inherited)
{
	refused(inherited);
	RETURNS(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
}

static void just_exits(struct signer inherited)
{
	(void)inherited;
	exit(0);	/* with whatever destructors there are */
}

/* Logs in, and ends without a word. */
static void drops_all(struct signer inherited)
{
	(void)inherited;
	sign(start());
}

/* As Apache with pkcs11-provider: a handle from before means the same key or none. */
static void keeps_handle(struct signer inherited)
{
	struct signer own = start();

	own.key = inherited.key;
	sign(own);
}

static void forks(void)
{
	void (*lives[])(struct signer) = { initializes, finalizes, just_exits, drops_all, keeps_handle };
	struct signer s = start();
	pid_t pid;

	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
		sign(s);
		pid = child(lives[i], s);
		for (int n = 0; n < 5; n++)
			sign(s);
		reap_child(pid);
		sign(s);
	}
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
}

static void twenty(void)
{
	struct signer s = start();
	pid_t pids[20];

	for (int i = 0; i < 20; i++)
		pids[i] = child(initializes, s);
	for (int n = 0; n < 50; n++)
		sign(s);
	for (int i = 0; i < 20; i++)
		reap_child(pids[i]);
	sign(s);
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
}

/* nginx: the launching process has the token open, then the master, then the
 * workers are forked, with an empty environment, and closed descriptors. */
static const char *pin;

static void worker(struct signer inherited)
{
	clearenv();
	refused(inherited);
	sign(start_with_pin(pin));
}

static void master(struct signer inherited)
{
	pid_t pids[4];

	CHECK(setsid() >= 0);
	CHECK(chdir("/") == 0);
	umask(0);
	closefrom(3);
	for (int i = 0; i < 4; i++)
		pids[i] = child(worker, inherited);
	for (int i = 0; i < 4; i++)
		reap_child(pids[i]);
	worker(inherited);
}

/* The launching process ends first, as daemons want it; the pipe of the test
 * stays open until the last of them has ended. */
static void daemonize(void)
{
	struct signer s = start();

	pin = strdup(getenv("PIN"));
	sign(s);
	child(master, s);
	exit(0);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	p11 = load(argv[1]);
	if (!strcmp(argv[2], "forks"))
		forks();
	else if (!strcmp(argv[2], "twenty"))
		twenty();
	else if (!strcmp(argv[2], "daemon"))
		daemonize();
	else
		CHECK(!"a known part");
	return 0;
}
