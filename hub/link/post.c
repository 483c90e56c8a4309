/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/post.h"

#include <rapahub/error.h>

#include "hub/link/message.h"
#include "hub/link/placement.h"
#include "hub/link/send_queue.h"

static void count_sent(struct hub_link *link, const struct hub_descriptor *descriptor)
    REQUIRES(link->send)
{
    struct hub_link_counters *counters = &link->counters;

    hub_count64(&counters->sent, 1);
    hub_count64(&counters->sent_bytes, descriptor->payload_len);
    if (descriptor->payload_slot != HUB_INLINE)
        hub_count64(&counters->sent_slots, 1);
}

/* A guest that has said goodbye takes no new work, but still wants its answers.
 * r[impl shm.goodbye.guest] */
static bool is_too_late(const struct hub_link *link, const struct hub_message *message)
{
    return link->options.role == HUB_ROLE_HOST && message->type == HUB_REQUEST &&
           hub_observe(&link->view.entry->state) == HUB_PEER_GOODBYE;
}

/* Sends if there is a place and a slot now: 0, -EAGAIN, RAPAHUB_ESTALE, RAPAHUB_EPROTOCOL. A
 * refusal writes nothing to the segment. r[impl hub.ring.no-drop] */
int hub_post_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload)
{
    struct hub_descriptor descriptor;
    int r;

    if (!hub_link_state_may_send(link) || is_too_late(link, message))
        return RAPAHUB_ESTALE;
    if (payload->gate && hub_observe(payload->gate) != 0)
        return RAPAHUB_ECANCELED;
    if (hub_wait_takes_part(&link->wait))
        hub_ring_trust(&link->out.convention);
    r = hub_ring_room(&link->out);
    if (r <= 0)
        return r == 0 ? -EAGAIN : hub_link_state_ours(link) ? r : RAPAHUB_ESTALE;
    hub_message_pack(message, &descriptor);
    r = hub_placement_put(link, payload, &descriptor);
    if (r < 0)
        return r;
    hub_ring_put(&link->out, &descriptor);
    (void)hub_send_queue_show_or_hold(link, payload->more);
    count_sent(link, &descriptor);
    return 0;
}

/* r[impl message.goodbye.send] */
void hub_post_goodbye(struct hub_link *link, const char *rule, const char *context)
{
    static const struct hub_message goodbye = {HUB_GOODBYE, 0, 0};
    uint8_t reason[1040];
    size_t most =
        link->limits.payload_max < sizeof reason ? link->limits.payload_max : sizeof reason;
    const struct hub_parts parts = {
        .head = {reason, hub_message_put_reason(rule, context, reason, most)}};
    int r;

    hub_mutex_lock(&link->send);
    r = hub_post_try(link, &goodbye, &parts);
    hub_mutex_unlock(&link->send);
    if (r == 0)
        hub_send_queue_wake(link);
}

/* The goodbye may meet another violation: the first one is named. r[impl hub.violation]
 * r[impl hub.death.guard] */
int hub_post_violated(struct hub_link *link)
{
    const struct rapahub_diagnosis why = *rapahub_last_error();

    if (!hub_link_state_ours(link))
        return RAPAHUB_ESTALE; /* it was read in an entry of another */
    hub_post_goodbye(link, why.rule, why.text);
    hub_link_state_close(link, RAPAHUB_EPROTOCOL, why.rule);
    return RAPAHUB_EPROTOCOL;
}

void hub_post_hint(struct hub_link *link)
{
    if (hub_observe(&link->wait.smuggled) == 0) {
        link->options.on_hint(link->options.user);
        return;
    }
    (void)rapahub_fail(RAPAHUB_EPROTOCOL, "hub.doorbell.descriptor",
                       "a descriptor came with a byte of the doorbell");
    (void)hub_post_violated(link);
}
