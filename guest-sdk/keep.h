/* SPDX-License-Identifier: Apache-2.0 */
/* keep: descriptors that the host keeps over the lives of this guest: what it has handed over, and
 * the way to give it others. Serving thread. */
#ifndef GUEST_SDK_KEEP_H
#define GUEST_SDK_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "hub/shm/deposit.h"

struct guest_keep {
    int socket; /* -1: its child has no `keep_fds` */
    uint32_t count;
    struct guest_kept {
        char name[HUB_DEPOSIT_NAME_MAX + 1];
        int fd; /* the module's; -1: nothing was kept */
    } of[HUB_DEPOSIT_NAMES_MAX];
};

/* Reads the arguments: RAPAHUB_EFORMAT where they are wrong. */
int guest_keep_open(struct guest_keep *keep, int argc, char **argv);
void guest_keep_close(struct guest_keep *keep);

#endif
