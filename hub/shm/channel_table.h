/* SPDX-License-Identifier: Apache-2.0 */
/* channel_table: the shared part of a channel: its state, and the credit that its receiver has
 * granted. Channel N is entry N. Only two decisions depend on an entry: whether the sender may send
 * more bytes, and whether the allocator may reuse the id.
 *
 * r[impl shm.flow.channel-table-indexing] r[impl shm.flow.counter-per-channel]
 */
#ifndef HUB_SHM_CHANNEL_TABLE_H
#define HUB_SHM_CHANNEL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"

/* Allocator of the id: sets the credit first, then the state Active.
 * r[impl shm.flow.channel-activate] r[impl shm.flow.initial] */
void hub_channel_table_open(struct hub_channel_entry *entry, uint32_t credit);

/* Sender: call it before sending Close or Reset. */
void hub_channel_table_close(struct hub_channel_entry *entry);

/* The id may be reused afterwards. r[impl shm.flow.channel-id-reuse] */
void hub_channel_table_free(struct hub_channel_entry *entry);
bool hub_channel_table_is_free(const struct hub_channel_entry *entry);

/* Receiver: publishes the sum of all grants, modulo 2^32, after consuming the bytes.
 * r[impl shm.flow.granted-total] r[impl shm.flow.ordering.receiver] */
void hub_channel_table_grant(struct hub_channel_entry *entry, uint32_t total);

/* r[impl shm.flow.ordering.sender] */
uint32_t hub_channel_table_granted(const struct hub_channel_entry *entry);

/* Returns the bytes that may still be sent, 0 or more, or -1 if no honest receiver can have written
 * this sum. r[impl shm.flow.remaining-credit] r[impl shm.flow.wrap-rule] */
int64_t hub_channel_table_credit(uint32_t granted, uint32_t sent);

#endif
