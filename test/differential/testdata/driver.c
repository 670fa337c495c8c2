/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the calls that come in on standard input on the module that it is given,
 * and writes down what became of them. It knows nothing of PKCS#11 but the list of functions:
 *
 *   call    u32 function (its place in CK_FUNCTION_LIST)
 *           u32 buffers, each  u64 size, contents
 *           u32 pointers, each u32 buffer, u32 offset, u32 buffer pointed to
 *           u32 arguments, each u8 1 if it is the address of a buffer, u64 value
 *   answer  u64 return value, the contents of all buffers
 *
 * Each argument of these functions is an integer or a pointer, and so travels
 * in one register or word on the platforms of this project.
 */
#include <p11-kit/pkcs11.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS 4096
#define ARGUMENTS 8
#define GUARD 32

typedef CK_RV (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static struct { uint8_t *at; uint64_t size; } buffers[BUFFERS];

static void fail(const char *why)
{
	fprintf(stderr, "driver: %s\n", why);
	_Exit(3);
}

static void get(void *to, size_t n)
{
	if (n && fread(to, n, 1, stdin) != 1)
		_Exit(0);
}

static uint32_t get_u32(uint32_t limit)
{
	uint32_t v;

	get(&v, sizeof(v));
	if (v > limit)
		fail("number out of range");
	return v;
}

static uint64_t get_u64(void)
{
	uint64_t v;

	get(&v, sizeof(v));
	return v;
}

/* Behind each buffer is a guard, which no module may touch. */
static uint32_t get_buffers(void)
{
	uint32_t n = get_u32(BUFFERS);

	for (uint32_t i = 0; i < n; i++) {
		buffers[i].size = get_u64();
		buffers[i].at = malloc(buffers[i].size + GUARD);
		get(buffers[i].at, buffers[i].size);
		memset(buffers[i].at + buffers[i].size, 0xa5, GUARD);
	}
	for (uint32_t left = get_u32(BUFFERS); left; left--) {
		uint32_t from = get_u32(n - 1), offset = get_u32(1 << 30), to = get_u32(n - 1);

		memcpy(buffers[from].at + offset, &buffers[to].at, sizeof(void *));
	}
	return n;
}

static void put_buffers(uint32_t n)
{
	uint8_t guard[GUARD];

	memset(guard, 0xa5, GUARD);
	for (uint32_t i = 0; i < n; i++) {
		if (memcmp(buffers[i].at + buffers[i].size, guard, GUARD))
			fail("a buffer was overrun");
		if (buffers[i].size)
			fwrite(buffers[i].at, buffers[i].size, 1, stdout);
		free(buffers[i].at);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	CK_C_GetFunctionList list = module ? (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList") : NULL;
	CK_FUNCTION_LIST *functions;

	if (!list || list(&functions) != CKR_OK)
		fail("no module");
	for (;;) {
		uint32_t number = get_u32(67);
		function f = ((function *)&functions->C_Initialize)[number];
		uint32_t n = get_buffers();
		uint64_t a[ARGUMENTS] = { 0 };
		uint32_t arguments = get_u32(ARGUMENTS);
		uint64_t rv;

		for (uint32_t i = 0; i < arguments; i++) {
			uint8_t pointer;

			get(&pointer, 1);
			a[i] = get_u64();
			if (pointer)
				a[i] = (uint64_t)buffers[a[i]].at;
		}
		rv = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
		fwrite(&rv, sizeof(rv), 1, stdout);
		put_buffers(n);
	}
}
