/* SPDX-License-Identifier: Apache-2.0 */
#include "fork.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The kernel gives a child this page empty (MADV_WIPEONFORK, Linux 4.14), however
 * it was forked. Never unmapped: the module stays loaded. NULL: not asked for yet.
 */
static _Atomic(atomic_int *) page;

/* In its place where it cannot be had: the system is asked every time. */
static atomic_int none;

static atomic_int *make_page(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	atomic_int *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	atomic_int *there = NULL;

	if (made != MAP_FAILED && madvise(made, size, MADV_WIPEONFORK)) {
		munmap(made, size);
		made = MAP_FAILED;
	}
	if (made == MAP_FAILED)
		made = &none;
	if (atomic_compare_exchange_strong(&page, &there, made))
		return made;
	if (made != &none)	/* another thread was faster */
		munmap(made, size);
	return there;
}

pid_t process_id(void)
{
	atomic_int *known = atomic_load_explicit(&page, memory_order_acquire);
	pid_t pid;

	if (!known)
		known = make_page();
	pid = atomic_load_explicit(known, memory_order_relaxed);
	if (pid)
		return pid;
	pid = getpid();
	if (known != &none)
		atomic_store_explicit(known, pid, memory_order_relaxed);
	return pid;
}
