/* SPDX-License-Identifier: Apache-2.0 */
/* failure: the report of an error. r[impl exp.next] */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include <rapahub/export.h>

struct cli;

/* Set the subject of the next error, and its hint in place of the code's own. */
void cli_failure_about(struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);
void cli_failure_hint(struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);

/* Writes the thread's diagnosis of `code` to standard error, as text or as rapahub.error/1, and
 * returns the exit status. */
int cli_failure_report(struct cli *cli, int code);

/* Prints a line on standard error, unless --quiet. */
void cli_failure_note(const struct cli *cli, const char *format, ...) RAPAHUB_PRINTF(2, 3);

#endif
