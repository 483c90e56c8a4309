/* SPDX-License-Identifier: Apache-2.0 */
/* keep: descriptors that the host stores across the lives of this guest: those it handed over at
 * the start, and the socket by which to store more. Serving thread. */
#ifndef GUEST_SDK_KEEP_H
#define GUEST_SDK_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "hub/shm/deposit.h"

struct guest_keep {
    int socket; /* -1: the child has no `keep_fds` */
    uint32_t count;
    struct guest_kept {
        char name[HUB_DEPOSIT_NAME_MAX + 1];
        int fd; /* the module's; -1: none was stored */
    } of[HUB_DEPOSIT_NAMES_MAX];
};

/* Reads the arguments. RAPAHUB_EFORMAT if they are not valid. */
int guest_keep_open(struct guest_keep *keep, int argc, char **argv);
void guest_keep_close(struct guest_keep *keep);

#endif
