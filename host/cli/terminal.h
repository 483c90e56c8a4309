/* SPDX-License-Identifier: Apache-2.0 */
/* terminal: text of a peer, for who asked for it: a terminal gets it escaped, a file or a pipe as
 * it is. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdio.h>

#include <rapahub/value.h>

/* Tabs and ends of lines stay. Nothing where there is no memory. */
void cli_terminal_put(FILE *to, struct rapahub_string text);

/* The same, and the end of a line. Returns 0. */
int cli_terminal_print(FILE *to, const char *text);

#endif
