/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/channels.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/channel/channel_state.h"
#include "hub/channel/channel_stream.h"
#include "hub/channel/channel_writer.h"
#include "hub/channel/window.h"

/* The host's ids are even, from 2 on; the guest's are odd, from 1 on. */
static uint32_t first_id(enum hub_role role)
{
    return role == HUB_ROLE_HOST ? 2 : 1;
}

/* r[impl shm.id.channel-scope] */
int hub_channels_create(const struct hub_limits *limits, enum hub_role role,
                        struct hub_channels **out)
{
    OWN(hub_channels) struct hub_channels *set = calloc(1, sizeof *set);

    if (!set)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for channels");
    hub_mutex_init(&set->lock, HUB_MUTEX_CHANNELS);
    hub_list_init(&set->owing);
    hub_list_init(&set->waiting);
    hub_list_init(&set->joining);
    set->role = role;
    set->limit = limits->channels_max;
    set->credit = limits->credit_size;
    set->open = calloc(set->limit, sizeof(struct hub_channel *));
    set->past = calloc(set->limit, sizeof *set->past);
    set->free = calloc(set->limit, sizeof *set->free);
    set->turns = calloc(set->limit, sizeof *set->turns);
    if (!set->open || !set->past || !set->free || !set->turns)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u channels", set->limit);
    for (uint32_t id = first_id(role); id < set->limit; id += 2)
        set->free[set->free_count++] = id;
    set->own = set->free_count;
    *out = TAKE(set);
    return 0;
}

void hub_channels_bind(struct hub_channels *set, struct hub_link *link,
                       struct hub_channel_entry *entries)
{
    set->link = link;
    set->longest = hub_channel_writer_longest(set->credit, hub_link_piece(link));
    set->entries = entries;
}

void hub_channels_set_manner(struct hub_channels *set, const struct hub_channels_manner *manner)
{
    set->manner = *manner;
}

static void release_all(struct hub_channels *set)
{
    HUB_LIST_EACH (&set->owing, link) {
        struct hub_channel *channel = HUB_LIST_ITEM(link, struct hub_channel, owing);

        hub_list_remove(&channel->owing);
        hub_channel_release(&channel);
    }
    for (uint32_t id = 0; set->open && id < set->limit; id++)
        hub_channel_release(&set->open[id]);
}

void hub_channels_release(struct hub_channels **set)
{
    if (!*set)
        return;
    release_all(*set);
    hub_fifo_fini(&(*set)->spare);
    free((*set)->open);
    free((*set)->past);
    free((*set)->free);
    free((*set)->turns);
    hub_mutex_fini(&(*set)->lock);
    free(*set);
    *set = NULL;
}

/* ---- ids ---- */

/* Returns the place in the ring of our oldest id that the other side is done with, or -1. */
static int find_free(const struct hub_channels *set) REQUIRES(set->lock)
{
    for (uint32_t i = 0; i < set->free_count; i++)
        if (hub_channel_table_is_free(&set->entries[set->free[(set->free_at + i) % set->own]]))
            return (int)i;
    return -1;
}

/* r[impl shm.flow.channel-id-reuse] r[impl channeling.id.uniqueness] */
static uint32_t take_free(struct hub_channels *set) REQUIRES(set->lock)
{
    int place = find_free(set);
    uint32_t id = 0;

    if (place < 0)
        return id;
    id = set->free[(set->free_at + (uint32_t)place) % set->own];
    for (uint32_t i = (uint32_t)place; i > 0; i--)
        set->free[(set->free_at + i) % set->own] = set->free[(set->free_at + i - 1) % set->own];
    set->free_at = (set->free_at + 1) % set->own;
    set->free_count--;
    return id;
}

UNCHECKED static void enter(struct hub_channels *set, struct hub_channel *channel)
    REQUIRES(set->lock)
{
    set->open[channel->id] = hub_channel_hold(channel);
    set->count++;
    if (!channel->sends)
        hub_window_settle(channel);
}

/* ---- calls that this side makes ---- */

