/* SPDX-License-Identifier: Apache-2.0 */
/* outward: calls from a chimod to any container, through the host. Serving thread. */
#ifndef GUEST_SDK_OUTWARD_H
#define GUEST_SDK_OUTWARD_H

#include "guest-sdk/guest_state.h"

/* Makes the call and waits for its end. Meanwhile it serves requests of the chains that wait here,
 * and the host's pings. The result holds until the next call at the same depth. 0 or a failure,
 * with its text. */
int guest_outward_call(struct guest *guest, const struct rapahub_call *call, void *result);

/* Frees the memory of answers, which results may still point to. */
void guest_outward_fini(struct guest *guest);

#endif
