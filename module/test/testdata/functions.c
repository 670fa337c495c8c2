/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the function list by the names of the symbols in it. It is built with
 * -rdynamic and has a C_Sign and a C_Login that the module must not take for its own.
 */
#include "application.h"

CK_RV C_Sign(CK_SESSION_HANDLE s, CK_BYTE *d, CK_ULONG n, CK_BYTE *o, CK_ULONG *l)
{
	(void)s, (void)d, (void)n, (void)o, (void)l;
	abort();
}

CK_RV C_Login(CK_SESSION_HANDLE s, CK_USER_TYPE u, CK_BYTE *p, CK_ULONG n)
{
	(void)s, (void)u, (void)p, (void)n;
	abort();
}

/* Of a list that begins with its version, n functions. */
static void print(const char *path, void *list, size_t n)
{
	CK_VERSION *version = list;
	void **functions = (void **)list + 1;	/* the version takes the place of one */

	printf("%d.%d\n", version->major, version->minor);
	for (size_t i = 0; i < n; i++) {
		Dl_info symbol;

		CHECK(dladdr(functions[i], &symbol) && !strcmp(symbol.dli_fname, path));
		printf("%s\n", symbol.dli_saddr == functions[i] ? symbol.dli_sname : "?");
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	print(argv[1], load(argv[1]), sizeof(CK_FUNCTION_LIST) / sizeof(void *) - 1);
	print(argv[1], load_interface(argv[1], 3, 0), sizeof(CK_FUNCTION_LIST_3_0) / sizeof(void *) - 1);
	return 0;
}
