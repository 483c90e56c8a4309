/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/channel_table.h"

void hub_channel_table_open(struct hub_channel_entry *entry, uint32_t credit)
{
    hub_store_relaxed(&entry->granted_total, credit);
    hub_publish(&entry->state, HUB_CHANNEL_ACTIVE);
}

void hub_channel_table_close(struct hub_channel_entry *entry)
{
    hub_publish(&entry->state, HUB_CHANNEL_CLOSED);
}

void hub_channel_table_free(struct hub_channel_entry *entry)
{
    hub_publish(&entry->state, HUB_CHANNEL_FREE);
}

bool hub_channel_table_is_free(const struct hub_channel_entry *entry)
{
    return hub_observe(&entry->state) == HUB_CHANNEL_FREE;
}

void hub_channel_table_grant(struct hub_channel_entry *entry, uint32_t total)
{
    hub_publish(&entry->granted_total, total);
}

uint32_t hub_channel_table_granted(const struct hub_channel_entry *entry)
{
    return hub_observe(&entry->granted_total);
}

int64_t hub_channel_table_credit(uint32_t granted, uint32_t sent)
{
    uint32_t left = granted - sent;

    return left > INT32_MAX ? -1 : (int64_t)left;
}
