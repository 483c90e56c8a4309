/* SPDX-License-Identifier: Apache-2.0 */
/* serve_run: the loop of the serving thread. It serves requests that come at once, then queued
 * ones, then sleeps. */
#ifndef GUEST_SDK_SERVE_RUN_H
#define GUEST_SDK_SERVE_RUN_H

#include "guest-sdk/guest_state.h"

/* Serves until the guest leaves or its host is gone. Returns the exit status of the process, enum
 * rapahub_guest_exit. Serving thread. */
int guest_serve_run(struct guest *guest);

#endif
