/* SPDX-License-Identifier: Apache-2.0 */
/* machine: which machine this is, which boot of it, and which process has a number. Any thread.
 */
#ifndef CLUSTER_NODE_DISK_MACHINE_H
#define CLUSTER_NODE_DISK_MACHINE_H

#include <stdint.h>
#include <sys/types.h>

#define CLUSTER_MACHINE_ID 16

struct cluster_machine {
    uint8_t id[CLUSTER_MACHINE_ID];   /* zeros: the system has none */
    uint8_t boot[CLUSTER_MACHINE_ID]; /* another one with each start of the kernel */
};

/* Fails where the kernel tells no boot: without /proc. */
int cluster_machine_read(struct cluster_machine *out);

/* Reads when the process that has this number began, in clock ticks since the machine's boot. With
 * it a process is known again after its number was reused. -ESRCH: there is none. RAPAHUB_EFORMAT,
 * -EACCES and others, with a diagnosis: the kernel does not tell. */
int cluster_machine_start_of(pid_t pid, uint64_t *out);

#endif
