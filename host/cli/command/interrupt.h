/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt: Ctrl-C and SIGTERM as a descriptor. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP no longer end the program, but can be read here. */
int cli_interrupt_open(int *out);

/* Reads one of these signals; false if none is pending. */
bool cli_interrupt_take(int fd);

#endif
