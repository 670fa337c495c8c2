/* SPDX-License-Identifier: Apache-2.0 */
/* Which process this is: asked at every call, because a child of fork must not
 * speak on what it inherited. */
#ifndef ONESLOT_FORK_H
#define ONESLOT_FORK_H

#include <sys/types.h>

/*
 * getpid without a system call. True in children of fork and of a raw clone as
 * well, but for those that share the memory of their parent (vfork), which may
 * not call anything.
 */
pid_t process_id(void);

#endif
