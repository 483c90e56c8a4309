/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest under two raw hosts of another make: one rings its doorbell, the other wakes the
 * futexes of the specification and never rings. A call takes no more than twice as long under the
 * second, whichever side makes it. */
#include "tests/conformance/raw_hosting.h"
#include "tests/conformance/raw_pace.h"
#include "tests/raw/raw_call.h"

#define ECHO    "echo(bytes) -> bytes"
#define REFLECT "reflect(bytes) -> bytes"

static const struct raw_behaviour behaviours[PEER_KINDS] = {
    [WITH_BELL] = {.foreign = true},
    [FUTEX_ONLY] = {.foreign = true, .sleep = RAW_SLEEP_FUTEX, .never_rings = true},
};

static void check_same(struct raw_postcard_rest *rest)
{
    const uint8_t *same;
    size_t size;

    same = raw_postcard_take_bytes(rest, &size);
    assert_false(rest->wrong);
    assert_int_equal(size, 2);
    assert_memory_equal(same, "12", 2);
}

static uint32_t ask(struct raw_hosting *on, const char *method)
{
    struct raw_postcard arguments = {.size = 0};

    raw_postcard_bytes(&arguments, "12", 2);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(method), &arguments, CALL_MS), 0);
    return on->id;
}

static void call_once(void *user)
{
    struct raw_hosting *on = user;
    struct raw_postcard_rest rest;

    assert_int_equal(raw_call_await(&on->link, ask(on, ECHO), CALL_MS, &rest), 0);
    check_same(&rest);
}

/* The guest asks before it answers. */
static void call_back_once(void *user)
{
    struct raw_hosting *on = user;
    uint32_t id = ask(on, REFLECT);
    struct raw_postcard_rest rest;
    struct raw_message message;

    assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    assert_int_equal(message.type, RAW_REQUEST);
    assert_int_equal(raw_call_answer_bytes(&on->link, message.id, "12", 2, CALL_MS), 0);
    assert_int_equal(raw_call_await(&on->link, id, CALL_MS, &rest), 0);
    check_same(&rest);
}

static void check(struct raw_hosting hosts[PEER_KINDS], const char *name, void (*call)(void *))
{
    struct pace pace = {.name = name, .times = TIMES};

    for (int kind = 0; kind < PEER_KINDS; kind++)
        for (int i = 0; i < UNTIMED; i++)
            call(&hosts[kind]);
    for (int i = 0; i < ROUNDS; i++)
        for (int kind = 0; kind < PEER_KINDS; kind++)
            pace.us[kind][i] = pace_of_calls(call, &hosts[kind]);
    pace_check(&pace);
}

/* r[verify shm.wakeup.consumer-wait] r[verify hub.wait.foreign] */
static void a_host_that_only_wakes_futexes_costs_no_more_than_twice_a_bell(void **state)
{
    const struct raw_config config = RAW_HOST_USUAL;
    struct raw_hosting hosts[PEER_KINDS];

    (void)state;
    memset(hosts, 0, sizeof(hosts));
    for (int kind = 0; kind < PEER_KINDS; kind++) {
        hosts[kind].link.behaviour = behaviours[kind];
        raw_hosting_open_module(&hosts[kind], &config, RAW_BELL_STREAM, MIRROR_MODULE);
    }
    check(hosts, "the host calls the guest", call_once);
    check(hosts, "the guest calls back", call_back_once);
    for (int kind = PEER_KINDS; kind-- > 0;) /* the second then finds the same state as the first */
        raw_hosting_close(&hosts[kind], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_only_wakes_futexes_costs_no_more_than_twice_a_bell),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
