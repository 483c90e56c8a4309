/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that has nothing of ours in it. The host starts it as it starts rapahub-guest; what kind
 * of peer it is stands in the arguments --plain=WORD, which a host hands on. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/raw_guest_slots.h"
#include "tests/conformance/raw_guest_streams.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_module.h"
#include "tests/raw/raw_slot.h"
#include "tests/support/pause.h"

#define CALL_MS 10000

#define ADD  "add(i64, i64) -> i64"
#define ECHO "echo(bytes) -> bytes"
#define MAKE "make(u64) -> bytes"

/* The kind of guest; handlers receive it. */
struct peer {
    struct raw_behaviour behaviour;
    bool slow;        /* takes its time */
    bool dirty;       /* fills everything that is ignored on receipt with ff */
    uint32_t next_id; /* id of the next request to the host */
};

/* ---- answers ---- */

/* Fills in all bytes that the other side must ignore: flags, reserved bytes, the method id unless
 * it is a Request, the inline bytes after a payload. */
static void soil(uint8_t descriptor[64], uint32_t length, bool in_slot)
{
    uint32_t used = in_slot ? 0 : length;

    memset(descriptor + 1, 0xff, 3);
    memset(descriptor + 8, 0xff, 8);
    memset(descriptor + 32 + used, 0xff, 32 - used);
}

static int send_dirty(struct raw_link *link, struct raw_message *message)
{
    uint8_t descriptor[64];
    int r = 0;

    message->slot = RAW_INLINE;
    if (message->length > 32)
        r = raw_slot_take(link, &message->slot, &message->generation);
    if (r < 0)
        return r;
    if (message->slot != RAW_INLINE)
        memcpy(raw_slot_bytes(link, message->slot), message->payload, message->length);
    raw_link_pack(message, descriptor);
    soil(descriptor, message->length, message->slot != RAW_INLINE);
    return raw_link_send_descriptor(link, descriptor, CALL_MS);
}

static int answer(struct raw_link *link, const struct peer *peer, uint32_t id,
                  const struct raw_postcard *result)
{
    struct raw_postcard whole = {.bytes = {0, 0}, .size = 2};
    struct raw_message response = {.type = RAW_RESPONSE, .id = id};

    if (!peer->dirty)
        return raw_call_answer(link, id, result, CALL_MS);
    raw_postcard_raw(&whole, result->bytes, result->size);
    response.payload = whole.bytes;
    response.length = (uint32_t)whole.size;
    return send_dirty(link, &response);
}

static int add(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    int64_t a = raw_postcard_take_i64(&arguments), b = raw_postcard_take_i64(&arguments);
    struct raw_postcard sum = {.size = 0};

    if (arguments.wrong)
        return raw_call_fail(link, request->id, RAW_INVALID_PAYLOAD, CALL_MS);
    if (((const struct peer *)user)->slow)
        pause_ms(1);
    raw_postcard_i64(&sum, a + b);
    return answer(link, user, request->id, &sum);
}

static int echo(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    struct raw_postcard same = {.size = 0};
    const uint8_t *bytes;
    size_t size;

    bytes = raw_postcard_take_bytes(&arguments, &size);
    if (arguments.wrong)
        return raw_call_fail(link, request->id, RAW_INVALID_PAYLOAD, CALL_MS);
    raw_postcard_bytes(&same, bytes, size);
    return answer(link, user, request->id, &same);
}

/* ---- calls to the host ---- */

/* Metadata with one entry: no chain, and the container that is called, 2.0[0]. */
static void begin_request(struct raw_postcard *to)
{
    static const uint8_t target[4] = {0, 2, 0, 0};

    to->size = 0;
    raw_postcard_u64(to, 1);
    raw_postcard_string(to, "rapahub-to");
    raw_postcard_u64(to, 1); /* kind: bytes */
    raw_postcard_bytes(to, target, sizeof(target));
}

