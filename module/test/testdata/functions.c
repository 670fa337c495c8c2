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

int main(int argc, char **argv)
{
	CK_FUNCTION_LIST *list;
	void **functions;
	size_t n = (sizeof(*list) - offsetof(CK_FUNCTION_LIST, C_Initialize)) / sizeof(*functions);

	CHECK(argc == 2);
	list = load(argv[1]);
	functions = (void **)&list->C_Initialize;
	printf("%d.%d\n", list->version.major, list->version.minor);
	for (size_t i = 0; i < n; i++) {
		Dl_info symbol;

		CHECK(dladdr(functions[i], &symbol) && symbol.dli_saddr == functions[i]);
		CHECK(!strcmp(symbol.dli_fname, argv[1]));
		printf("%s\n", symbol.dli_sname);
	}
	return 0;
}
