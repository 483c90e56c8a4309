/* SPDX-License-Identifier: Apache-2.0 */
/* The host's messages about containers, as they cross: from begin over save and load to fini. */
#include "hub/base/crc32c.h"
#include "tests/unit/guest-sdk/whole/whole.h"

static uint64_t seen(struct whole *whole, uint64_t container, const char *what)
{
    const struct rapahub_string text = rapahub_string_of(what);
    uint64_t value = 0;

    assert_int_equal(
        whole_run_method(whole, container, "seen(string) -> u64", WHOLE_ARGUMENTS(&text), &value),
        0);
    return value;
}

static int begin(struct whole *whole, const struct hub_begin *order)
{
    return whole_tell(whole, HUB_LIFECYCLE_BEGIN, WHOLE_ARGUMENTS(order), NULL);
}

static void the_methods_are_told_from_any_index_on(void **state)
{
    uint32_t first = 0, last = 12, beyond = 13, far = UINT32_MAX;
    struct rapahub_string lines;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_METHODS, WHOLE_ARGUMENTS(&first), &lines), 0);
    assert_int_equal(strncmp(lines.data, "add(i64, i64) -> i64\nbump(i64) -> i64\n", 38), 0);
    assert_int_equal(lines.data[lines.size - 1], '\n');
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_METHODS, WHOLE_ARGUMENTS(&last), &lines), 0);
    assert_int_equal(lines.size, strlen("descend(i64) -> i64\n"));
    assert_memory_equal(lines.data, "descend(i64) -> i64\n", lines.size);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_METHODS, WHOLE_ARGUMENTS(&beyond), &lines),
                     0);
    assert_int_equal(lines.size, 0);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_METHODS, WHOLE_ARGUMENTS(&far), &lines), 0);
    assert_int_equal(lines.size, 0);
    whole_close(&whole);
}

static void containers_begin_as_they_are_told_to(void **state)
{
    const struct hub_begin restart = {.handle = 2, .how = HUB_BEGIN_RESTART};
    const struct hub_begin recover = {.handle = 3, .how = HUB_BEGIN_RECOVER};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(begin(&whole, &restart), 0);
    assert_int_equal(begin(&whole, &recover), 0);
    assert_int_equal(seen(&whole, 1, "begun"), 1);
    assert_int_equal(seen(&whole, 2, "begun"), 2);
    assert_int_equal(seen(&whole, 3, "begun"), 3);
    whole_close(&whole);
}

static void a_container_that_cannot_begin_says_why_and_is_not_there(void **state)
{
    const struct hub_begin order = {
        .handle = 2, .pool_name = {"shelf", 5}, .params = {"fail", 4}, .load_follows = true};
    struct hub_begin again = {.handle = 2};
    struct whole whole;
    int64_t total;

    (void)state;
    whole_open(&whole);
    assert_int_equal(begin(&whole, &order), RAPAHUB_EAPPLICATION);
    whole_assert_application(-EACCES, "'shelf' was asked to fail");
    assert_int_equal(
        whole_run_method(&whole, 2, "bump(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){1}), &total),
        RAPAHUB_ENOMETHOD);
    assert_int_equal(begin(&whole, &again), 0);
    assert_int_equal(begin(&whole, &again), RAPAHUB_EAPPLICATION);
    whole_assert_application(-EEXIST, "");
    whole_close(&whole);
}

/* ---- a state moves ---- */

/* All of a container's state, as a host reads it; the caller frees it. */
static uint8_t *save(struct whole *whole, uint64_t handle, struct hub_saved *saved)
{
    uint8_t *state;
    uint64_t offset = 0;

    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_SAVE, WHOLE_ARGUMENTS(&handle), saved), 0);
    state = malloc(saved->size + 1);
    assert_non_null(state);
    while (offset < saved->size) {
        struct rapahub_bytes piece;

        assert_int_equal(
            whole_tell(whole, HUB_LIFECYCLE_READ, WHOLE_ARGUMENTS(&handle, &offset), &piece), 0);
        assert_true(piece.size > 0 && piece.size <= saved->size - offset);
        memcpy(state + offset, piece.data, piece.size);
        offset += piece.size;
    }
    assert_int_equal(hub_crc32c(0, state, saved->size), saved->checksum);
    return state;
}

