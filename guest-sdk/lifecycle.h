/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the host's messages to containers, each carried out by one function. */
#ifndef GUEST_SDK_LIFECYCLE_H
#define GUEST_SDK_LIFECYCLE_H

#include "guest-sdk/guest_state.h"
#include "hub/base/bytes.h"
#include "hub/wire/lifecycle.h"

/* Is it one that a host sends to its guests? */
bool guest_lifecycle_serves(enum hub_lifecycle_method method);

/* Decodes the arguments, does it, writes the result: 0, -ENOENT for a handle that is none, -EBUSY
 * where a call that waits for this one stands in the way, or what the callback returned. Where the
 * arguments cannot be decoded the reader has its failure and nothing was done. */
int guest_lifecycle_run(struct guest *guest, enum hub_lifecycle_method method,
                        struct hub_reader *arguments, struct hub_writer *result);

#endif