static int call_host(struct raw_link *link, struct peer *peer, const char *signature,
                     const struct raw_postcard *payload, struct raw_postcard_rest *result)
{
    struct raw_message request = {.type = RAW_REQUEST,
                                  .id = ++peer->next_id,
                                  .method = raw_call_method(signature),
                                  .payload = payload->bytes,
                                  .length = (uint32_t)payload->size};
    int r = raw_link_send(link, &request, CALL_MS);

    return r == 0 ? raw_call_await(link, request.id, CALL_MS, result) : r;
}

/* So many calls of "add", one after the other; the sum of all. */
static int call_back(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request), result;
    uint64_t count = raw_postcard_take_u64(&arguments);
    uint32_t id = request->id;
    struct raw_postcard payload;
    int64_t sum = 0;
    int r = 0;

    for (uint64_t i = 1; r == 0 && i <= count; i++) {
        begin_request(&payload);
        raw_postcard_i64(&payload, sum);
        raw_postcard_i64(&payload, (int64_t)i);
        r = call_host(link, user, ADD, &payload, &result);
        sum = r == 0 ? raw_postcard_take_i64(&result) : sum;
    }
    return r < 0 ? r : raw_call_answer_i64(link, id, r == 0 ? sum : -r, CALL_MS);
}

/* The host's echo of what the host sends. */
static int reflect(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request), result;
    struct raw_postcard payload;
    const uint8_t *bytes;
    uint32_t id = request->id;
    size_t size;
    int r;

    bytes = raw_postcard_take_bytes(&arguments, &size);
    begin_request(&payload);
    raw_postcard_bytes(&payload, bytes, size);
    r = call_host(link, user, ECHO, &payload, &result);
    if (r != 0)
        return r < 0 ? r : raw_call_fail(link, id, (enum raw_failure)(r - 1), CALL_MS);
    bytes = raw_postcard_take_bytes(&result, &size);
    return raw_call_answer_bytes(link, id, bytes, size, CALL_MS);
}

/* So many bytes. */
static int make(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint64_t size = raw_postcard_take_u64(&arguments);
    struct raw_postcard bytes = {.size = 0};

    raw_postcard_u64(&bytes, size);
    while (size-- > 0)
        raw_postcard_byte(&bytes, 0x5a);
    return answer(link, user, request->id, &bytes);
}

/* Lets the host make so many bytes; the length of the message that brought them. */
static int fetch(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request), result;
    uint64_t size = raw_postcard_take_u64(&arguments);
    struct raw_postcard payload;
    uint32_t id = request->id;
    int64_t length;
    int r;

    begin_request(&payload);
    raw_postcard_u64(&payload, size);
    r = call_host(link, user, MAKE, &payload, &result);
    if (r != 0)
        return r < 0 ? r : raw_call_fail(link, id, (enum raw_failure)(r - 1), CALL_MS);
    length = (int64_t)result.left + 2; /* metadata and the tag are taken */
    if (!raw_postcard_take_bytes(&result, &size))
        return -EPROTO;
    return raw_call_answer_i64(link, id, length, CALL_MS);
}

/* Fails as it is told: RAW_USER is followed by a code and a text. */
static int refuse(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    enum raw_failure failure = (enum raw_failure)raw_postcard_take_u64(&arguments);
    struct raw_postcard response = {.bytes = {0, 1, 0}, .size = 3};
    const struct raw_message message = {
        .type = RAW_RESPONSE, .id = request->id, .payload = response.bytes, .length = 9};

    (void)user;
    if (failure != RAW_USER)
        return raw_call_fail(link, request->id, failure, CALL_MS);
    raw_postcard_i64(&response, -22); /* a single byte */
    raw_postcard_string(&response, "none");
    return raw_link_send(link, &message, CALL_MS);
}

/* From now on it wakes no peer, and takes its time. */
static int fall_silent(struct raw_link *link, const struct raw_message *request, void *user)
{
    int r = raw_call_answer(link, request->id, NULL, CALL_MS);

    ((struct peer *)user)->slow = true;
    link->behaviour.never_wakes = link->behaviour.never_rings = true;
    return r;
}

/* ---- ends ---- */

static int leave(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)request;
    (void)user;
    raw_call_goodbye(link, "enough", CALL_MS);
    raw_guest_goodbye(link);
    _exit(0);
}