/* In pieces of at most `most` bytes. */
static void write_state(struct whole *whole, uint64_t handle, const uint8_t *state, size_t size,
                        size_t most)
{
    for (size_t at = 0; at < size;) {
        const struct rapahub_bytes piece = {state + at, size - at < most ? size - at : most};

        assert_int_equal(
            whole_tell(whole, HUB_LIFECYCLE_WRITE, WHOLE_ARGUMENTS(&handle, &piece), NULL), 0);
        at += piece.size;
    }
}

static int load(struct whole *whole, uint64_t handle, uint32_t version)
{
    return whole_tell(whole, HUB_LIFECYCLE_LOAD, WHOLE_ARGUMENTS(&handle, &version), NULL);
}

static void a_state_larger_than_a_message_moves_to_another_container(void **state)
{
    const struct hub_begin order = {.handle = 2, .load_follows = true};
    struct hub_saved saved;
    struct whole whole;
    int64_t total;
    uint8_t *bytes;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_bump(&whole, 1, 4711), 4711);
    bytes = save(&whole, 1, &saved);
    assert_int_equal(saved.size, 160000);
    assert_int_equal(saved.version, 7);
    assert_int_equal(begin(&whole, &order), 0);
    assert_int_equal(
        whole_run_method(&whole, 2, "bump(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){1}), &total),
        RAPAHUB_ENOMETHOD); /* no call arrives before the end of load */
    write_state(&whole, 2, bytes, saved.size, HUB_LIFECYCLE_PIECE);
    assert_int_equal(load(&whole, 2, 7), 0);
    assert_int_equal(whole_bump(&whole, 2, 0), 4711);
    assert_int_equal(whole_bump(&whole, 1, 1), 4712);
    free(bytes);
    whole_close(&whole);
}

/* A host chooses the size of its messages. */
static void a_state_moves_in_messages_of_any_size(void **state)
{
    const struct hub_limits small = {508, 1024, 1, 16, 512, 16, 4, 0, 0, false};
    const struct hub_begin order = {.handle = 2, .load_follows = true};
    struct hub_saved saved;
    struct whole whole;
    uint8_t *bytes;

    (void)state;
    whole_open_with(&whole, &small);
    assert_int_equal(whole_bump(&whole, 1, -5), -5);
    bytes = save(&whole, 1, &saved);
    assert_int_equal(begin(&whole, &order), 0);
    write_state(&whole, 2, bytes, saved.size, 400);
    assert_int_equal(load(&whole, 2, 7), 0);
    assert_int_equal(whole_bump(&whole, 2, 0), -5);
    free(bytes);
    whole_close(&whole);
}

static void a_state_that_cannot_be_loaded_ends_its_container(void **state)
{
    const struct hub_begin order = {.handle = 2, .load_follows = true};
    const uint8_t bytes[100] = {0};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(begin(&whole, &order), 0);
    write_state(&whole, 2, bytes, sizeof bytes, sizeof bytes);
    assert_int_equal(load(&whole, 2, 6), RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_EABI, "a state of version 6");
    assert_int_equal(load(&whole, 2, 7), RAPAHUB_EAPPLICATION);
    whole_assert_application(-ENOENT, "handle 2");
    assert_int_equal(begin(&whole, &order), 0);
    write_state(&whole, 2, bytes, sizeof bytes, sizeof bytes);
    assert_int_equal(load(&whole, 2, 7), RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_ERESET, "ended after");
    whole_close(&whole);
}

/* ---- the rest ---- */

