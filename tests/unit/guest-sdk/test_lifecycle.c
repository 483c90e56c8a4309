/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "guest-sdk/attach.h"
#include "guest-sdk/lifecycle.h"
#include "hub/base/crc32c.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "tests/unit/guest-sdk/hosted.h"

#define STATE_SIZE 5000

struct state {
    uint8_t bytes[STATE_SIZE];
    int failure;
    bool plugged, ended;
};

static int save(void *self, struct rapahub_sink *to)
{
    return rapahub_sink_write(to, ((struct state *)self)->bytes, STATE_SIZE);
}

static int load(void *self, struct rapahub_source *from, uint32_t version)
{
    int r = rapahub_source_read_all(from, ((struct state *)self)->bytes, STATE_SIZE);

    return version == 3 ? r : 42;
}

static void plugged(void *self, bool on)
{
    ((struct state *)self)->plugged = on;
}

/* The callback's own failure, whatever its code, is no complaint about the message. */
static int expand(void *self, struct rapahub_node_id joined)
{
    (void)self;
    return (int)joined.number;
}

static int nothing(void *self, int64_t *result)
{
    (void)self;
    *result = 0;
    return 0;
}

static const struct rapahub_container_ops ops = {
    .save = save, .load = load, .plugged = plugged, .expand = expand};
static struct rapahub_method methods[101];
static char names[100][32];
static const struct rapahub_method one[] = {
    RAPAHUB_METHOD(nothing, nothing, i64, void),
    RAPAHUB_METHOD_END,
};
static const struct rapahub_chimod chimod = {.abi = RAPAHUB_CHIMOD_ABI,
                                             .ops_size = sizeof ops,
                                             .name = "kept",
                                             .state_size = sizeof(struct state),
                                             .state_version = 3,
                                             .ops = &ops,
                                             .methods = methods};

/* A guest that is attached and loaded, and served by the test. */
struct rig {
    struct hosted hosted;
    struct guest guest;
    uint8_t message[65536], result[65536];
    struct hub_reader reader; /* reads the result */
    struct hub_writer writer;
    int undecoded;
};

static void rig_open(struct rig *rig, uint32_t payload_max)
{
    struct hub_limits limits = hosted_limits();

    memset(rig, 0, sizeof *rig);
    limits.payload_max = payload_max;
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "nothing_number_%d", i);
        methods[i] = one[0];
        methods[i].name = names[i];
    }
    hosted_reserve(&rig->hosted, &limits);
    guest_roles_init(&rig->guest.roles);
    assert_int_equal(guest_attach_open(&rig->guest, rig->hosted.count, rig->hosted.arguments), 0);
    rig->hosted.pair.guest.doorbell = -1;
    assert_int_equal(guest_containers_init(&rig->guest.containers), 0);
    assert_int_equal(guest_load_own(&rig->guest.module, &chimod), 0);
}

static void rig_close(struct rig *rig)
{
    guest_containers_fini(&rig->guest.containers, &rig->guest.module.ops);
    guest_load_close(&rig->guest.module);
    guest_attach_close(&rig->guest);
    guest_roles_fini(&rig->guest.roles);
    hosted_release(&rig->hosted);
}

static int rig_tell(struct rig *rig, enum hub_lifecycle_method method, const void *const *arguments)
{
    struct hub_writer order;
    struct hub_reader reader;
    int r;

    hub_writer_init(&order, rig->message, sizeof rig->message);
    hub_payload_put_arguments(&order, hub_lifecycle_table[method].types + 1, arguments);
    assert_int_equal(order.failure, 0);
    hub_reader_init(&reader, rig->message, order.size);
    hub_writer_init(&rig->writer, rig->result,
                    hub_link_limits(rig->guest.attach.connection.link)->payload_max);
    r = guest_lifecycle_run(&rig->guest, method, &reader, &rig->writer);
    rig->undecoded = reader.failure;
    hub_reader_init(&rig->reader, rig->result, rig->writer.size);
    return r;
}

static int rig_begin(struct rig *rig, uint64_t handle, bool load_follows)
{
    const struct hub_begin begin = {.handle = handle, .load_follows = load_follows};

    return rig_tell(rig, HUB_LIFECYCLE_BEGIN, (const void *const[]){&begin, NULL});
}

static int rig_tell_handle(struct rig *rig, enum hub_lifecycle_method method, uint64_t handle)
{
    return rig_tell(rig, method, (const void *const[]){&handle, NULL});
}

static struct state *rig_state(struct rig *rig, uint64_t handle)
{
    return guest_containers_find(&rig->guest.containers, handle)->self;
}

