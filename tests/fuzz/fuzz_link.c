/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that does anything with the memory it shares with us: it writes words of its entry, bits
 * of bitmaps, slots, channel entries, descriptors of any bytes, while our side calls, serves,
 * receives, reads and writes streams. Nothing but a violation may come of it, which names its rule,
 * and every call ends once.
 *
 * The first byte: bit 0 we are the guest, bit 1 the group is shared, bit 2 slots are of several
 * sizes. Then steps: a byte that says
 * which, and what that one takes of the input. */
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/call/call_ends.h"
#include "hub/call/response_queue.h"
#include "hub/channel/channel_state.h"
#include "hub/channel/channel_stream.h"
#include "hub/channel/channel_writer.h"
#include "hub/connection/connection.h"
#include "hub/link/link_state.h"
#include "hub/wire/postcard.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile_slots.h"

#define CALLS_MAX 32 /* begun in one input */
#define PEER      1
#define EPOCH     1

#define PAYLOAD_MAX 1000

static const struct hub_limits pools = {.payload_max = 252,
                                        .credit_size = 256,
                                        .guests_max = 1,
                                        .ring_size = 8,
                                        .slot_size = 256,
                                        .slot_count = 4,
                                        .channels_max = 4};
/* Slots of 64 and of 1,024 bytes, 8 each. */
static const struct hub_limits classes = {.payload_max = PAYLOAD_MAX,
                                          .credit_size = 256,
                                          .guests_max = 1,
                                          .ring_size = 8,
                                          .slot_size = 64,
                                          .slot_count = 4,
                                          .channels_max = 4};

struct stage {
    const struct hub_limits *limits;
    struct hostile_slots hostile; /* where `limits` are `classes` */
    struct hub_segment segment;
    struct hub_segment_view view;
    struct hub_slots pool;
    struct hub_connection connection;
    enum hub_role role;
    const uint8_t *at, *end; /* the rest of the input */
    struct hub_a32 *head;    /* the peer's */
    struct hub_ring_cell *cells;
    uint8_t *their_pool; /* the other side's slots */
    uint8_t *our_pool;
    uint32_t begun, ended, goodbyes, closes;
    struct hub_channel_list channels; /* channels of calls we made */
};

/* ---- the input ---- */

static void take(struct stage *stage, void *to, size_t size)
{
    size_t left = (size_t)(stage->end - stage->at), n = size < left ? size : left;

    memset(to, 0, size);
    memcpy(to, stage->at, n);
    stage->at += n;
}

static void take_for_slots(void *user, void *to, size_t size)
{
    take(user, to, size);
}

static uint8_t take_byte(struct stage *stage)
{
    uint8_t byte;

    take(stage, &byte, 1);
    return byte;
}

static uint32_t take_word(struct stage *stage)
{
    uint32_t word;

    take(stage, &word, sizeof(word));
    return word;
}

/* ---- callbacks of the connection ---- */

static void nothing(void *user)
{
    (void)user;
}

static void on_close(void *user)
{
    ((struct stage *)user)->closes++;
}

static void on_goodbye(void *user, const char *reason)
{
    FUZZ_HOLDS(strlen(reason) <= 1040);
    ((struct stage *)user)->goodbyes++;
}

static void on_done(void *user, int code, struct hub_answer *answer)
{
    struct stage *stage = user;

    FUZZ_HOLDS(code <= 0 && answer->size <= stage->limits->payload_max);
    stage->ended++;
}

/* Each request has two streams, whose ids are its first bytes. */
static int find_streams(void *user, struct hub_request *request,
                        struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    const uint8_t *bytes = request->arguments.data;

    (void)user;
    if (request->arguments.size < 2 || (bytes[0] & 0x80))
        return 0;
    names[0] = (struct hub_channel_name){bytes[0], false};
    names[1] = (struct hub_channel_name){bytes[1], true};
    return bytes[1] == 0 ? 1 : 2;
}

/* ---- steps of the peer ---- */

static void write_channel(struct stage *stage)
{
    uint8_t which = take_byte(stage);
    struct hub_channel_entry *entry = &stage->view.channels[which & 3];

    if (which & 4)
        hub_publish(&entry->state, which >> 3 & 3);
    else
        hub_publish(&entry->granted_total, take_word(stage));
}