static void plugs_moves_and_joins_reach_their_callbacks(void **state)
{
    const uint64_t handle = 1, node = 42, bad = 13;
    const struct hub_container lost = {1, 2, 3};
    const bool yes = true, no = false;
    uint64_t place = 0, work = 1;
    uint8_t health = 99;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_PLUG, WHOLE_ARGUMENTS(&handle, &yes), NULL),
                     0);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_PLUG, WHOLE_ARGUMENTS(&handle, &no), NULL),
                     0);
    assert_int_equal(seen(&whole, 1, "plugged"), 101);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_WORK, WHOLE_ARGUMENTS(&handle), &work), 0);
    assert_int_equal(work, 0);
    assert_int_equal(
        whole_tell(&whole, HUB_LIFECYCLE_MIGRATE, WHOLE_ARGUMENTS(&handle, &node), NULL), 0);
    assert_int_equal(seen(&whole, 1, "migrated"), 42);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_EXPAND, WHOLE_ARGUMENTS(&handle, &bad), NULL),
                     RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_EINVAL, "rapahub.expand");
    assert_int_equal(seen(&whole, 1, "joined"), 13);
    assert_int_equal(
        whole_tell(&whole, HUB_LIFECYCLE_RECOVER, WHOLE_ARGUMENTS(&handle, &lost), &place), 0);
    assert_int_equal(place, 103);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_HEALTH, WHOLE_ARGUMENTS(&handle), &health),
                     0);
    assert_int_equal(health, RAPAHUB_HEALTH_READY);
    (void)whole_bump(&whole, 1, -1);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_HEALTH, WHOLE_ARGUMENTS(&handle), &health),
                     0);
    assert_int_equal(health, RAPAHUB_HEALTH_UNHEALTHY);
    whole_close(&whole);
}

static uint8_t ping(struct whole *whole)
{
    uint8_t health = 99;

    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_PING, WHOLE_ARGUMENTS(NULL), &health), 0);
    return health;
}

/* r[verify supervise.probe.answer] */
static void a_ping_is_answered_with_the_worst_of_its_containers(void **state)
{
    const uint64_t first = 1;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_begin_container(&whole, 2), 0);
    assert_int_equal(ping(&whole), RAPAHUB_HEALTH_READY);
    (void)whole_bump(&whole, 1, -1);
    assert_int_equal(ping(&whole), RAPAHUB_HEALTH_UNHEALTHY);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_FINI, WHOLE_ARGUMENTS(&first), NULL), 0);
    assert_int_equal(ping(&whole), RAPAHUB_HEALTH_READY);
    whole_close(&whole);
}

/* Though it is in no chain, and what waits is not asked. r[verify supervise.probe.answer] */
static int ping_inside(struct whole *whole, const struct hub_request *request,
                       struct hub_writer *result)
{
    const struct whole_call call = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_PING),
                                    .types = hub_lifecycle_table[HUB_LIFECYCLE_PING].types,
                                    .arguments = WHOLE_ARGUMENTS(NULL)};
    uint8_t health = 99;

    (void)request;
    assert_int_equal(whole_ask(whole, &call, &health), 0);
    hub_postcard_put_signed(result, health);
    return 0;
}

static void a_guest_that_waits_for_an_answer_answers_a_ping(void **state)
{
    struct whole whole;
    int64_t health = 99;

    (void)state;
    whole_open(&whole);
    (void)whole_bump(&whole, 1, -1);
    whole.on_call = ping_inside;
    assert_int_equal(
        whole_run_method(&whole, 1, "ask(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){0}), &health), 0);
    assert_int_equal(health, RAPAHUB_HEALTH_READY);
    whole_close(&whole);
}

/* Asked from inside of the call, in its chain: so it is not from the host. */
static int look_at_work(struct whole *whole, const struct hub_request *request,
                        struct hub_writer *result)
{
    const uint64_t handle = 1;
    const struct whole_call call = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_WORK),
                                    .chain = request->metadata.chain,
                                    .types = hub_lifecycle_table[HUB_LIFECYCLE_WORK].types,
                                    .arguments = WHOLE_ARGUMENTS(&handle)};
    uint64_t work = 0;

    hub_postcard_put_signed(result, whole_ask(whole, &call, &work));
    return 0;
}

