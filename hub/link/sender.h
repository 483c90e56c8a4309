/* SPDX-License-Identifier: Apache-2.0 */
/* sender: the sending half of a link: one message after the other, in the order of the callers. */
#ifndef HUB_LINK_SENDER_H
#define HUB_LINK_SENDER_H

#include "hub/link/link.h"

/* As hub_link_send; RAPAHUB_EPROTOCOL with the diagnosis where the peer's tail cannot be. */
int hub_sender_send(struct hub_link *link, const struct hub_message *message,
                    const struct hub_parts *payload, uint64_t deadline_ns);

/* As hub_link_try. */
int hub_sender_try(struct hub_link *link, const struct hub_message *message,
                   const struct hub_parts *payload);

/* Under the lock, what was put into the ring: held back where `more` is to follow and there is room
 * for that, else shown, and with it all before it: then true. */
bool hub_sender_show_or_hold(struct hub_link *link, bool more);

/* As hub_link_wake_receiver. */
void hub_sender_wake(struct hub_link *link);

/* As hub_link_push. */
void hub_sender_push(struct hub_link *link);

/* A Goodbye, if there is room now. */
void hub_sender_goodbye(struct hub_link *link, const char *rule, const char *context);

/* The link closed: everybody in the queue looks again. */
void hub_sender_wake_all(struct hub_link *link);

/* Has the peer taken all, and does nobody wait to send? Shows what is held back: it would never be
 * taken. */
bool hub_sender_quiet(struct hub_link *link);

/* Guest: the host shall look at once what this side has run out of, where it has none at all that
 * `size` bytes fit in: then true. */
bool hub_sender_ask(struct hub_link *link, size_t size);

/* Is there space for who has waited for it longest, and does it not know yet? */
bool hub_sender_space_came(struct hub_link *link);

#endif