static void write_entry(struct stage *stage)
{
    uint8_t which = take_byte(stage);
    struct hub_a32 *words = (struct hub_a32 *)(void *)stage->view.entry;

    hub_publish(&words[which % 16], take_word(stage));
}

static void write_goodbye(struct stage *stage)
{
    hub_publish(&stage->view.header->host_goodbye, take_byte(stage) & 1);
}

static void write_bitmap(struct stage *stage)
{
    uint8_t which = take_byte(stage);
    struct hub_a64 *bitmap =
        (struct hub_a64 *)(void *)(which & 1 ? stage->our_pool : stage->their_pool);

    hub_store_relaxed64(bitmap, which & 2 ? take_word(stage) : which >> 2);
}

static void write_bits(struct stage *stage)
{
    if (stage->limits == &classes)
        hostile_slots_write(&stage->hostile);
    else
        write_bitmap(stage);
}

static uint8_t *slot_of_pool(struct stage *stage, uint32_t slot)
{
    return stage->their_pool + 64 + (size_t)(slot % pools.slot_count) * pools.slot_size;
}

static void write_slot(struct stage *stage)
{
    uint8_t *at;

    if (stage->limits == &classes) {
        hostile_slots_write_slot(&stage->hostile);
        return;
    }
    at = slot_of_pool(stage, take_byte(stage));
    take(stage, at, take_byte(stage));
}

static void publish(struct stage *stage, const struct hub_descriptor *descriptor)
{
    uint32_t head = hub_load_relaxed(stage->head);

    memcpy(&stage->cells[head & (stage->limits->ring_size - 1)], descriptor, sizeof(*descriptor));
    hub_publish(stage->head, head + 1);
}

static void send_any(struct stage *stage)
{
    struct hub_descriptor descriptor;

    take(stage, &descriptor, sizeof(descriptor));
    publish(stage, &descriptor);
}

static void place_in_pool(struct stage *stage, uint32_t slot, struct hub_descriptor *descriptor)
{
    uint8_t *at = slot_of_pool(stage, slot);

    descriptor->payload_slot = slot;
    descriptor->payload_generation = take_byte(stage);
    memcpy(at, &descriptor->payload_generation, 4);
    take(stage, at + 4, descriptor->payload_len);
}

/* A message that is valid except where the input says otherwise, so that deeper places are
 * reached. */
static void send_likely(struct stage *stage)
{
    uint8_t type = take_byte(stage), size = take_byte(stage);
    struct hub_descriptor descriptor = {.msg_type = type & 7,
                                        .id = take_byte(stage),
                                        .payload_slot = HUB_INLINE,
                                        .payload_len = size % 253};

    if (stage->limits == &classes && descriptor.payload_len >= 128)
        descriptor.payload_len = descriptor.payload_len * 8 - 1016; /* 8 to 1,000 */
    if (descriptor.payload_len <= HUB_INLINE_SIZE)
        take(stage, descriptor.inline_payload, descriptor.payload_len);
    else if (stage->limits == &classes)
        take(stage, hostile_slots_send(&stage->hostile, descriptor.payload_len, &descriptor),
             descriptor.payload_len);
    else
        place_in_pool(stage, type >> 3 & 3, &descriptor);
    publish(stage, &descriptor);
}

/* ---- steps of ours ---- */

static void sweep(struct stage *stage)
{
    struct hub_link *link = stage->connection.link;
    int r = hub_link_sweep(link, 1 + take_byte(stage) % 16);

    FUZZ_HOLDS(r >= 0 || r == RAPAHUB_EPROTOCOL || r == -EBUSY);
    if (r != RAPAHUB_EPROTOCOL)
        return;
    FUZZ_HOLDS(hub_link_closed(link) && hub_link_cause(link) == RAPAHUB_EPROTOCOL);
    FUZZ_HOLDS(hub_link_rule(link)[0] != '\0');
}

