/* SPDX-License-Identifier: Apache-2.0 */
/* thief: right before a host signals a process, kills and reaps that process, and gives its
 * number to a stranger, which leads a group of that number, too. For a program in which syscall,
 * kill and host_spawn are wrapped. Numbers can be chosen by a process with that right in its pid
 * namespace. */
#ifndef TESTS_FAULT_THIEF_H
#define TESTS_FAULT_THIEF_H

#include <stdbool.h>
#include <sys/types.h>

/* Says whether numbers can be chosen here. If not, it continues in a child in namespaces of its
 * own: it returns there, too, and in the parent ends with the child's status. False: impossible. */
bool thief_begin(void);

/* From now on the `at`-th chance is taken, from 0 on; `old`: by a kernel that cannot signal a group
 * by a pidfd. */
void thief_arm(unsigned at, bool old);

/* Tells of a process that the host did not start. */
void thief_tell(pid_t pid);

/* SIGSTOP, by the test: no chance. 0, or -errno. */
int thief_stop(pid_t pid);

/* Chances there were: signals, and pidfds that were opened by number. */
unsigned thief_chances(void);

/* The outcome; afterwards there is no stranger, and nothing is stolen any more. */
enum thief_end {
    THIEF_NONE,      /* there was no such chance */
    THIEF_HELD,      /* the number was not available: another process still had it */
    THIEF_STRANGER,  /* the stranger lives */
    THIEF_BYSTANDER, /* the stranger got the signal */
};
enum thief_end thief_disarm(void);

#endif
