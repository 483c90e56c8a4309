/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/link.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/link/link_state.h"
#include "hub/link/placement.h"
#include "hub/link/post.h"
#include "hub/link/receiver.h"
#include "hub/link/send_queue.h"
#include "hub/link/sender.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/wait_foreign.h"

static void open_rings(struct hub_link *link)
{
    const struct hub_segment_view *view = &link->view;
    struct hub_peer_entry *entry = view->entry;
    uint32_t size = link->limits.ring_size;

    if (link->options.role == HUB_ROLE_HOST) {
        hub_ring_producer_init(&link->out, view->host_to_guest, size, &entry->host_to_guest_head,
                               &entry->host_to_guest_tail);
        hub_ring_consumer_init(&link->in, view->guest_to_host, size, &entry->guest_to_host_head,
                               &entry->guest_to_host_tail);
    } else {
        hub_ring_producer_init(&link->out, view->guest_to_host, size, &entry->guest_to_host_head,
                               &entry->guest_to_host_tail);
        hub_ring_consumer_init(&link->in, view->host_to_guest, size, &entry->host_to_guest_head,
                               &entry->host_to_guest_tail);
    }
    if (!link->options.segment->shared)
        return;
    /* in a shared file an unknown peer may keep its indices modulo the size of the ring */
    link->out.convention = link->in.convention = HUB_RING_UNKNOWN;
}

/* A leader may be asleep on a byte that is read here: it must check again. */
static void hear(void *user)
{
    struct hub_link *link = user;

    (void)hub_wait_drain(&link->wait);
    hub_wait_wake_own(&link->wait);
}

bool hub_link_hear(struct hub_link *link)
{
    return hub_wait_drain(&link->wait);
}

static int open_slots(struct hub_link *link)
{
    const struct hub_link_options *options = &link->options;
    const struct hub_slots_line line = {options->doorbell, hear, link, options->inbox};
    bool host = options->role == HUB_ROLE_HOST;
    int r = hub_slots_in_init(&link->slots, options->pool, &options->segment->geometry,
                              host ? link->view.guest_pool : link->view.host_pool, options->peer);

    if (r == 0)
        link->wait.ear.inbox = hub_slots_connect(options->pool, &line);
    return r;
}

int hub_link_create(const struct hub_link_options *options, struct hub_link **out)
{
    static const struct hub_a32 never;
    OWN(hub_link) struct hub_link *link = calloc(1, sizeof *link);
    bool host = options->role == HUB_ROLE_HOST;
    int r;

    if (!link)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a link");
    link->options = *options;
    link->options.pended = options->pended ? options->pended : &never;
    link->view = *options->view;
    link->usual = hub_peer_table_attached(options->epoch);
    link->limits = options->segment->geometry.limits;
    link->rule = "";
    link->listens = host; /* its entry is made with an armed doorbell */
    link->wait.nudge = -1;
    hub_mutex_init(&link->send, HUB_MUTEX_LINK);
    hub_list_init(&link->senders);
    hub_mutex_lock(&link->send);
    hub_placement_init(link);
    hub_mutex_unlock(&link->send);
    open_rings(link);
    hub_wait_init(&link->wait, host ? &link->view.entry->host_wait : &link->view.entry->guest_wait,
                  host ? &link->view.entry->guest_wait : &link->view.entry->host_wait,
                  options->doorbell, options->pidfd);
    link->wait.life = host ? NULL : &link->view.entry->state;
    link->wait.attached = link->usual;
    link->wait.manner = options->waiting;
    /* no guest has calls that must end with its host */
    link->wait.watched = options->watched || !host;
    link->wait.messages[0] = &link->counters.sent;
    link->wait.messages[1] = &link->counters.received;
    link->wait.nudge = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (link->wait.nudge < 0)
        return rapahub_fail(-errno, "", "cannot make an eventfd for a link");
    if (options->by_lock)
        link->wait.host_lock = options->segment->mapping.fd;
    r = open_slots(link);
    if (r < 0)
        return r;
    *out = TAKE(link);
    return 0;
}

void hub_link_release(struct hub_link **link)
{
    static const struct hub_slots_line none = {.bell = -1};

    if (!*link)
        return;
    if ((*link)->slots.own)
        (void)hub_slots_connect((*link)->slots.own, &none);
    if ((*link)->wait.nudge >= 0)
        close((*link)->wait.nudge);
    hub_slots_in_fini(&(*link)->slots);
    hub_mutex_fini(&(*link)->send);
    free(*link);
    *link = NULL;
}

bool hub_link_closed(const struct hub_link *link)
{
    return hub_link_state_closed(link);
}

