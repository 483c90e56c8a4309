/* SPDX-License-Identifier: Apache-2.0 */
/* intake: Data, Close and Reset as the link hands them up: to the channel they belong to, to
 * nobody, or a violation. Under the receive token. */
#ifndef HUB_LINK_INTAKE_H
#define HUB_LINK_INTAKE_H

#include "hub/link/channels.h"

/* Where the payload goes; NULL where nobody wants it. Then accept or drop. */
void *hub_intake_place(struct hub_channels *set, const struct hub_message *message, uint32_t size);

/* 0, or RAPAHUB_EPROTOCOL: flow.channel.credit-overrun, channeling.data.invalid,
 * channeling.data-after-close, channeling.holder-semantics, channeling.unknown. */
int hub_intake_accept(struct hub_channels *set, const struct hub_message *message,
                      const void *payload, uint32_t size);
void hub_intake_drop(struct hub_channels *set);

#endif
