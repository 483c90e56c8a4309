/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the host's messages to containers, each carried out by one function. Serving
 * thread. */
#ifndef GUEST_SDK_LIFECYCLE_H
#define GUEST_SDK_LIFECYCLE_H

#include "guest-sdk/guest_state.h"
#include "hub/base/bytes.h"
#include "hub/wire/lifecycle.h"

/* Says whether this is a message that hosts send to guests. */
bool guest_lifecycle_serves(enum hub_lifecycle_method method);

/* Says whether a message of the host, which has no chain, is served while a method waits: the ping,
 * and those by which a container begins, or its state is copied, if nothing runs in it. */
bool guest_lifecycle_serves_meanwhile(const struct guest *guest, const struct hub_request *request);

/* Decodes the arguments, carries out the message and writes the result. Returns 0, -ENOENT for an
 * unknown handle, -EBUSY if a waiting call prevents it, or the callback's result. If the arguments
 * cannot be decoded, the reader has the failure and nothing was done. */
int guest_lifecycle_run(struct guest *guest, enum hub_lifecycle_method method,
                        struct hub_reader *arguments, struct hub_writer *result);

#endif
