/* SPDX-License-Identifier: Apache-2.0 */
/* A guest's operations on a channel. The host is the other end: whatever the guest was doing when
 * it died, the host finds whole elements or none, its own end reports the death, and the table is
 * free. */
#include <string.h>

#include <rapahub/error.h>

#include "hub/channel/channel_state.h"
#include "hub/channel/channel_stream.h"
#include "hub/channel/channel_writer.h"
#include "tests/fault/operations.h"

#define ELEMENT (STAGE_PAYLOAD + 2) /* bytes on the wire, with their length */

/* A channel that the host (id 2) or the guest (id 1) has opened; `guest_sends` tells who writes. */
static int open_channel(struct stage *stage, bool of_guest, bool guest_sends)
{
    struct hub_connection *caller = of_guest ? &stage->guest.connection : &stage->host.connection;
    struct hub_connection *callee = of_guest ? &stage->host.connection : &stage->guest.connection;
    struct hub_channel_list *ours = of_guest ? &stage->of_guest : &stage->of_host;
    struct hub_channel_list *theirs = of_guest ? &stage->of_host : &stage->of_guest;
    struct hub_channel_name name = {.sends = guest_sends == !of_guest};
    int r = stage_setup_pair(stage);

    if (r == 0)
        r = hub_channels_open(caller->channels, !name.sends, 0, &ours->list[0]);
    if (r < 0)
        return r;
    ours->count = 1;
    name.id = hub_channel_id(ours->list[0]);
    return hub_channels_register(callee->channels, &name, 1, theirs);
}

static int setup_of_host(struct stage *stage)
{
    return open_channel(stage, false, true);
}

static int setup_of_guest(struct stage *stage)
{
    return open_channel(stage, true, true);
}

/* The guest has received an element that was not read. */
static int setup_received(struct stage *stage)
{
    int r = open_channel(stage, false, false);

    if (r == 0)
        r = hub_channel_writer_write(stage->of_host.list[0], stage->payload, STAGE_PAYLOAD);
    return r == 0 && hub_link_sweep(stage->guest.connection.link, 8) == 1 ? 0 : -1;
}

static void open_a_channel(struct stage *stage)
{
    struct hub_channel *channel;

    (void)hub_channels_open(stage->guest.connection.channels, true, 0, &channel);
}

static void write_an_element(struct stage *stage)
{
    (void)hub_channel_writer_write(stage->of_guest.list[0], stage->payload, STAGE_PAYLOAD);
}

static void read_and_grant(struct stage *stage)
{
    uint8_t bytes[STAGE_PAYLOAD];

    (void)hub_channel_stream_read(stage->of_guest.list[0], bytes, sizeof bytes);
}

static void close_a_channel(struct stage *stage)
{
    (void)hub_channel_writer_end(stage->of_guest.list[0]);
}

static void reset_a_channel(struct stage *stage)
{
    hub_channel_reset(stage->of_guest.list[0]);
}

static int check_end(struct stage *stage, struct sweep_point *point)
{
    stage_drop_channels(stage);
    return stage_check_recovered(stage, point);
}

/* An entry that is not Free is Active, and has its credit. */
static int check_opened(struct stage *stage, struct sweep_point *point)
{
    const struct hub_channel_entry *entry = &stage->host.view.channels[1];
    uint32_t state = hub_load_relaxed(&entry->state);

    if (state != HUB_CHANNEL_FREE &&
        (state != HUB_CHANNEL_ACTIVE || hub_load_relaxed(&entry->granted_total) == 0))
        return sweep_fail(point, "the entry is in state %u", state);
    if (point->finished && state != HUB_CHANNEL_ACTIVE)
        return sweep_fail(point, "open finished in state %u", state);
    return check_end(stage, point);
}

static int look_at_bytes(struct stage *stage, struct sweep_point *point)
{
    uint32_t size;

    if (stage_look_at_host(stage, point) < 0)
        return -1;
    size = hub_fifo_size(&stage->of_host.list[0]->fifo);
    return size == 0 || size == STAGE_PAYLOAD ? 0 : sweep_fail(point, "%u bytes arrived", size);
}

static int check_bytes(struct stage *stage, struct sweep_point *point)
{
    struct hub_channel *channel = stage->of_host.list[0];
    uint8_t bytes[STAGE_PAYLOAD];
    uint32_t size;

    if (hub_link_sweep(stage->host.connection.link, 8) < 0)
        return sweep_fail(point, "the host received what it refuses");
    size = hub_fifo_size(&channel->fifo);
    if (size != STAGE_PAYLOAD && (size != 0 || point->finished))
        return sweep_fail(point, "%u bytes arrived", size);
    hub_link_dead(stage->host.connection.link);
    if (size > 0 && (hub_channel_stream_read(channel, bytes, sizeof bytes) != STAGE_PAYLOAD ||
                     memcmp(bytes, stage->payload, STAGE_PAYLOAD) != 0))
        return sweep_fail(point, "the element is torn");
    if (hub_channel_stream_read(channel, bytes, 1) != RAPAHUB_EDIED)
        return sweep_fail(point, "the stream does not tell of the death");
    return check_end(stage, point);
}

/* The grant is either none, or covers everything that was read. */
static int check_granted(struct stage *stage, struct sweep_point *point)
{
    const struct hub_channel *channel = stage->of_host.list[0];
    uint32_t more = hub_channel_table_granted(hub_channel_entry_of(channel)) - channel->set->credit;

    if (more != ELEMENT && (more != 0 || point->finished))
        return sweep_fail(point, "%u bytes were granted", more);
    return check_end(stage, point);
}

/* The host's end is as it was, or has ended in the one way that is meant. */
static int check_stage(struct stage *stage, struct sweep_point *point,
                       enum hub_channel_stage wanted)
{
    const struct hub_channel *channel = stage->of_host.list[0];

    if (hub_link_sweep(stage->host.connection.link, 8) < 0)
        return sweep_fail(point, "the host received what it refuses");
    if (channel->stage != wanted && (channel->stage != HUB_CHANNEL_OPEN || point->finished))
        return sweep_fail(point, "the host's end is in stage %u", (unsigned)channel->stage);
    return check_end(stage, point);
}

static int check_closed(struct stage *stage, struct sweep_point *point)
{
    return check_stage(stage, point, HUB_CHANNEL_ENDED);
}

static int check_reset(struct stage *stage, struct sweep_point *point)
{
    return check_stage(stage, point, HUB_CHANNEL_RESET);
}

const struct stage_operation operations_on_channels[] = {
    {"open a channel", stage_setup_pair, open_a_channel, stage_look_at_host, check_opened,
     STAGE_POOLS},
    {"write an element", setup_of_host, write_an_element, look_at_bytes, check_bytes, STAGE_POOLS},
    {"read and grant", setup_received, read_and_grant, stage_look_at_host, check_granted,
     STAGE_POOLS},
    {"close a channel", setup_of_guest, close_a_channel, stage_look_at_host, check_closed,
     STAGE_POOLS},
    {"reset a channel", setup_of_guest, reset_a_channel, stage_look_at_host, check_reset,
     STAGE_POOLS},
};
