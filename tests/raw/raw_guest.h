/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest: attaches by ticket, or over a segment that is mapped already, and says goodbye. */
#ifndef TESTS_RAW_RAW_GUEST_H
#define TESTS_RAW_RAW_GUEST_H

#include <stddef.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

struct raw_ticket {
    char path[256]; /* a file, or /proc/self/fd/N or /dev/fd/N for descriptor N */
    uint32_t peer;
    int bell; /* -1: none */
};

/* From arguments: any order, the last of a name wins, others are ignored. 0 or -EINVAL. */
int raw_guest_ticket(int argc, char *const argv[], struct raw_ticket *out);

/* Maps, checks, moves the entry from Reserved to Attached, rings. 0; -ESTALE if the entry is not
 * Reserved; -EPROTO; -errno. The link owns the doorbell. raw_link_fini ends it without a word, as a
 * crash would. */
int raw_guest_attach(const struct raw_ticket *ticket, const struct raw_behaviour *behaviour,
                     struct raw_link *out);

/* The same over `size` bytes at `base`, which stay the caller's. The behaviour, and the doorbell in
 * `bell` or -1, are set in `link` before. Where it fails the link is finished, doorbell and all. */
int raw_guest_attach_mapped(struct raw_link *link, uint8_t *base, size_t size, uint32_t peer);

/* Sets the state Goodbye, and wakes the host. Messages in the ring may still be received. */
void raw_guest_goodbye(struct raw_link *link);

/* Writes the monotonic time as heartbeat. */
void raw_guest_heartbeat(struct raw_link *link);

#endif
