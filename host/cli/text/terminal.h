/* SPDX-License-Identifier: Apache-2.0 */
/* terminal: prints text of a peer: escaped on a terminal, unchanged into a file or a pipe. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdio.h>

#include <rapahub/value.h>

/* Prints the text. Tabs and line ends stay. Prints nothing if there is no memory. */
void cli_terminal_put(FILE *to, struct rapahub_string text);

/* The same, and the end of a line. Returns 0. */
int cli_terminal_print(FILE *to, const char *text);

#endif