void hub_link_close(struct hub_link *link, int code, const char *rule)
{
    hub_link_state_close(link, code, rule);
}

int hub_link_fate(const struct hub_link *link)
{
    return hub_link_state_fate(link);
}

int hub_link_cause(const struct hub_link *link)
{
    return hub_link_closed(link) ? link->cause : 0;
}

bool hub_link_broken(const struct hub_link *link)
{
    return hub_observe(&link->broken) != 0;
}

const char *hub_link_rule(const struct hub_link *link)
{
    if (hub_link_broken(link))
        return link->broken_rule;
    return hub_link_closed(link) ? link->rule : "";
}

/* A host may take the state for the end, and hand the entry on, so the state is written last.
 * r[impl shm.guest.detach] */
void hub_link_leave(struct hub_link *link)
{
    hub_send_queue_push(link);
    if (hub_peer_table_leave(link->view.entry, link->options.epoch))
        hub_wait_wake_all(&link->wait, link->out.head);
}

bool hub_link_ours(const struct hub_link *link)
{
    return hub_link_state_ours(link);
}

void hub_link_alert(struct hub_link *link)
{
    hub_wait_wake(&link->wait, HUB_WAIT_RX | HUB_WAIT_TX, link->out.head);
}

bool hub_link_host_left(const struct hub_link *link)
{
    return hub_link_state_host_left(link);
}

/* r[impl hub.ring.cork] */
static inline void push_own(struct hub_link *link, uint64_t deadline_ns)
{
    if (hub_load_relaxed(&link->corks) != 0)
        link->options.events.push(link->options.events.user, deadline_ns);
}

void hub_link_hinder(struct hub_link *link, bool begins)
{
    hub_link_state_hinder(link, begins);
}

void hub_link_cork(struct hub_link *link, bool corked)
{
    hub_link_hinder(link, corked);
    hub_store_relaxed(&link->corks, hub_load_relaxed(&link->corks) + (corked ? 1 : UINT32_MAX));
}

/* A thread that waits for space first sends what it holds back itself. */
static int send(struct hub_link *link, const struct hub_message *message,
                const struct hub_parts *payload, uint64_t deadline_ns)
{
    int r;

    if (deadline_ns == 0 || hub_load_relaxed(&link->corks) == 0)
        return hub_sender_send(link, message, payload, deadline_ns);
    r = hub_sender_send(link, message, payload, 0);
    if (r != -EAGAIN)
        return r;
    push_own(link, deadline_ns);
    return hub_sender_send(link, message, payload, deadline_ns);
}

int hub_link_send(struct hub_link *link, const struct hub_message *message,
                  const struct hub_parts *payload, uint64_t deadline_ns)
{
    int r = send(link, message, payload, deadline_ns);

    return r == RAPAHUB_EPROTOCOL ? hub_link_violated(link) : r;
}

struct hub_mutex *hub_link_lock(struct hub_link *link)
{
    return &link->send;
}

int hub_link_try(struct hub_link *link, const struct hub_message *message,
                 const struct hub_parts *payload)
{
    return hub_sender_try(link, message, payload);
}

void hub_link_wake_receiver(struct hub_link *link)
{
    hub_send_queue_wake(link);
}

void hub_link_push(struct hub_link *link)
{
    push_own(link, 0);
    hub_send_queue_push(link);
}

int hub_link_violated(struct hub_link *link)
{
    return hub_post_violated(link);
}

void hub_link_say_goodbye(struct hub_link *link, const char *rule, const char *context)
{
    hub_post_goodbye(link, rule, context);
}

int hub_link_sweep(struct hub_link *link, uint32_t max)
{
    return hub_receiver_sweep(link, max, true);
}

int hub_link_poll(struct hub_link *link, uint32_t max)
{
    return hub_receiver_sweep(link, max, false);
}

bool hub_link_has_news(const struct hub_link *link)
{
    return hub_receiver_has_news(link);
}

int hub_link_rung(struct hub_link *link, uint32_t max)
{
    return hub_receiver_rung(link, max);
}

int hub_link_lead(struct hub_link *link, const struct hub_link_until *until)
{
    push_own(link, until->deadline_ns);
    return hub_receiver_lead(link, until);
}

int hub_link_wait(struct hub_link *link, const struct hub_link_until *until)
{
    push_own(link, until->deadline_ns);
    return hub_receiver_wait(link, until);
}

bool hub_link_peer_takes_part(const struct hub_link *link)
{
    return hub_wait_takes_part(&link->wait);
}

