/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/loan.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/line.h"
#include "hub/base/small_copy.h"
#include "hub/link/link_state.h"
#include "hub/link/send_queue.h"

#define LOANS_MAX 64
#define FEW       16 /* bytes that are copied without a function call */
#define LINE      64 /* bytes: data begins with the second line of its slot */

/* Limits the loans, so that others find slots too. */
static bool enter(struct hub_link *link)
{
    if (hub_add(&link->loans, 1) < LOANS_MAX)
        return true;
    (void)hub_add(&link->loans, (uint32_t)-1);
    return false;
}

static void leave(struct hub_link *link)
{
    (void)hub_add(&link->loans, (uint32_t)-1);
}

static __attribute__((cold)) int refuse_size(size_t size, size_t most)
{
    return rapahub_fail(RAPAHUB_EMSGSIZE, "hub.loan.align",
                        "a loan of %zu bytes; the largest of this hub has %zu", size, most);
}

/* Returns the bytes of the slot before those of a loan: the rest of the first line. */
static size_t lead_of(const struct hub_link *link)
{
    return LINE - hub_slots_start(link->options.pool);
}

/* The bytes before the data count as payload too. Sizes of slots do not change. */
static size_t largest(struct hub_link *link)
{
    size_t most = hub_load_relaxed64(&link->loan_most), slot;

    if (most > 0)
        return most;
    slot = hub_slots_largest(link->options.pool);
    most = slot < link->limits.payload_max ? slot : link->limits.payload_max;
    most = most > lead_of(link) ? most - lead_of(link) : 0;
    hub_store_relaxed64(&link->loan_most, most);
    return most;
}

int hub_loan_take(struct hub_link *link, size_t size, struct hub_loan *out)
{
    struct hub_slots *pool = link->options.pool;
    size_t lead = lead_of(link), most = largest(link);
    int r;

    out->data = NULL;
    if (size > most)
        return refuse_size(size, most);
    if (!hub_link_state_may_send(link))
        return rapahub_fail(RAPAHUB_ESTALE, "", "the link of the loan is closed");
    if (!enter(link))
        return rapahub_fail(RAPAHUB_EBUSY, "", "%d loans of one link are out", LOANS_MAX);
    r = hub_slots_loan(pool, link->options.peer, size + lead, &out->slot);
    if (r < 0) {
        if (r == -EAGAIN || r == -ENOSPC) /* so that the next loan finds a slot */
            (void)hub_send_queue_ask(link, size + lead);
        leave(link);
        return r;
    }
    if (!hub_line_begins(out->slot.data + lead)) { /* slots of a layout that is not ours */
        hub_slots_drop(pool, out->slot.slot);
        leave(link);
        return rapahub_fail(RAPAHUB_ENOTSUP, "hub.loan.align", "slots that begin at no line");
    }
    out->data = out->slot.data + lead;
    out->room = out->slot.room - lead;
    return 0;
}

void hub_loan_drop(struct hub_link *link, struct hub_loan *loan)
{
    if (!loan->data)
        return;
    if (hub_link_state_ours(link)) /* else the slot already belongs to the next life */
        hub_slots_drop(link->options.pool, loan->slot.slot);
    leave(link);
    loan->data = NULL;
    hub_link_state_tell(link); /* wakes threads that wait for a slot of ours */
    hub_link_state_nudge(link);
}

static __attribute__((cold)) int refuse_place(const struct hub_parts *payload)
{
    return rapahub_fail(RAPAHUB_EMSGSIZE, "hub.loan.align",
                        "%zu bytes before %zu of a loan that has room for %d and %zu",
                        payload->head.size, payload->tail.size, HUB_LOAN_HEAD, payload->loan->room);
}

/* The bytes before the data go into the line before it. Small payloads are inline as usual. */
int hub_loan_place(struct hub_link *link, const struct hub_parts *payload,
                   struct hub_descriptor *descriptor)
{
    struct hub_loan *loan = payload->loan;
    size_t head = payload->head.size;
    uint8_t *start = loan->data - head;

    if (head > HUB_LOAN_HEAD || payload->tail.size > loan->room || payload->tail.data != loan->data)
        return refuse_place(payload);
    if (head <= FEW)
        hub_small_copy_copy(start, payload->head.data, head);
    else
        memcpy(start, payload->head.data, head);
    descriptor->payload_slot = loan->slot.slot;
    descriptor->payload_generation = loan->slot.generation;
    descriptor->payload_offset = (uint32_t)(start - loan->slot.data);
    hub_loan_sent(link, loan);
    return 0;
}

void hub_loan_sent(struct hub_link *link, struct hub_loan *loan)
{
    hub_slots_sent(link->options.pool, &loan->slot);
    leave(link);
    loan->data = NULL;
}
