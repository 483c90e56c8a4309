/* SPDX-License-Identifier: Apache-2.0 */
/* The guest is the other end of a link in this thread: it answers in the turns that its host takes
 * while it waits. */
#include "host/call/call.h"
#include "host/call/caller.h"
#include "host/container/state_head.h"
#include "host/container/state_transfer.h"
#include "host/owner/wait.h"
#include "hub/base/crc32c.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "tests/unit/link/pair.h"

#define STATE_MAX 4000
#define HEAD      32 /* bytes before a saved state */
#define PIECE     500

struct rig {
    struct host_call host;
    struct pair pair;
    struct host_life life;
    struct host_container container;
    struct host_state_transfer moves;
    /* the guest: what it says that it saves, and what it has */
    struct hub_saved saved;
    uint8_t state[STATE_MAX];
    size_t has, piece, loaded_size;
    uint32_t loaded_version, loads;
    bool is_mute, whole, plugged;
    enum hub_lifecycle_method load_method; /* what it may be asked */
};

static struct rig *present;

/* ---- the guest ---- */

static void put(struct hub_writer *writer, struct rig *rig, struct hub_reader *arguments,
                enum hub_lifecycle_method method)
{
    const struct rapahub_type *const *types = hub_lifecycle_table[method].types;
    struct rapahub_bytes bytes;
    uint64_t handle, at;

    hub_payload_decode(arguments, types[1], &handle);
    assert_int_equal(handle, rig->container.handle);
    if (method == HUB_LIFECYCLE_SAVE) {
        hub_payload_put(writer, types[0], &rig->saved);
    } else if (method == HUB_LIFECYCLE_READ) {
        hub_payload_decode(arguments, types[2], &at);
        assert_true(at <= rig->has);
        bytes.size = rig->has - at < rig->piece ? rig->has - at : rig->piece;
        bytes.data = rig->state + at;
        hub_payload_put(writer, types[0], &bytes);
    } else if (method == HUB_LIFECYCLE_WRITE) {
        hub_payload_decode(arguments, types[2], &bytes);
        assert_true(bytes.size <= STATE_MAX - rig->loaded_size);
        memcpy(rig->state + rig->loaded_size, bytes.data, bytes.size);
        rig->loaded_size += bytes.size;
        if (bytes.size == 0)
            rig->loaded_size = 0;
    } else if (method == HUB_LIFECYCLE_SAVE_CHANGES) {
        const struct hub_changes changes = {rig->saved.size, rig->saved.version,
                                            rig->saved.checksum, rig->whole};

        hub_payload_decode(arguments, types[2], &rig->plugged);
        hub_payload_put(writer, types[0], &changes);
    } else {
        assert_int_equal(method, rig->load_method);
        hub_payload_decode(arguments, types[2], &rig->loaded_version);
        rig->loads++;
    }
}

static void answer(struct rig *rig, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_reader arguments;
    struct hub_writer writer;
    uint8_t body[1000];

    hub_reader_init(&arguments, request->arguments.data, request->arguments.size);
    hub_writer_init(&writer, body, sizeof body);
    put(&writer, rig, &arguments, hub_lifecycle_of_id(request->method_id));
    assert_int_equal(hub_inbound_calls_answer(rig->pair.guest.connection.served, request, &ok,
                                              (struct rapahub_bytes){body, writer.size}),
                     0);
}

static int serve_until(struct host_owner *owner, uint64_t deadline_ns)
{
    struct hub_request *request;

    (void)owner;
    (void)deadline_ns;
    assert_true(hub_link_sweep(present->pair.guest.connection.link, UINT32_MAX) >= 0);
    while (!present->is_mute &&
           (request = hub_inbound_calls_next(present->pair.guest.connection.served, NULL, NULL)))
        answer(present, request);
    assert_true(hub_link_sweep(present->pair.host.connection.link, UINT32_MAX) >= 0);
    return 0;
}

static int serve_once(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return serve_until(owner, 0);
}

static uint32_t serve_nobody(struct host_call *host, struct host_life *life, uint32_t most)
{
    (void)host;
    (void)life;
    (void)most;
    return 0;
}

/* ---- the host ---- */

static struct rig *open_rig(void)
{
    static const struct host_turns turns = {serve_once, serve_until};
    static const struct host_call_hooks hooks = {.serve = serve_nobody,
                                                 .serve_queued = serve_nobody};
    const struct hub_limits limits = pair_limits();
    struct rig *rig = test_calloc(1, sizeof *rig);

