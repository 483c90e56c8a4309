/* SPDX-License-Identifier: Apache-2.0 */
/* attach: makes an attached link from the ticket on the command line, or from the path of a
 * segment, and closes it again. Serving thread. */
#ifndef GUEST_SDK_ATTACH_H
#define GUEST_SDK_ATTACH_H

#include "guest-sdk/guest_state.h"

/* Reads the ticket, maps and checks the segment, and attaches to the entry; without a ticket, to
 * the first Empty entry. Errors: RAPAHUB_EFORMAT if the ticket or the segment is not valid,
 * RAPAHUB_ESTALE if the entry is not reserved for this process, RAPAHUB_EDIED if the host is
 * already gone, and those of hub_anonymous_enter. r[impl shm.spawn.guest-init]
 * r[impl shm.guest.attach] */
int guest_attach_open(struct guest *guest, int argc, char **argv);

/* Unmaps the segment and closes all descriptors. From then on this process writes nothing there. A
 * guest whose guest_attach_open failed is allowed. */
void guest_attach_close(struct guest *guest);

#endif
