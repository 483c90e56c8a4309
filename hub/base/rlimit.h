/* SPDX-License-Identifier: Apache-2.0 */
/* rlimit: the limits of this process, looked at before they are reached, and named where one was.
 */
#ifndef HUB_BASE_RLIMIT_H
#define HUB_BASE_RLIMIT_H

#include <stdint.h>

/* May this process write a file (or memory that is one) of `size` bytes? 0, or -EFBIG with the
 * limit, its value and `size` in the diagnosis. Who writes beyond the limit is killed by SIGXFSZ,
 * so this is asked before. `rule` must be a constant. Any thread. */
int hub_rlimit_check_file(uint64_t size, const char *rule);

/* Returns `r`, a failure whose diagnosis the calling thread has. Where a limit of this process, or
 * of the system, stands behind it (-EMFILE, -ENFILE, -EAGAIN of a thread or a process, -ENOMEM),
 * its name and value are added to the text. `needed`: how many more descriptors this takes; 0:
 * unknown. Any thread. */
int hub_rlimit_explain(int r, unsigned needed);

#endif
