/* SPDX-License-Identifier: Apache-2.0 */
/* rlimit: the limits of this process, checked before they are reached, and named when one was. */
#ifndef HUB_BASE_RLIMIT_H
#define HUB_BASE_RLIMIT_H

#include <stdint.h>

/* Checks whether this process may write a file (or memory backed by one) of `size` bytes. Returns
 * 0, or -EFBIG with the limit, its value and `size` in the diagnosis. Call it before writing: a
 * write beyond the limit raises SIGXFSZ. `rule` must be a constant. Any thread. */
int hub_rlimit_check_file(uint64_t size, const char *rule);

/* Returns `r`, a failure whose diagnosis the calling thread has. If a limit of this process or of
 * the system may be the cause (-EMFILE, -ENFILE, -EAGAIN of a thread or a process, -ENOMEM), its
 * name and value are added to the text. `needed` is the number of further descriptors that are
 * necessary; 0: unknown. Any thread. */
int hub_rlimit_explain(int r, unsigned needed);

#endif
