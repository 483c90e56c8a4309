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

/* Has the peer taken all, and does nobody wait to send? Shows what is held back: it would never be
 * taken. */
bool hub_sender_quiet(struct hub_link *link);

#endif
