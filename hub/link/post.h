/* SPDX-License-Identifier: Apache-2.0 */
/* post: sends one message now, or not at all: for threads that must not wait, such as the receiving
 * one. */
#ifndef HUB_LINK_POST_H
#define HUB_LINK_POST_H

#include "hub/link/link_state.h"

/* Puts a message into the ring if there is a place and a slot: 0, -EAGAIN, RAPAHUB_ESTALE,
 * RAPAHUB_ECANCELED by the gate; RAPAHUB_EPROTOCOL with the diagnosis if the peer's tail is
 * impossible. A refusal writes nothing to the segment. r[impl hub.ring.no-drop] */
int hub_post_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload) REQUIRES(link->send);

/* Sends a Goodbye, if there is space now. */
void hub_post_goodbye(struct hub_link *link, const char *rule, const char *context);

/* Like hub_link_violated. */
int hub_post_violated(struct hub_link *link);

/* Reports an event of the doorbell or the pidfd: on_hint, or a violation if a descriptor came. */
void hub_post_hint(struct hub_link *link);

#endif
