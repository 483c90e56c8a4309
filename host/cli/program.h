/* SPDX-License-Identifier: Apache-2.0 */
/* program: where this program is installed, and what lies beside it. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <stddef.h>

#define CLI_PROGRAM_PATH 4096

/* The path of what lies at `from_bin`, seen from this program's folder. */
int cli_program_path(const char *from_bin, char to[CLI_PROGRAM_PATH]);

/* RAPAHUB_GUEST, unless this program is set-uid; else the installed one. */
int cli_program_guest(char to[CLI_PROGRAM_PATH]);

#endif
