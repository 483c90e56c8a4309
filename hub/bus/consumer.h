/* SPDX-License-Identifier: Apache-2.0 */
/* consumer: the part of a consumer that is for the rooms above: <rapahub/region.h> has the rest. */
#ifndef HUB_BUS_CONSUMER_H
#define HUB_BUS_CONSUMER_H

#include <rapahub/region.h>

#include "hub/bus/listener.h"

/* Counts in the header of its region a message that could not be decoded. Any process that takes
 * part can write the number: it is for people. */
void hub_consumer_count_undecodable(const struct rapahub_consumer *consumer);

/* Returns the bytes of the longest message. */
size_t hub_consumer_message_max(const struct rapahub_consumer *consumer);

/* Makes a thread of the library call the listener when there may be a message: once at first, and
 * once after each time that the consumer found none. In place of rapahub_consumer_fd; -EBUSY where
 * that has a thread. */
int hub_consumer_listen(struct rapahub_consumer *consumer, const struct hub_listener *listener);

/* Gives the role back as rapahub_consumer_close does, ends its thread and its descriptor, and keeps
 * the handle, which fails with RAPAHUB_ESTATE until it has a role again. The region may be closed
 * then. No other thread uses the handle meanwhile. NULL, and a handle without a role, are allowed.
 * r[impl region.let-go] */
void hub_consumer_let_go(struct rapahub_consumer *consumer);

/* Takes a role for a handle that has none, as rapahub_consumer_open does. After a failure it has
 * none. */
int hub_consumer_resume(struct rapahub_consumer *consumer, struct rapahub_region *region,
                        const struct rapahub_consumer_options *options);

/* The listener is called again not before a time, although there is a message. By the thread that
 * uses the consumer. */
void hub_consumer_pause(struct rapahub_consumer *consumer, uint64_t until_ns);

#endif