/* By the state alone; its process ends at once, or some time later. */
static int leave_without_a_word(struct raw_link *link, const struct raw_message *request,
                                void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint64_t later_ms = raw_postcard_take_u64(&arguments);

    (void)user;
    raw_guest_goodbye(link);
    pause_ms((int)later_ms);
    _exit(0);
}

static int die(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)link;
    (void)request;
    (void)user;
    _exit(3);
}

/* A slot is taken and written, a descriptor stands in the ring; the head is not moved. */
static int die_before_publishing(struct raw_link *link, const struct raw_message *request,
                                 void *user)
{
    struct raw_message response = {.type = RAW_RESPONSE, .id = request->id, .length = 100};
    uint8_t descriptor[64];

    (void)user;
    raw_slot_take(link, &response.slot, &response.generation);
    memset(raw_slot_bytes(link, response.slot), 0, 100);
    raw_link_pack(&response, descriptor);
    raw_link_put(link, descriptor);
    raise(SIGKILL);
    return 0;
}

/* The answer is published, but the host is not woken. */
static int die_before_waking(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)user;
    link->behaviour.never_wakes = link->behaviour.never_rings = true;
    raw_call_answer(link, request->id, NULL, CALL_MS);
    raise(SIGKILL);
    return 0;
}

/* ---- the program ---- */

static bool has_word(int argc, char *const argv[], const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--plain=", 8) == 0 && strcmp(argv[i] + 8, word) == 0)
            return true;
    return false;
}

static struct peer peer_of(int argc, char *const argv[])
{
    struct peer peer = {.next_id = 1};

    peer.dirty = has_word(argc, argv, "dirty");
    peer.slow = has_word(argc, argv, "slow");
    peer.behaviour.modulo = has_word(argc, argv, "modulo");
    peer.behaviour.tolerant = has_word(argc, argv, "tolerant");
    peer.behaviour.foreign = has_word(argc, argv, "foreign");
    peer.behaviour.never_wakes = has_word(argc, argv, "mute");
    peer.behaviour.never_rings = peer.behaviour.never_wakes || has_word(argc, argv, "futex-only");
    if (has_word(argc, argv, "futex") || has_word(argc, argv, "futex-only"))
        peer.behaviour.sleep = RAW_SLEEP_FUTEX;
    else if (has_word(argc, argv, "look"))
        peer.behaviour.sleep = RAW_SLEEP_LOOK;
    return peer;
}

static const struct raw_method methods[] = {
    {ADD, add},
    {ECHO, echo},
    {"call_back(u64) -> i64", call_back},
    {"reflect(bytes) -> bytes", reflect},
    {MAKE, make},
    {"fetch(u64) -> i64", fetch},
    {"refuse(u64) -> void", refuse},
    {"fall_silent() -> void", fall_silent},
    {"leave() -> void", leave},
    {"leave_without_a_word(u64) -> void", leave_without_a_word},
    {"die() -> void", die},
    {"die_before_publishing() -> void", die_before_publishing},
    {"die_before_waking() -> void", die_before_waking},
    {NULL, NULL},
};

static struct raw_method *join(struct raw_method *to, const struct raw_method *from)
{
    while (from->signature)
        *to++ = *from++;
    return to;
}

int main(int argc, char **argv)
{
    struct raw_method all[32] = {{NULL, NULL}};
    struct peer peer = peer_of(argc, argv);
    const bool silent = has_word(argc, argv, "silent");
    const struct raw_module module = {.name = "raw", .methods = all, .user = &peer, .bare = silent};
    struct raw_ticket ticket;
    struct raw_link link;
    int r;

    (void)join(join(join(all, methods), raw_guest_streams), raw_guest_slots);
    if (raw_guest_ticket(argc, argv, &ticket) < 0)
        return 64;
    if (raw_guest_attach(&ticket, &peer.behaviour, &link) < 0)
        return 70;
    r = silent ? 0 : raw_module_announce(&link, &module, CALL_MS);
    if (r == 0)
        r = raw_module_serve(&link, &module);
    if (r == 0)
        raw_guest_goodbye(&link);
    raw_link_fini(&link);
    return r == 0 ? 0 : 76;
}
