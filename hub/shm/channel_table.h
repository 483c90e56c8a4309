/* SPDX-License-Identifier: Apache-2.0 */
/* channel_table: what two sides share of a channel: its state, and how much its receiver has
 * granted. Channel N is entry N. Nothing is decided by what stands here but two questions: may the
 * sender send so much, and may the allocator use the id again.
 *
 * r[impl shm.flow.channel-table-indexing] r[impl shm.flow.counter-per-channel] */
#ifndef HUB_SHM_CHANNEL_TABLE_H
#define HUB_SHM_CHANNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"

/* Credit first, then Active. By who allocated the id. r[impl shm.flow.channel-activate]
 * r[impl shm.flow.initial] */
void hub_channel_table_open(struct hub_channel_entry *entry, uint32_t credit);

/* By the sender, before its Close or Reset. */
void hub_channel_table_close(struct hub_channel_entry *entry);

/* The id may be used again. r[impl shm.flow.channel-id-reuse] */
void hub_channel_table_free(struct hub_channel_entry *entry);
bool hub_channel_table_is_free(const struct hub_channel_entry *entry);

/* The sum of all the receiver ever granted, modulo 2^32; behind the consumption of the bytes.
 * r[impl shm.flow.granted-total] r[impl shm.flow.ordering.receiver] */
void hub_channel_table_grant(struct hub_channel_entry *entry, uint32_t total);

/* r[impl shm.flow.ordering.sender] */
uint32_t hub_channel_table_granted(const struct hub_channel_entry *entry);

/* How many bytes may still be sent: 0 or more; -1 where no honest receiver wrote such a sum.
 * r[impl shm.flow.remaining-credit] r[impl shm.flow.wrap-rule] */
int64_t hub_channel_table_credit(uint32_t granted, uint32_t sent);

#endif
