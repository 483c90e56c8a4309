/* SPDX-License-Identifier: Apache-2.0 */
/* serve_run: the loop of the serving thread: requests that come at once, then those that wait, then
 * a sleep. */
#ifndef GUEST_SDK_SERVE_RUN_H
#define GUEST_SDK_SERVE_RUN_H

#include "guest-sdk/guest_state.h"

/* Serves; the exit status of the process: enum rapahub_guest_exit. Serving thread. */
int guest_serve_run(struct guest *guest);

#endif