    present = rig;
    assert_int_equal(host_caller_open(&HOST_REGISTRY(&rig->host)->callers), 0);
    host_threads_init(&HOST_OWNER(&rig->host)->threads);
    HOST_OWNER(&rig->host)->turns = &turns;
    HOST_PROCESS(&rig->host)->options.limits = limits;
    HOST_PROCESS(&rig->host)->options.call_timeout_ns = HUB_SECOND;
    rig->host.hooks = &hooks;
    pair_open(&rig->pair, &limits, 0);
    rig->life.host = HOST_PROCESS(&rig->host);
    rig->life.process.pidfd = -1;
    snprintf(rig->life.name, sizeof rig->life.name, "calc");
    rig->life.connection.link = rig->pair.host.connection.link;
    rig->life.connection.calls = rig->pair.host.connection.calls;
    rig->container.handle = 7;
    rig->load_method = HUB_LIFECYCLE_LOAD;
    rig->container.id = (struct rapahub_container_id){{1, 0}, 5};
    rig->moves = (struct host_state_transfer){&rig->host, &rig->life, &rig->container,
                                              hub_clock_after(SOON)};
    return rig;
}

static void close_rig(struct rig *rig)
{
    pair_close(&rig->pair);
    host_threads_fini(&HOST_OWNER(&rig->host)->threads);
    host_caller_close(&HOST_REGISTRY(&rig->host)->callers);
    test_free(rig);
}

/* A guest with a state of so many bytes. */
static void fill(struct rig *rig, size_t size)
{
    for (size_t i = 0; i < size; i++)
        rig->state[i] = (uint8_t)(i * 7 + 1);
    rig->has = size;
    rig->piece = PIECE;
    rig->saved =
        (struct hub_saved){.size = size, .version = 3, .checksum = hub_crc32c(0, rig->state, size)};
}

/* Saves to memory: the bytes, and how many. */
static int save(struct rig *rig, uint8_t *to, size_t *size)
{
    struct rapahub_sink *sink;
    const void *bytes;
    int r;

    assert_int_equal(rapahub_sink_of_memory(HEAD + STATE_MAX, &sink), 0);
    r = host_state_transfer_save(&rig->moves, sink);
    bytes = rapahub_sink_data(sink, size);
    if (*size > 0)
        memcpy(to, bytes, *size);
    rapahub_sink_destroy(sink);
    return r;
}

static int load(struct rig *rig, const uint8_t *from, size_t size)
{
    struct rapahub_source *source;
    int r;

    memset(rig->state, 0, sizeof rig->state);
    rig->loaded_size = rig->loads = 0;
    assert_int_equal(rapahub_source_of_memory(from, size, &source), 0);
    r = host_state_transfer_load(&rig->moves, source);
    rapahub_source_destroy(source);
    return r;
}

static uint64_t number_at(const uint8_t *bytes, size_t at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[at + i] << (8 * i);
    return value;
}

/* ---- tests ---- */

static void a_saved_state_is_its_head_and_its_bytes(void **state)
{
    static const size_t sizes[] = {0, 1, PIECE, PIECE + 1, 3 * PIECE - 1};
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX];
    size_t size;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill(rig, sizes[i]);
        assert_int_equal(save(rig, bytes, &size), 0);
        assert_int_equal(size, HEAD + sizes[i]);
        assert_memory_equal(bytes, "RAPAHUBS", 8);
        assert_int_equal(number_at(bytes, 8, 4), 1);
        assert_int_equal(number_at(bytes, 12, 4), 3);
        assert_int_equal(number_at(bytes, 16, 8), sizes[i]);
        assert_int_equal(number_at(bytes, 24, 4), rig->saved.checksum);
        assert_int_equal(number_at(bytes, 28, 4), 0);
        assert_memory_equal(bytes + HEAD, rig->state, sizes[i]);
    }
    close_rig(rig);
}

static void what_was_saved_is_loaded_with_its_version(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX];
    size_t size;

    (void)state;
    fill(rig, 2000); /* more than one message holds */
    assert_int_equal(save(rig, bytes, &size), 0);
    assert_int_equal(load(rig, bytes, size), 0);
    assert_int_equal(rig->loads, 1);
    assert_int_equal(rig->loaded_version, 3);
    assert_int_equal(rig->loaded_size, 2000);
    assert_memory_equal(rig->state, bytes + HEAD, 2000);
    close_rig(rig);
}