/* 0 if it is open now; -EAGAIN; RAPAHUB_ESTALE. */
static int try_open(struct hub_channels *set, struct hub_channel *channel)
{
    int r;

    hub_mutex_lock(&set->lock);
    r = set->code == 0 ? -EAGAIN : RAPAHUB_ESTALE;
    channel->id = set->code == 0 ? take_free(set) : 0;
    if (channel->id != 0) {
        channel->turn = ++set->turns[channel->id];
        hub_channel_table_open(hub_channel_entry_to_write(channel), set->credit);
        enter(set, channel);
        r = 0;
    }
    hub_mutex_unlock(&set->lock);
    return r;
}

static bool has_id(void *user)
{
    struct hub_channels *set = user;
    bool any;

    hub_mutex_lock(&set->lock);
    any = set->code != 0 || find_free(set) >= 0;
    hub_mutex_unlock(&set->lock);
    return any;
}

static void wait_for_id(struct hub_channels *set, uint64_t deadline)
{
    const struct hub_link_until until = {.done = has_id,
                                         .user = set,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = deadline,
                                         .space = true};

    hub_mutex_lock(&set->lock);
    set->seekers++;
    hub_mutex_unlock(&set->lock);
    if (hub_channels_is_busy(set))
        (void)set->manner.wait(set->manner.user, set->link, &until);
    else
        (void)hub_link_wait(set->link, &until);
    hub_mutex_lock(&set->lock);
    set->seekers--;
    hub_mutex_unlock(&set->lock);
}

int hub_channels_open(struct hub_channels *set, bool sends, uint64_t deadline_ns,
                      struct hub_channel **out)
{
    OWN(hub_channel) struct hub_channel *channel = hub_channel_stream_create(set, sends, true);

    int r;

    if (!channel)
        return RAPAHUB_ENOMEM;
    while ((r = try_open(set, channel)) < 0) {
        if (r != -EAGAIN)
            return r;
        if (hub_clock_left(deadline_ns) == 0)
            return rapahub_fail(RAPAHUB_EBUSY, "", "all %u channels of this side are in use",
                                set->own);
        wait_for_id(set, deadline_ns);
    }
    *out = TAKE(channel);
    return 0;
}

void hub_channels_discard(struct hub_channel_list *list)
{
    hub_channels_answered(list, true);
    hub_channels_drop(list);
}

/* A sent Close returned the id, for its receiver to free. A receiver that refused the call does not
 * know the id; a receiver that knew it has freed it already, and then it may belong to another
 * channel by now. */
static void free_given_back(struct hub_channel *channel) REQUIRES(channel->set->lock)
{
    struct hub_channels *set = channel->set;

    if (!channel->given_back || set->turns[channel->id] != channel->turn)
        return;
    hub_channel_table_free(hub_channel_entry_to_write(channel));
    if (set->seekers > 0)
        hub_link_tell(set->link);
}

/* r[impl channeling.lifecycle.response-closes-pulls] r[impl channeling.call-complete]
 * r[impl channeling.channels-outlive-response] r[impl channeling.lifecycle.speculative] */
static void end_of_call(struct hub_channel *channel, bool refused) REQUIRES(channel->set->lock)
{
    channel->answered = true;
    if (channel->sends && !refused)
        return;
    channel->frees = true;
    free_given_back(channel);
    if (channel->sends && channel->on_stop && channel->stage == HUB_CHANNEL_OPEN)
        channel->on_stop(channel->user);
    if (channel->stage == HUB_CHANNEL_OPEN)
        hub_channel_close(channel, refused ? HUB_CHANNEL_RESET : HUB_CHANNEL_ENDED);
    else if (channel->stage == HUB_CHANNEL_DRAINS)
        hub_channel_close(channel, HUB_CHANNEL_RESET);
    hub_channel_give_back(channel);
}

void hub_channels_answered(struct hub_channel_list *list, bool refused)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct hub_channel *channel = list->list[i], *of_list;

        hub_mutex_lock(&channel->set->lock);
        of_list = refused || !channel->sends ? hub_channel_forgive(channel) : NULL;
        end_of_call(channel, refused);
        hub_mutex_unlock(&channel->set->lock);
        hub_channel_release(&of_list);
        hub_link_tell(channel->set->link);
    }
}