/* r[verify sec.call.own] */
static void a_message_of_the_host_in_a_chain_is_none(void **state)
{
    struct whole whole;
    int64_t work = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = look_at_work;
    assert_int_equal(
        whole_run_method(&whole, 1, "ask(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){0}), &work), 0);
    assert_int_equal(work, RAPAHUB_ENOMETHOD);
    assert_int_equal(whole_bump(&whole, 1, 2), 2);
    whole_close(&whole);
}

static void a_container_that_ended_is_gone(void **state)
{
    const uint64_t handle = 1;
    struct whole whole;
    int64_t total;

    (void)state;
    whole_open(&whole);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_FINI, WHOLE_ARGUMENTS(&handle), NULL), 0);
    assert_int_equal(
        whole_run_method(&whole, 1, "bump(i64) -> i64", WHOLE_ARGUMENTS(&(int64_t){1}), &total),
        RAPAHUB_ENOMETHOD);
    assert_int_equal(whole_tell(&whole, HUB_LIFECYCLE_FINI, WHOLE_ARGUMENTS(&handle), NULL),
                     RAPAHUB_EAPPLICATION);
    whole_assert_application(-ENOENT, "handle 1");
    assert_int_equal(whole_begin_container(&whole, 1), 0);
    assert_int_equal(whole_bump(&whole, 1, 2), 2);
    whole_close(&whole);
}

/* r[verify call.error.invalid-payload] */
static void a_message_that_cannot_be_read_is_told_and_does_nothing(void **state)
{
    static const struct rapahub_type *const none[] = {&rapahub_type_void, NULL};
    struct whole whole;

    (void)state;
    whole_open(&whole);
    for (enum hub_lifecycle_method method = HUB_LIFECYCLE_METHODS; method <= HUB_LIFECYCLE_FINI;
         method++) {
        const struct whole_call call = {.method_id = hub_lifecycle_id(method),
                                        .types = none,
                                        .arguments = WHOLE_ARGUMENTS(NULL)};

        assert_int_equal(whole_ask(&whole, &call, NULL), RAPAHUB_EARGUMENTS);
    }
    assert_int_equal(whole_bump(&whole, 1, 1), 1);
    whole_close(&whole);
}

/* r[verify shm.spawn.guest-init] */
static void a_guest_whose_host_refuses_it_exits_with_70(void **state)
{
    const struct hub_limits limits = hosted_limits();
    struct whole whole;

    (void)state;
    whole_reserve(&whole, &limits);
    whole_take_module(&whole, WHOLE_MODULE("good"));
    whole.refusal = 5;
    whole_start(&whole);
    assert_int_equal(whole_await_end(&whole), RAPAHUB_GUEST_FAILED);
    assert_true(whole.ready);
    assert_non_null(strstr(whole_host(&whole)->goodbye, "start: "));
    assert_non_null(strstr(whole_host(&whole)->goodbye, "the host's word"));
    whole_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_methods_are_told_from_any_index_on),
        cmocka_unit_test(containers_begin_as_they_are_told_to),
        cmocka_unit_test(a_container_that_cannot_begin_says_why_and_is_not_there),
        cmocka_unit_test(a_state_larger_than_a_message_moves_to_another_container),
        cmocka_unit_test(a_state_moves_in_messages_of_any_size),
        cmocka_unit_test(a_state_that_cannot_be_loaded_ends_its_container),
        cmocka_unit_test(plugs_moves_and_joins_reach_their_callbacks),
        cmocka_unit_test(a_ping_is_answered_with_the_worst_of_its_containers),
        cmocka_unit_test(a_guest_that_waits_for_an_answer_answers_a_ping),
        cmocka_unit_test(a_message_of_the_host_in_a_chain_is_none),
        cmocka_unit_test(a_container_that_ended_is_gone),
        cmocka_unit_test(a_message_that_cannot_be_read_is_told_and_does_nothing),
        cmocka_unit_test(a_guest_whose_host_refuses_it_exits_with_70),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
