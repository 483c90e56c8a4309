/* SPDX-License-Identifier: Apache-2.0 */
/* outward: calls from a chimod to any container, through the host. */
#ifndef GUEST_SDK_OUTWARD_H
#define GUEST_SDK_OUTWARD_H

#include "guest-sdk/guest_state.h"

/* Makes the call and waits; meanwhile serves what was sent to answer this very call. */
int guest_outward_call(struct guest *guest, const struct rapahub_call *call, void *result);

/* Frees the answers that results still show. */
void guest_outward_fini(struct guest *guest);

#endif
