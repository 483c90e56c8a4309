/* SPDX-License-Identifier: Apache-2.0 */
/* attach: what a guest does with its end of a link: hub/connection/attach.h opens it. Serving
 * thread. */
#ifndef GUEST_SDK_ATTACH_H
#define GUEST_SDK_ATTACH_H

#include "guest-sdk/guest_state.h"

/* Reads the ticket in the arguments, and attaches. RAPAHUB_EFORMAT if there is none, or it is not
 * valid; else the errors of hub_attach_open. */
int guest_attach_open(struct guest *guest, int argc, char **argv);

/* Unmaps the segment and closes all descriptors. From then on this process writes nothing there. A
 * guest whose guest_attach_open failed is allowed. */
void guest_attach_close(struct guest *guest);

#endif
