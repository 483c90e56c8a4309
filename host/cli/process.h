/* SPDX-License-Identifier: Apache-2.0 */
/* process: runs a program and waits for its end, at most so long. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Runs argv[0], looked up on PATH. What it prints goes to standard error: at once where `shown`,
 * else only where it fails. 0; RAPAHUB_EIO where it ended otherwise than with status 0, -ETIMEDOUT,
 * -ENOENT where there is no such program. */
int cli_process_run(const char *const *argv, bool shown, uint64_t timeout_ns);

/* Is there a program of that name on PATH? */
bool cli_process_exists(const char *name);

#endif