void hub_channels_drop(struct hub_channel_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        hub_channel_reset(list->list[i]);
        hub_channel_release(&list->list[i]);
    }
    list->count = 0;
}

/* ---- calls that this side serves ---- */

static int check_name(const struct hub_channels *set, uint64_t id) REQUIRES(set->lock)
{
    const char *rule;

    if (id == 0)
        rule = "channeling.id.zero-reserved";
    else if (id >= set->limit)
        rule = "shm.flow.channel-table-indexing";
    else if (id % 2 == first_id(set->role) % 2)
        rule = "shm.id.channel-parity";
    else if (set->open[id])
        rule = "channeling.id.uniqueness";
    else
        return 0;
    return rapahub_fail(RAPAHUB_EPROTOCOL, rule, "a request names channel %llu",
                        (unsigned long long)id);
}

static int register_one(struct hub_channels *set, const struct hub_channel_name *name,
                        struct hub_channel **out)
{
    OWN(hub_channel)
    struct hub_channel *channel = hub_channel_stream_create(set, name->sends, false);
    int r;

    if (!channel)
        return RAPAHUB_ENOMEM;
    hub_mutex_lock(&set->lock);
    r = check_name(set, name->id);
    if (r == 0) {
        channel->id = (uint32_t)name->id;
        enter(set, channel);
    }
    hub_mutex_unlock(&set->lock);
    if (r == 0)
        *out = TAKE(channel);
    return r;
}

/* r[impl shm.id.channel-parity] r[impl channeling.id.parity] r[impl channeling.id.zero-reserved] */
int hub_channels_register(struct hub_channels *set, const struct hub_channel_name *names,
                          uint32_t count, struct hub_channel_list *out)
{
    int r = 0;

    for (out->count = 0; r == 0 && out->count < count; out->count += r == 0)
        r = register_one(set, &names[out->count], &out->list[out->count]);
    return r;
}

void hub_channels_answer(struct hub_channel_list *list, bool refused)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct hub_channel *channel = list->list[i];

        hub_channel_writer_flush(channel);
        hub_mutex_lock(&channel->set->lock);
        if (channel->sends && channel->stage == HUB_CHANNEL_OPEN && !refused)
            hub_channel_table_close(hub_channel_entry_to_write(channel));
        if (refused)
            hub_channel_close(channel, HUB_CHANNEL_RESET);
        else if (channel->sends && channel->stage == HUB_CHANNEL_OPEN)
            hub_channel_close(channel, HUB_CHANNEL_ENDED);
        hub_mutex_unlock(&channel->set->lock);
    }
}

void *hub_channels_find(const struct hub_channel_list *list, bool sink, uint64_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct hub_channel *channel = list->list[i];

        if (channel->id != id || channel->sends != sink)
            continue;
        return sink ? (void *)&channel->sink : (void *)&channel->source;
    }
    return NULL;
}

void hub_channels_refused(struct hub_channels *set)
{
    hub_mutex_lock(&set->lock);
    set->refused = true;
    hub_mutex_unlock(&set->lock);
}

/* ---- the whole set ---- */

bool hub_channels_granted(struct hub_channels *set)
{
    bool any;

    hub_mutex_lock(&set->lock);
    any = set->seekers > 0 && find_free(set) >= 0;
    HUB_LIST_EACH (&set->waiting, link) {
        struct hub_channel *channel = HUB_LIST_ITEM(link, struct hub_channel, waiting);
        uint32_t granted = hub_channel_table_granted(hub_channel_entry_of(channel));

        any = any || granted != channel->told;
        channel->told = granted;
    }
    hub_mutex_unlock(&set->lock);
    return any;
}

uint32_t hub_channels_count(struct hub_channels *set)
{
    uint32_t count;

    hub_mutex_lock(&set->lock);
    count = set->count;
    hub_mutex_unlock(&set->lock);
    return count;
}

uint64_t hub_channels_orphans(struct hub_channels *set)
{
    return hub_load_relaxed64(&set->orphans);
}

uint64_t hub_channels_waits(struct hub_channels *set)
{
    return hub_load_relaxed64(&set->waits);
}