static void a_guest_that_sends_other_bytes_than_it_said_is_refused(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX];
    size_t size;

    (void)state;
    fill(rig, 700);
    rig->saved.checksum++;
    assert_int_equal(save(rig, bytes, &size), RAPAHUB_EABI);
    fill(rig, 700);
    rig->saved.size = 600; /* its second piece has too many */
    assert_int_equal(save(rig, bytes, &size), RAPAHUB_EABI);
    assert_int_equal(size, HEAD + PIECE);
    fill(rig, 700);
    rig->saved.size = 800; /* and then there are none */
    assert_int_equal(save(rig, bytes, &size), RAPAHUB_EABI);
    assert_int_equal(size, HEAD + 700);
    close_rig(rig);
}

/* r[verify sec.state.size] */
static void a_state_that_is_too_large_is_refused_before_any_of_it_is_moved(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX] = "RAPAHUBS\1";
    size_t size;

    (void)state;
    assert_int_equal(host_state_head_check_size("calc", &rig->container, RAPAHUB_STATE_MAX), 0);
    assert_int_equal(host_state_head_check_size("calc", &rig->container, RAPAHUB_STATE_MAX + 1),
                     RAPAHUB_EMSGSIZE);
    assert_string_equal(rapahub_last_error()->rule, "sec.state.size");
    assert_non_null(strstr(rapahub_last_error()->text, "1.0[5]"));
    fill(rig, 700);
    rig->saved.size = RAPAHUB_STATE_MAX + 1;
    assert_int_equal(save(rig, bytes + 32, &size), RAPAHUB_EMSGSIZE);
    assert_int_equal(size, 0);
    bytes[16] = 1;
    bytes[19] = 0x40; /* 1 GiB, and a byte */
    assert_int_equal(load(rig, bytes, HEAD), RAPAHUB_EMSGSIZE);
    assert_int_equal(rig->loaded_size + rig->loads, 0);
    close_rig(rig);
}

static void a_stream_that_is_no_saved_state_is_not_loaded(void **state)
{
    struct rig *rig = open_rig();
    uint8_t good[HEAD + STATE_MAX], bad[HEAD + STATE_MAX];
    size_t size;

    (void)state;
    fill(rig, 700);
    assert_int_equal(save(rig, good, &size), 0);
    for (size_t at = 0; at < 12; at++) { /* magic and format */
        memcpy(bad, good, size);
        bad[at] ^= 1;
        assert_int_equal(load(rig, bad, size), RAPAHUB_EABI);
        assert_int_equal(rig->loaded_size, 0);
    }
    memcpy(bad, good, size);
    bad[HEAD + 699] ^= 1;
    assert_int_equal(load(rig, bad, size), RAPAHUB_EABI); /* its checksum differs */
    assert_int_equal(rig->loads, 0);
    assert_int_equal(load(rig, good, HEAD - 1), RAPAHUB_ERESET);
    assert_int_equal(load(rig, good, size - 1), RAPAHUB_ERESET);
    assert_int_equal(rig->loads, 0);
    assert_int_equal(load(rig, good, size), 0);
    close_rig(rig);
}

static void a_sink_without_room_ends_the_save_with_its_failure(void **state)
{
    struct rig *rig = open_rig();
    struct rapahub_sink *sink;

    (void)state;
    fill(rig, 700);
    for (size_t room = HEAD - 1; room <= HEAD + 699; room += 700) {
        assert_int_equal(rapahub_sink_of_memory(room, &sink), 0);
        assert_int_equal(host_state_transfer_save(&rig->moves, sink), RAPAHUB_EMSGSIZE);
        rapahub_sink_destroy(sink);
    }
    close_rig(rig);
}

/* ---- changes ---- */

static int save_changes(struct rig *rig, uint8_t *to, size_t *size, bool *whole)
{
    struct rapahub_sink *sink;
    const void *bytes;
    int r;

    assert_int_equal(rapahub_sink_of_memory(HEAD + STATE_MAX, &sink), 0);
    r = host_state_transfer_save_changes(&rig->moves, sink, whole);
    bytes = rapahub_sink_data(sink, size);
    if (*size > 0)
        memcpy(to, bytes, *size);
    rapahub_sink_destroy(sink);
    return r;
}

static int load_changes(struct rig *rig, const uint8_t *from, size_t size)
{
    struct rapahub_source *source;
    int r;

    rig->loads = 0;
    rig->load_method = HUB_LIFECYCLE_LOAD_CHANGES;
    assert_int_equal(rapahub_source_of_memory(from, size, &source), 0);
    r = host_state_transfer_load_changes(&rig->moves, source);
    rapahub_source_destroy(source);
    return r;
}

