/* SPDX-License-Identifier: Apache-2.0 */
/* process_child: the children of another process, as /proc tells them. */
#ifndef TESTS_SUPPORT_PROCESS_CHILD_H
#define TESTS_SUPPORT_PROCESS_CHILD_H

#include <sys/types.h>

/* Returns the pid of the child with this index; 0: there is none, or no such process. */
pid_t process_child(pid_t parent, unsigned index);

#endif
