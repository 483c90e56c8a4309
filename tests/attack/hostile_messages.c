/* SPDX-License-Identifier: Apache-2.0 */
/* hostile messages: impossible descriptors, slots that the guest may not use, unreadable payloads,
 * and more messages than were requested. */
#include <string.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define CALL_MS 10000
#define FLOOD   20000
#define ID      1000 /* id of requests */

static const uint8_t no_metadata[2048]; /* and arguments of zeros */

static void send_raw(struct raw_link *link, const struct raw_message *message)
{
    uint8_t descriptor[64];

    raw_link_pack(message, descriptor);
    raw_link_send_descriptor(link, descriptor, CALL_MS);
}

static struct raw_message inline_request(uint32_t length)
{
    return (struct raw_message){.type = RAW_REQUEST,
                                .id = ID,
                                .slot = RAW_INLINE,
                                .payload = no_metadata,
                                .length = length};
}

/* With a slot of our own, in order. */
static struct raw_message slot_request(struct raw_link *link, uint32_t length)
{
    struct raw_message message = {.type = RAW_REQUEST, .id = ID, .length = length};

    raw_slot_take(link, &message.slot, &message.generation);
    memset(raw_slot_bytes(link, message.slot), 0, length < 100 ? 100 : 200);
    return message;
}

#define USED (void)request

/* ---- each row of the check on receipt ---- */

static void type_zero(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.type = 0;
    send_raw(link, &message);
}

static void type_eight(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.type = 8;
    send_raw(link, &message);
}

static void inline_generation(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.generation = 1;
    send_raw(link, &message);
}

static void inline_offset(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.offset = 1;
    send_raw(link, &message);
}

static void inline_long(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(33);

    USED;
    send_raw(link, &message);
}

static void slot_short(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 32);

    USED;
    send_raw(link, &message);
}

static void too_large(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 1001);

    USED;
    send_raw(link, &message);
}

static void data_too_large(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 1001);

    USED;
    message.type = RAW_DATA;
    send_raw(link, &message);
}

static void slot_beyond(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);

    USED;
    message.slot = link->slot_count;
    send_raw(link, &message);
}

static void offset_beyond(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);

    USED;
    message.offset = link->slot_size - 4 - 99;
    send_raw(link, &message);
}

static void offset_wraps(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);

    USED;
    message.offset = 0xffffffff - 50;
    send_raw(link, &message);
}

static void slot_twice(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);
    uint8_t descriptor[64];

    USED;
    raw_link_pack(&message, descriptor);
    raw_link_put(link, descriptor);
    message.id++;
    raw_link_pack(&message, descriptor);
    raw_link_put(link, descriptor);
    raw_link_publish(link);
}

static void generation_other(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);

    USED;
    message.generation += 7;
    send_raw(link, &message);
}

static void cancel_with_payload(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.type = RAW_CANCEL;
    send_raw(link, &message);
}

static void channel_zero(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);

    USED;
    message.type = RAW_DATA;
    message.id = 0;
    send_raw(link, &message);
}

static void channel_beyond(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(0);

    USED;
    message.type = RAW_CLOSE;
    message.id = 64;
    send_raw(link, &message);
}

static void channel_unknown(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(0);

    USED;
    message.type = RAW_RESET;
    message.id = 3;
    send_raw(link, &message);
}

/* ---- slots ---- */

/* The host gives it back, and finds that it was never away. */
static void slot_set_free(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = slot_request(link, 100);

    USED;
    raw_set64(link->base, link->out_pool + message.slot / 64 * 8, UINT64_C(1) << message.slot % 64);
    send_raw(link, &message);
}

/* Bits of slots that do not exist, seen when the host needs one. */
static void bits_beyond(struct raw_link *link, const struct raw_message *request)
{
    USED;
    raw_set64(link->base, link->in_pool, UINT64_MAX << link->slot_count);
}

/* Slots of the host, its own among them, again and again. */
static void free_all(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (int i = 0; i < FLOOD; i++)
        raw_set64(link->base, link->in_pool, (UINT64_C(1) << link->slot_count) - 1);
}

static void clear_all(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (int i = 0; i < FLOOD; i++)
        raw_store64(link->base, link->in_pool, 0);
}

/* ---- requests and responses ---- */

static void id_twice(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = inline_request(4);
    uint8_t descriptor[64];

    USED;
    raw_link_pack(&message, descriptor);
    raw_link_put(link, descriptor);
    raw_link_put(link, descriptor);
    raw_link_publish(link);
}