/* Neither passes for the other; what is whole is a state. r[verify hub.changes.order] */
static void changes_are_told_apart_from_a_state(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX], all[HEAD + STATE_MAX];
    size_t size, all_size;
    bool whole = true;

    (void)state;
    fill(rig, 700);
    assert_int_equal(save_changes(rig, bytes, &size, &whole), 0);
    assert_false(whole || rig->plugged);
    assert_int_equal(size, HEAD + 700);
    assert_memory_equal(bytes, "RAPAHUBC", 8);
    rig->whole = true;
    rig->container.state = HOST_CONTAINER_PLUGGED;
    assert_int_equal(save_changes(rig, all, &all_size, &whole), 0);
    assert_true(whole && rig->plugged);
    assert_memory_equal(all, "RAPAHUBS", 8);
    assert_int_equal(load_changes(rig, all, all_size), RAPAHUB_EABI);
    assert_int_equal(load(rig, bytes, size), RAPAHUB_EABI);
    assert_int_equal(rig->loads, 0);
    assert_int_equal(load_changes(rig, bytes, size), 0);
    assert_int_equal(rig->loads, 1);
    assert_int_equal(rig->loaded_size, 700);
    assert_memory_equal(rig->state, bytes + HEAD, 700);
    close_rig(rig);
}

/* A guest that lies about them, and a stream that ends early: what it left is forgotten. */
static void changes_of_a_guest_that_lies_are_refused(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX], bad[HEAD + STATE_MAX];
    size_t size;
    bool whole;

    (void)state;
    fill(rig, 700);
    rig->saved.checksum++;
    assert_int_equal(save_changes(rig, bytes, &size, &whole), RAPAHUB_EABI);
    fill(rig, 700);
    rig->saved.size = RAPAHUB_STATE_MAX + 1;
    assert_int_equal(save_changes(rig, bytes, &size, &whole), RAPAHUB_EMSGSIZE);
    assert_int_equal(size, 0);
    fill(rig, 700);
    rig->piece = 701; /* more than it announced */
    rig->saved.size = 600;
    assert_int_equal(save_changes(rig, bytes, &size, &whole), RAPAHUB_EABI);
    fill(rig, 700);
    assert_int_equal(save_changes(rig, bytes, &size, &whole), 0);
    memcpy(bad, bytes, size);
    bad[HEAD + 699] ^= 1;
    assert_int_equal(load_changes(rig, bad, size), RAPAHUB_EABI);
    assert_int_equal(load_changes(rig, bytes, size - 1), RAPAHUB_ERESET);
    assert_int_equal(rig->loads, 0);
    assert_int_equal(load_changes(rig, bytes, size), 0);
    assert_int_equal(rig->loaded_size, 700);
    close_rig(rig);
}

/* r[verify sec.call.time] */
static void a_guest_that_does_not_answer_is_late(void **state)
{
    struct rig *rig = open_rig();
    uint8_t bytes[HEAD + STATE_MAX];
    size_t size;

    (void)state;
    fill(rig, 10);
    assert_int_equal(save(rig, bytes, &size), 0);
    rig->is_mute = true;
    rig->moves.deadline_ns = hub_clock_now();
    assert_int_equal(save(rig, bytes + HEAD + 10, &size), RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->rule, "sec.call.time");
    assert_non_null(strstr(rapahub_last_error()->text, "was not saved within 1000 ms"));
    rig->moves.deadline_ns = hub_clock_now();
    assert_int_equal(load(rig, bytes, HEAD + 10), RAPAHUB_ETIMEDOUT);
    assert_non_null(strstr(rapahub_last_error()->text, "was not loaded within 1000 ms"));
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_state_is_its_head_and_its_bytes),
        cmocka_unit_test(what_was_saved_is_loaded_with_its_version),
        cmocka_unit_test(a_guest_that_sends_other_bytes_than_it_said_is_refused),
        cmocka_unit_test(a_state_that_is_too_large_is_refused_before_any_of_it_is_moved),
        cmocka_unit_test(a_stream_that_is_no_saved_state_is_not_loaded),
        cmocka_unit_test(a_sink_without_room_ends_the_save_with_its_failure),
        cmocka_unit_test(changes_are_told_apart_from_a_state),
        cmocka_unit_test(changes_of_a_guest_that_lies_are_refused),
        cmocka_unit_test(a_guest_that_does_not_answer_is_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
