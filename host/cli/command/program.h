/* SPDX-License-Identifier: Apache-2.0 */
/* program: the folder where this program is installed. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#define CLI_PROGRAM_PATH 4096

/* Returns the path of a file, given relative to the folder of this program. */
int cli_program_path(const char *from_bin, char to[CLI_PROGRAM_PATH]);

/* Returns the guest program: $RAPAHUB_GUEST, unless this program is set-uid; else the installed
 * one. */
int cli_program_guest(char to[CLI_PROGRAM_PATH]);

#endif
