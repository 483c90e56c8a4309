/* SPDX-License-Identifier: Apache-2.0 */
/* sender: the sending half of a link: one message after the other, in the order of the callers. */
#ifndef HUB_LINK_SENDER_H
#define HUB_LINK_SENDER_H

#include "hub/link/link.h"

/* Like hub_link_send; RAPAHUB_EPROTOCOL with the diagnosis if the peer's tail is impossible. */
int hub_sender_send(struct hub_link *link, const struct hub_message *message,
                    const struct hub_parts *payload, uint64_t deadline_ns);

/* Like hub_link_try. */
int hub_sender_try(struct hub_link *link, const struct hub_message *message,
                   const struct hub_parts *payload);

/* Says whether the peer has consumed everything, and no thread waits to send. Publishes messages
 * that are held back, which would otherwise never be consumed. */
bool hub_sender_quiet(struct hub_link *link);

#endif