void hub_link_wake_peer(struct hub_link *link, uint32_t mask, struct hub_a32 *word)
{
    hub_wait_wake(&link->wait, mask, word);
}

void hub_link_note_unrung(struct hub_link *link)
{
    if (hub_receiver_has_news(link) && hub_observe(&link->bell_pending) == 0)
        hub_wait_foreign_note_unrung(&link->wait);
}

bool hub_link_wakes_by_futex(const struct hub_link *link)
{
    return hub_wait_foreign_by_futex(&link->wait);
}

const struct hub_a32 *hub_link_head(const struct hub_link *link)
{
    return link->in.head;
}

/* A peer may wake only one sleeper, which need not be the leader. */
void hub_link_moved(struct hub_link *link)
{
    if (hub_link_closed(link))
        return;
    if (hub_receiver_has_news(link))
        link->options.on_pending(link->options.user);
    else if (hub_link_receiving(link) && hub_wait_foreign_sleeps(&link->wait))
        hub_wait_wake_own(&link->wait);
}

void hub_link_suspect(struct hub_link *link)
{
    hub_publish(&link->hung_up, 1);
    hub_wait_wake_own(&link->wait);
}

void hub_link_dead(struct hub_link *link)
{
    hub_link_hinder(link, true);
    hub_publish(&link->dead, 1);
    hub_wait_wake_own(&link->wait);
    hub_receiver_finish(link);
}

void hub_link_detached(struct hub_link *link)
{
    hub_publish(&link->detached, 1);
    hub_link_dead(link);
}

bool hub_link_naps(const struct hub_link *link)
{
    return link->wait.manner == HUB_WAIT_MANNER_SLEEP;
}

bool hub_link_receiving(const struct hub_link *link)
{
    return hub_link_state_receiving(link);
}

bool hub_link_quiet(struct hub_link *link)
{
    return hub_sender_quiet(link) && hub_receiver_quiet(link);
}

void hub_link_nudge(struct hub_link *link)
{
    hub_link_state_nudge(link);
}

void hub_link_tell(struct hub_link *link)
{
    hub_link_state_tell(link);
}

uint64_t hub_link_deaf_until(const struct hub_link *link)
{
    return hub_flood_until(&link->wait.flood);
}

bool hub_link_was_rung(const struct hub_link *link)
{
    return (hub_load_relaxed(link->wait.own) & HUB_WAIT_RX_BELL) == 0;
}

/* Work that other threads could not do without the token is done by the following turn. */
void hub_link_hush(struct hub_link *link)
{
    if (link->options.role != HUB_ROLE_HOST || !hub_claim(&link->token, 0, 1))
        return;
    hub_wait_disarm(&link->wait, HUB_WAIT_RX_BELL);
    hub_publish(&link->token, 0);
}

void hub_link_listen(struct hub_link *link)
{
    hub_receiver_finish(link);
}

void hub_link_rest(struct hub_link *link)
{
    if (hub_link_state_ours(link))
        hub_slots_rest(link->options.pool);
}

const struct hub_limits *hub_link_limits(const struct hub_link *link)
{
    return &link->limits;
}

uint32_t hub_link_phase(const struct hub_link *link, const struct hub_descriptor *descriptor)
{
    return hub_link_state_phase(link, descriptor);
}

size_t hub_link_piece(const struct hub_link *link)
{
    size_t piece = hub_slots_piece(link->options.pool);

    return piece < link->limits.payload_max ? piece : link->limits.payload_max;
}

const struct hub_link_counters *hub_link_counters(const struct hub_link *link)
{
    return &link->counters;
}

const struct hub_wait *hub_link_wakes(const struct hub_link *link)
{
    return &link->wait;
}

/* Uses only words of the segment, so that no lock and no token is needed. */
static uint32_t depth(const struct hub_link *link, const struct hub_a32 *head,
                      const struct hub_a32 *tail)
{
    return (hub_observe(head) - hub_observe(tail)) & (link->limits.ring_size - 1);
}

void hub_link_gauge(const struct hub_link *link, struct hub_link_gauges *out)
{
    const struct hub_peer_entry *entry = link->view.entry;
    uint32_t to_guest = depth(link, &entry->host_to_guest_head, &entry->host_to_guest_tail);
    uint32_t to_host = depth(link, &entry->guest_to_host_head, &entry->guest_to_host_tail);
    bool host = link->options.role == HUB_ROLE_HOST;

    *out = (struct hub_link_gauges){.ring_out = host ? to_guest : to_host,
                                    .ring_in = host ? to_host : to_guest};
    hub_slots_count(link->options.pool, &out->slots);
}