/* All of what SAVE made ready, by READ: its size. */
static size_t rig_read(struct rig *rig, uint64_t handle, uint64_t size, uint8_t *to)
{
    uint64_t at = 0;

    while (at < size) {
        struct rapahub_bytes piece;

        assert_int_equal(
            rig_tell(rig, HUB_LIFECYCLE_READ, (const void *const[]){&handle, &at, NULL}), 0);
        assert_int_equal(rig->writer.failure, 0);
        piece = hub_postcard_read_bytes(&rig->reader);
        assert_int_equal(hub_postcard_end(&rig->reader), 0);
        assert_in_range(piece.size, 1, size - at);
        memcpy(to + at, piece.data, piece.size);
        at += piece.size;
    }
    return at;
}

static void save_and_carry_over(uint32_t payload_max)
{
    static struct rig rig;
    uint8_t copy[STATE_SIZE];
    const uint64_t to = 2;
    const uint32_t version = 3;
    struct hub_saved saved;

    rig_open(&rig, payload_max);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    for (size_t i = 0; i < STATE_SIZE; i++)
        rig_state(&rig, 1)->bytes[i] = (uint8_t)(i * 7 >> 3);
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_SAVE, 1), 0);
    hub_payload_decode(&rig.reader, &rapahub_type_hub_saved, &saved);
    assert_int_equal(saved.version, 3);
    assert_int_equal(saved.size, STATE_SIZE);
    assert_int_equal(rig_read(&rig, 1, saved.size, copy), STATE_SIZE);
    assert_int_equal(hub_crc32c(0, copy, STATE_SIZE), saved.checksum);
    assert_int_equal(rig_begin(&rig, 2, true), 0);
    for (size_t at = 0; at < STATE_SIZE; at += 100) {
        const struct rapahub_bytes piece = {copy + at, 100};

        assert_int_equal(
            rig_tell(&rig, HUB_LIFECYCLE_WRITE, (const void *const[]){&to, &piece, NULL}), 0);
    }
    assert_int_equal(guest_containers_find(&rig.guest.containers, 2)->gate, GUEST_CONTAINER_CLOSED);
    assert_int_equal(rig_tell(&rig, HUB_LIFECYCLE_LOAD, (const void *const[]){&to, &version, NULL}),
                     0);
    assert_int_equal(guest_containers_find(&rig.guest.containers, 2)->gate, GUEST_CONTAINER_OPEN);
    assert_memory_equal(rig_state(&rig, 1)->bytes, rig_state(&rig, 2)->bytes, STATE_SIZE);
    rig_close(&rig);
}

static void a_state_is_carried_from_one_to_the_other(void **state)
{
    (void)state;
    save_and_carry_over(65532);
}

/* A piece is never larger than the messages of this segment may be. */
static void small_messages_carry_it_as_well(void **state)
{
    (void)state;
    save_and_carry_over(252);
}

/* All signatures, asked for from where the last answer ended. */
static void list_methods(uint32_t payload_max)
{
    static struct rig rig;
    uint32_t from = 0;

    rig_open(&rig, payload_max);
    while (from < 100) {
        struct rapahub_string lines;
        uint32_t before = from;

        assert_int_equal(rig_tell(&rig, HUB_LIFECYCLE_METHODS, (const void *const[]){&from, NULL}),
                         0);
        lines = hub_postcard_read_string(&rig.reader);
        assert_int_equal(hub_postcard_end(&rig.reader), 0);
        for (size_t i = 0; i < lines.size; i++)
            from += lines.data[i] == '\n';
        assert_true(from > before);
    }
    assert_int_equal(from, 100);
    rig_close(&rig);
}

static void all_methods_are_listed_in_as_many_answers_as_it_takes(void **state)
{
    (void)state;
    list_methods(65532);
    list_methods(252);
}

static void a_signature_that_no_message_carries_is_told(void **state)
{
    static struct rig rig;
    uint32_t from = 0;

    (void)state;
    rig_open(&rig, 32);
    assert_int_equal(rig_tell(&rig, HUB_LIFECYCLE_METHODS, (const void *const[]){&from, NULL}),
                     -EMSGSIZE);
    rig_close(&rig);
}

static void a_load_that_fails_ends_the_container(void **state)
{
    static struct rig rig;
    const uint8_t zeros[STATE_SIZE] = {0};
    const struct rapahub_bytes piece = {zeros, STATE_SIZE};
    const uint64_t handle = 1;
    const uint32_t version = 4;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, true), 0);
    assert_int_equal(
        rig_tell(&rig, HUB_LIFECYCLE_WRITE, (const void *const[]){&handle, &piece, NULL}), 0);
    assert_int_equal(
        rig_tell(&rig, HUB_LIFECYCLE_LOAD, (const void *const[]){&handle, &version, NULL}), 42);
    assert_null(guest_containers_find(&rig.guest.containers, 1));
    rig_close(&rig);
}