static void metadata_garbage(struct raw_link *link, const struct raw_message *request)
{
    static const uint8_t garbage[16] = {5,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct raw_message message = inline_request(16);

    USED;
    message.payload = garbage;
    send_raw(link, &message);
}

static void metadata_many(struct raw_link *link, const struct raw_message *request)
{
    struct raw_message message = {.type = RAW_REQUEST, .id = ID};
    struct raw_postcard payload = {.size = 0};

    USED;
    raw_postcard_u64(&payload, 129);
    for (int i = 0; i < 129; i++) {
        raw_postcard_string(&payload, "");
        raw_postcard_u64(&payload, 2);
        raw_postcard_u64(&payload, 0);
    }
    message.payload = payload.bytes;
    message.length = (uint32_t)payload.size;
    raw_link_send(link, &message, CALL_MS);
}

static void response_garbage(struct raw_link *link, const struct raw_message *request)
{
    static const uint8_t garbage[4] = {0, 7, 7, 7};
    struct raw_message message = {.type = RAW_RESPONSE,
                                  .id = request->id,
                                  .slot = RAW_INLINE,
                                  .payload = garbage,
                                  .length = 4};

    send_raw(link, &message);
}

static void response_too_long(struct raw_link *link, const struct raw_message *request)
{
    static const uint8_t more[4] = {0, 0, 0, 0}; /* void has no bytes */
    struct raw_message message = {
        .type = RAW_RESPONSE, .id = request->id, .slot = RAW_INLINE, .payload = more, .length = 4};

    send_raw(link, &message);
}

static void responses_nobody_asked_for(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t i = 0; i < FLOOD; i++)
        raw_call_answer_i64(link, 0x10000000 + i, i, CALL_MS);
}

static void response_again(struct raw_link *link, const struct raw_message *request)
{
    raw_call_answer(link, request->id, NULL, CALL_MS);
}

static void cancel_storm(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t i = 0; i < FLOOD; i++)
        raw_call_cancel(link, i, CALL_MS);
}

/* Requests are answered, but the answers are never read. */
static void request_flood(struct raw_link *link, const struct raw_message *request)
{
    USED;
    for (uint32_t i = 0; i < FLOOD; i++)
        if (raw_call_request(link, ID + i, 4711, NULL, 2000) < 0)
            break;
    for (;;)
        pause_ms(1000);
}

static void never_reads(struct raw_link *link, const struct raw_message *request)
{
    USED;
    (void)link;
    for (;;)
        pause_ms(1000);
}

static void goodbye_garbage(struct raw_link *link, const struct raw_message *request)
{
    static const uint8_t garbage[5] = {0xc3, 0x28, 0x1b, 0xff, 0xfe};
    const struct raw_message message = {
        .type = RAW_GOODBYE, .slot = RAW_INLINE, .payload = garbage, .length = 5};

    USED;
    send_raw(link, &message);
    raw_guest_goodbye(link);
    for (;;)
        pause_ms(1000);
}

const struct hostile hostile_messages[] = {
    {"type_zero", type_zero},
    {"type_eight", type_eight},
    {"inline_generation", inline_generation},
    {"inline_offset", inline_offset},
    {"inline_long", inline_long},
    {"slot_short", slot_short},
    {"too_large", too_large},
    {"data_too_large", data_too_large},
    {"slot_beyond", slot_beyond},
    {"offset_beyond", offset_beyond},
    {"offset_wraps", offset_wraps},
    {"slot_twice", slot_twice},
    {"generation_other", generation_other},
    {"cancel_with_payload", cancel_with_payload},
    {"channel_zero", channel_zero},
    {"channel_beyond", channel_beyond},
    {"channel_unknown", channel_unknown},
    {"slot_set_free", slot_set_free},
    {"bits_beyond", bits_beyond},
    {"free_all", free_all},
    {"clear_all", clear_all},
    {"id_twice", id_twice},
    {"metadata_garbage", metadata_garbage},
    {"metadata_many", metadata_many},
    {"response_garbage", response_garbage},
    {"response_too_long", response_too_long},
    {"responses_nobody_asked_for", responses_nobody_asked_for},
    {"response_again", response_again},
    {"cancel_storm", cancel_storm},
    {"request_flood", request_flood},
    {"never_reads", never_reads},
    {"goodbye_garbage", goodbye_garbage},
    {NULL, NULL},
};