static void call(struct stage *stage)
{
    static const uint8_t payload[PAYLOAD_MAX] = {0};
    uint32_t unit = stage->limits == &classes ? 4 : 1;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {payload, take_byte(stage) * unit}},
                                  .deadline_ns = HUB_NEVER,
                                  .done = on_done,
                                  .user = stage,
                                  .at_once = true};
    uint64_t number;

    if (stage->begun == CALLS_MAX || call.payload.head.size > stage->limits->payload_max)
        return;
    if (hub_calls_begin(stage->connection.calls, &call, &number) == 0)
        stage->begun++;
}

static bool has_room(const struct stage *stage)
{
    return hub_ring_room(&stage->connection.link->out) > 0;
}

/* Operations that never wait: reading available data, writing what credit and space allow,
 * ending. */
static void use_channel(struct stage *stage, struct hub_channel *channel)
{
    uint8_t how = take_byte(stage);
    char bytes[64] = "";

    FUZZ_HOLDS(hub_fifo_size(&channel->fifo) <= stage->limits->credit_size);
    if (!channel->sends && (how & 1) && hub_fifo_size(&channel->fifo) > 0)
        FUZZ_HOLDS(hub_channel_stream_read(channel, bytes, 1 + how % 64) != 0);
    else if (channel->sends && (how & 1) && has_room(stage) &&
             hub_channel_table_credit(hub_channel_table_granted(hub_channel_entry_of(channel)),
                                      channel->sent) > 40)
        (void)hub_channel_writer_write(channel, bytes, 1 + how % 16);
    else if (how & 2)
        hub_channel_reset(channel); /* a receiver's, too */
    else if (channel->sends && has_room(stage))
        (void)hub_channel_writer_end(channel);
}

static void use_channels(struct stage *stage)
{
    uint8_t which = take_byte(stage);
    struct hub_channel *channel =
        stage->connection.channels->open[which % stage->limits->channels_max];

    if (!channel)
        return;
    (void)hub_channel_hold(channel);
    use_channel(stage, channel);
    hub_channel_release(&channel);
}

static void open_channel(struct stage *stage)
{
    struct hub_channel_list *list = &stage->channels;
    bool sends = take_byte(stage) & 1;

    if (list->count == 2) {
        hub_channels_answered(list, sends);
        hub_channels_drop(list);
    } else if (hub_channels_open(stage->connection.channels, sends, 0, &list->list[list->count]) ==
               0) {
        list->count++;
    }
}

static void serve(struct stage *stage)
{
    struct hub_request *request = hub_inbound_calls_next(stage->connection.served, NULL, NULL);
    struct hub_response response = {.kind = HUB_RESPONSE_OK};

    if (!request)
        return;
    FUZZ_HOLDS(request->arguments.size <= stage->limits->payload_max);
    if (take_byte(stage) & 1)
        response.kind = HUB_RESPONSE_UNKNOWN_METHOD;
    (void)hub_inbound_calls_answer(
        stage->connection.served, request, &response,
        response.kind == HUB_RESPONSE_OK ? request->arguments : (struct rapahub_bytes){NULL, 0});
}

static void finish(struct stage *stage)
{
    (void)hub_call_ends_deliver(stage->connection.calls);
    hub_response_queue_settle(stage->connection.served);
}

static void rest(struct stage *stage)
{
    struct hub_slot_counts counts;

    hub_link_rest(stage->connection.link);
    if (stage->role == HUB_ROLE_HOST && (take_byte(stage) & PEER))
        hub_slots_take_back(&stage->pool, PEER);
    hub_slots_count(&stage->pool, &counts);
    FUZZ_HOLDS(counts.free + counts.granted <= counts.total);
}

/* ---- the whole ---- */

static void step(struct stage *stage)
{
    typedef void step_function(struct stage *);
    static step_function *const steps[] = {
        write_entry, write_goodbye, write_bits,   write_slot,   send_any,     send_likely, sweep,
        call,        serve,         finish,       rest,         send_likely,  sweep,       call,
        serve,       send_likely,   open_channel, use_channels, write_channel};

    steps[take_byte(stage) % (sizeof(steps) / sizeof(steps[0]))](stage);
}

