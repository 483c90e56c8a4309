/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_names: the names of system calls that nodes make. */
#ifndef TESTS_FAULT_SYSCALL_NAMES_H
#define TESTS_FAULT_SYSCALL_NAMES_H

/* Returns the name of a system call, or NULL where it is none of these. */
const char *syscall_names_of(long number);

#endif