/* It would free, or read, the memory a method below works with. */
static void what_waits_in_a_call_is_neither_saved_nor_loaded_nor_ended(void **state)
{
    static struct rig rig;
    struct guest_container *container;
    const uint64_t handle = 1;
    const uint32_t version = 3;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    container = guest_containers_find(&rig.guest.containers, 1);
    for (int i = 0; i < 2; i++) {
        container->open = i == 0; /* a method, then a callback */
        container->held = i == 1;
        assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_SAVE, 1), -EBUSY);
        assert_int_equal(
            rig_tell(&rig, HUB_LIFECYCLE_LOAD, (const void *const[]){&handle, &version, NULL}),
            -EBUSY);
        assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_FINI, 1), -EBUSY);
        assert_ptr_equal(guest_containers_find(&rig.guest.containers, 1), container);
    }
    container->held = 0;
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_FINI, 1), 0);
    assert_null(guest_containers_find(&rig.guest.containers, 1));
    rig_close(&rig);
}

static void work_is_the_number_of_open_calls(void **state)
{
    static struct rig rig;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    guest_containers_find(&rig.guest.containers, 1)->open = 3;
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_WORK, 1), 0);
    assert_int_equal(hub_postcard_read_unsigned(&rig.reader, 64), 3);
    rig_close(&rig);
}

static void plug_and_expand_reach_the_callbacks(void **state)
{
    static struct rig rig;
    const uint64_t handle = 1, node = 77;
    const bool on = true;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    assert_int_equal(rig_tell(&rig, HUB_LIFECYCLE_PLUG, (const void *const[]){&handle, &on, NULL}),
                     0);
    assert_true(rig_state(&rig, 1)->plugged);
    assert_int_equal(
        rig_tell(&rig, HUB_LIFECYCLE_EXPAND, (const void *const[]){&handle, &node, NULL}), 77);
    assert_int_equal(rig.undecoded, 0);
    rig_close(&rig);
}

static void a_handle_nobody_has_is_refused(void **state)
{
    static struct rig rig;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_HEALTH, 2), -ENOENT);
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_HEALTH, 0), -ENOENT);
    assert_int_equal(rig_tell_handle(&rig, HUB_LIFECYCLE_HEALTH, 1), 0);
    assert_int_equal(rig.undecoded, 0);
    rig_close(&rig);
}

/* Each message, cut at each byte and one byte too long: nothing is done, and the reader says so. */
static void a_message_that_is_cut_or_too_long_does_nothing(void **state)
{
    static struct rig rig;
    const uint64_t handle = 1, number = 300;
    const void *const arguments[] = {&handle, &number, NULL};
    const enum hub_lifecycle_method method = HUB_LIFECYCLE_EXPAND;
    struct hub_writer order;

    (void)state;
    rig_open(&rig, 65532);
    assert_int_equal(rig_begin(&rig, 1, false), 0);
    hub_writer_init(&order, rig.message, sizeof rig.message);
    hub_payload_put_arguments(&order, hub_lifecycle_table[method].types + 1, arguments);
    rig.message[order.size] = 0;
    for (size_t size = 0; size <= order.size + 1; size++) {
        struct hub_reader reader;
        int r;

        hub_reader_init(&reader, rig.message, size);
        hub_writer_init(&rig.writer, rig.result, sizeof rig.result);
        r = guest_lifecycle_run(&rig.guest, method, &reader, &rig.writer);
        assert_int_equal(reader.failure < 0, size != order.size);
        assert_int_equal(r, size == order.size ? 300 : RAPAHUB_EARGUMENTS);
    }
    rig_close(&rig);
}

static void what_guests_send_is_no_message_to_a_guest(void **state)
{
    (void)state;
    assert_false(guest_lifecycle_serves(HUB_LIFECYCLE_READY));
    assert_false(guest_lifecycle_serves(HUB_LIFECYCLE_COUNT));
    for (int method = HUB_LIFECYCLE_METHODS; method < HUB_LIFECYCLE_COUNT; method++)
        assert_true(guest_lifecycle_serves((enum hub_lifecycle_method)method));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_carried_from_one_to_the_other),
        cmocka_unit_test(small_messages_carry_it_as_well),
        cmocka_unit_test(all_methods_are_listed_in_as_many_answers_as_it_takes),
        cmocka_unit_test(a_signature_that_no_message_carries_is_told),
        cmocka_unit_test(a_load_that_fails_ends_the_container),
        cmocka_unit_test(what_waits_in_a_call_is_neither_saved_nor_loaded_nor_ended),
        cmocka_unit_test(work_is_the_number_of_open_calls),
        cmocka_unit_test(plug_and_expand_reach_the_callbacks),
        cmocka_unit_test(a_handle_nobody_has_is_refused),
        cmocka_unit_test(a_message_that_is_cut_or_too_long_does_nothing),
        cmocka_unit_test(what_guests_send_is_no_message_to_a_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
