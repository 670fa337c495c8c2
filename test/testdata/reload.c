/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, uses and unloads the module again and again: field report H10. */
#include "signer.h"

#include <dirent.h>

static int count(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static void once(const char *path)
{
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CK_C_GetFunctionList get;

	CHECK(module);
	get = (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
	CHECK(get && get(&p11) == CKR_OK);
	sign(start());
	RETURNS(CKR_OK, p11->C_Finalize(NULL));
	CHECK(!dlclose(module));
}

int main(int argc, char **argv)
{
	int descriptors, threads;
	long kib;

	CHECK(argc == 2);
	for (int i = 0; i < 10; i++)
		once(argv[1]);
	descriptors = count("/proc/self/fd");
	threads = count("/proc/self/task");
	kib = resident_kib();
	for (int i = 0; i < 90; i++)
		once(argv[1]);
	CHECK(count("/proc/self/fd") == descriptors);
	CHECK(count("/proc/self/task") == threads);
	CHECK(resident_kib() < kib + 512);
	return 0;
}
