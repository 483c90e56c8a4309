/* SPDX-License-Identifier: Apache-2.0 */
/* process: runs a program and waits for its end, at most so long. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Runs argv[0], looked up on PATH. Its output goes to standard error: at once if `shown`, else only
 * if it fails. RAPAHUB_EIO: it ended otherwise than with status 0; -ETIMEDOUT; -ENOENT: there is no
 * such program. */
int cli_process_run(const char *const *argv, bool shown, uint64_t timeout_ns);

#endif
