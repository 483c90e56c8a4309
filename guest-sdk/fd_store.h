/* SPDX-License-Identifier: Apache-2.0 */
/* fd_store: descriptors that the host stores across the lives of this guest: those it handed over
 * at the start, and the socket by which to store more. Serving thread. */
#ifndef GUEST_SDK_FD_STORE_H
#define GUEST_SDK_FD_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "hub/shm/fd_store.h"

struct guest_fd_store {
    int socket; /* -1: the child has no `keep_fds` */
    uint32_t count;
    struct guest_kept {
        char name[HUB_FD_STORE_NAME_MAX + 1];
        int fd; /* the module's; -1: none was stored */
    } of[HUB_FD_STORE_NAMES_MAX];
};

/* Reads the arguments. RAPAHUB_EFORMAT if they are not valid. */
int guest_fd_store_open(struct guest_fd_store *keep, int argc, char **argv);
void guest_fd_store_close(struct guest_fd_store *keep);

#endif
