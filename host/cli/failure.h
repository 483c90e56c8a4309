/* SPDX-License-Identifier: Apache-2.0 */
/* failure: how an error is told. r[impl exp.next] */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include <rapahub/export.h>

struct cli;

/* What the next error is about, and what to do about it instead of the code's own hint. */
void cli_failure_about(struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);
void cli_failure_hint(struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);

/* Writes the thread's diagnosis of `code` to standard error, as text or as rapahub.error/1, and
 * returns the exit status. */
int cli_failure_report(struct cli *cli, int code);

/* One line on standard error, unless --quiet. */
void cli_failure_note(const struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);

#endif