static bool make_segment(struct stage *stage, bool shared)
{
    struct hub_segment *segment = &stage->segment;

    if (hub_geometry_compute(stage->limits, &segment->geometry) < 0)
        return false;
    segment->shared = shared;
    segment->mapping.fd = -1;
    segment->mapping.size = segment->geometry.total_size;
    segment->mapping.data = aligned_alloc(64, (segment->mapping.size + 63) & ~(size_t)63);
    if (!segment->mapping.data)
        return false;
    memset(segment->mapping.data, 0, segment->mapping.size);
    hub_segment_view(segment, PEER, &stage->view);
    hub_store_relaxed(&stage->view.entry->state, HUB_PEER_ATTACHED);
    hub_store_relaxed(&stage->view.entry->epoch, EPOCH);
    if (stage->limits == &classes) {
        hub_size_classes_format(&segment->geometry.classes, 1, segment->mapping.data);
        return stage->role == HUB_ROLE_HOST || hostile_slots_endow(segment) == 0;
    }
    hub_slot_pool_format(&segment->geometry, stage->view.host_pool);
    hub_slot_pool_format(&segment->geometry, stage->view.guest_pool);
    return true;
}

/* A guest serves by waiting; here it keeps what finds no space, as a host does. */
static bool open_stage(struct stage *stage, uint8_t kind)
{
    bool guest = kind & 1;
    const struct hub_connection_events events = {nothing, nothing,    nothing, on_close,
                                                 nothing, on_goodbye, stage,   find_streams};
    struct hub_link_options options = {.role = guest ? HUB_ROLE_GUEST : HUB_ROLE_HOST,
                                       .segment = &stage->segment,
                                       .view = &stage->view,
                                       .pool = &stage->pool,
                                       .peer = PEER,
                                       .epoch = EPOCH,
                                       .doorbell = -1,
                                       .pidfd = -1};

    stage->limits = kind & 4 ? &classes : &pools;
    stage->hostile = (struct hostile_slots){&stage->segment, PEER, take_for_slots, stage};
    stage->role = options.role;
    if (!make_segment(stage, kind & 2))
        return false;
    stage->our_pool = guest ? stage->view.guest_pool : stage->view.host_pool;
    stage->their_pool = guest ? stage->view.host_pool : stage->view.guest_pool;
    stage->cells = guest ? stage->view.host_to_guest : stage->view.guest_to_host;
    stage->head =
        guest ? &stage->view.entry->host_to_guest_head : &stage->view.entry->guest_to_host_head;
    if ((guest ? hub_slots_init_guest(&stage->pool, &stage->segment, &stage->view, PEER)
               : hub_slots_init_host(&stage->pool, &stage->segment)) < 0 ||
        hub_connection_open(&stage->connection, &options, &events) < 0)
        return false;
    if (!guest)
        hub_slots_endow(&stage->pool, PEER);
    hub_store_relaxed(guest ? &stage->view.entry->host_wait : &stage->view.entry->guest_wait,
                      HUB_WAIT_PART);
    hub_inbound_calls_keep_answers(stage->connection.served);
    return true;
}

/* Whatever the guest wrote: all slots are the host's again. */
static void check_slots(struct stage *stage)
{
    struct hub_slot_counts counts;

    hub_slots_take_back(&stage->pool, PEER);
    hub_slots_count(&stage->pool, &counts);
    FUZZ_HOLDS(counts.free == counts.total && counts.granted == 0);
}

/* The peer is dead: all ends, once. */
static void end_all(struct stage *stage)
{
    hub_link_dead(stage->connection.link);
    FUZZ_HOLDS(hub_link_closed(stage->connection.link) && stage->closes == 1);
    while (hub_call_ends_deliver(stage->connection.calls) > 0)
        ;
    FUZZ_HOLDS(stage->ended == stage->begun);
    if (stage->limits == &classes && stage->role == HUB_ROLE_HOST)
        check_slots(stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stage stage = {.at = data + 1, .end = data + size};

    if (size == 0 || size > 4096)
        return 0;
    if (open_stage(&stage, data[0])) {
        while (stage.at < stage.end)
            step(&stage);
        end_all(&stage);
    }
    hub_channels_drop(&stage.channels);
    if (stage.connection.link)
        hub_connection_close(&stage.connection);
    hub_slots_fini(&stage.pool);
    free(stage.segment.mapping.data);
    return 0;
}
