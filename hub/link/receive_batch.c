/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/receive_batch.h"

#include <sched.h>
#include <string.h>

#include "hub/link/link_state.h"
#include "hub/link/slot_return.h"

int hub_receive_batch_copy(const struct hub_receive_batch *arrival, uint32_t at, uint32_t size,
                           void *to)
{
    struct hub_descriptor part = arrival->list[0];

    if (part.payload_slot == HUB_INLINE) {
        memcpy(to, part.inline_payload + at, size);
        return 0;
    }
    part.payload_offset += at;
    part.payload_len = size;
    return hub_slots_in_copy(&arrival->link->slots, &part, to);
}

/* Returns the length of a run of messages that belong together. A message that breaks a rule begins
 * the next run, and is found there. */
static uint32_t run_of(const struct hub_link *link, const struct hub_descriptor *list,
                       uint32_t most)
{
    struct hub_message message;
    uint32_t count = 1;

    while (count < most && list[count].msg_type == HUB_DATA && list[count].id == list[0].id &&
           list[count].payload_slot == HUB_INLINE &&
           hub_message_check(&list[count], &link->limits, &message) == 0)
        count++;
    return count;
}

/* The wakened thread may be on this CPU, or about to run for the first time: it reads data that is
 * warm, before this thread continues. */
static void tell(struct hub_link *link)
{
    hub_link_state_tell(link);
    (void)sched_yield();
}

/* Tells the reader at once if there is plenty; otherwise when no more follows. Waking a thread for
 * each message would cost more than all the rest. */
static void note_news(struct hub_link *link, int news)
{
    if (news == HUB_RECEIVE_BATCH_NOW) {
        link->plenty = true;
        tell(link);
    } else if (news == HUB_RECEIVE_BATCH_SOON) {
        link->untold = true;
    }
}

int hub_receive_batch_receive(struct hub_link *link, const struct hub_message *message,
                              const struct hub_descriptor *list, uint32_t most)
{
    const struct hub_link_events *events = &link->options.events;
    bool in_slot = list->payload_slot != HUB_INLINE;
    const struct hub_receive_batch arrival = {link, list, in_slot ? 1 : run_of(link, list, most)};
    int r = in_slot ? hub_slots_in_take(&link->slots, list, NULL) : 0;
    int news = r == 0 ? events->data(events->user, message, &arrival) : r;

    if (news < 0)
        return news;
    if (in_slot)
        r = hub_slot_return_quietly(link, list->payload_slot);
    if (r < 0)
        return r;
    hub_link_count_received(link, list, arrival.count);
    note_news(link, news);
    return (int)arrival.count;
}

void hub_receive_batch_tell(struct hub_link *link)
{
    if (!link->untold)
        return;
    link->untold = false;
    tell(link);
}

/* A message that breaks a rule is left to the ordinary check. */
uint32_t hub_receive_batch_take_line(struct hub_link *link, const struct hub_descriptor *list,
                                     uint32_t most)
{
    const struct hub_link_events *events = &link->options.events;
    uint32_t count = 0;

    while (count < most && list[count].msg_type == HUB_RESPONSE &&
           hub_message_is_small_call(&list[count], &link->limits))
        count++;
    count = count > 0 && events->take_line ? events->take_line(events->user, list, count) : 0;
    if (count > 0)
        hub_link_count_received(link, list, count);
    return count;
}
