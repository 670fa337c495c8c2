/* SPDX-License-Identifier: Apache-2.0 */
/* An application whose tokens take their PIN by a pad of their own: field report F6.
 * It goes on for each line that it reads, and says how its calls went. */
#include "signer.h"

static void say(const char *what, CK_RV rv)
{
	printf("%s 0x%lx\n", what, rv);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	CK_SESSION_HANDLE session;
	CK_BYTE random[16];
	char order[64];

	CHECK(argc == 2);
	alarm(300);
	p11 = load(argv[1]);
	RETURNS(CKR_OK, p11->C_Initialize(NULL));
	session = open_session();
	while (fgets(order, sizeof(order), stdin)) {
		order[strcspn(order, "\n")] = '\0';
		if (!strcmp(order, "login"))
			say(order, p11->C_Login(session, CKU_USER, NULL, 0));
		else if (!strcmp(order, "pin"))
			say(order, p11->C_Login(session, CKU_USER, (CK_UTF8CHAR *)getenv("PIN"), strlen(getenv("PIN"))));
		else if (!strcmp(order, "logout"))
			say(order, p11->C_Logout(session));
		else
			say(order, p11->C_GenerateRandom(session, random, sizeof(random)));
	}
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	return 0;
}
