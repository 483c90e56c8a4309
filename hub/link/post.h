/* SPDX-License-Identifier: Apache-2.0 */
/* post: one message now, or none: what may be sent by a thread that must not wait, the receiving
 * one for example. */
#ifndef HUB_LINK_POST_H
#define HUB_LINK_POST_H

#include "hub/link/link_state.h"

/* Puts a message into the ring where there is room and a slot: 0, -EAGAIN, RAPAHUB_ESTALE,
 * RAPAHUB_ECANCELED by the gate; RAPAHUB_EPROTOCOL with the diagnosis where the peer's tail cannot
 * be. A refusal writes nothing to the segment. r[impl hub.ring.no-drop] */
int hub_post_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload) REQUIRES(link->send);

/* A Goodbye, if there is room now. */
void hub_post_goodbye(struct hub_link *link, const char *rule, const char *context);

/* As hub_link_violated. */
int hub_post_violated(struct hub_link *link);

/* The doorbell or the pidfd says something: on_hint, or a violation where a descriptor came. */
void hub_post_hint(struct hub_link *link);

#endif
