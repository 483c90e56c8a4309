/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as bytes, with and without a uid, and the bound of calls at a router. */
#include "tests/integration/routing.h"

#define CALLER MODULE("caller")

static const struct rapahub_container_id caller = {.pool = {2, 0}};

/* ---- as bytes ---- */

struct raw_done {
    atomic_uint count;
    int status, application;
    uint8_t payload[64];
    size_t size;
    char text[256];
};

static void on_raw(void *user, const struct rapahub_raw_answer *answer)
{
    struct raw_done *done = user;

    done->status = answer->status;
    done->application = answer->application;
    done->size = answer->payload.size;
    if (answer->payload.size > 0 && answer->payload.size <= sizeof done->payload)
        memcpy(done->payload, answer->payload.data, answer->payload.size);
    snprintf(done->text, sizeof done->text, "%s", answer->text ? answer->text : "");
    done->count++;
}

/* FNV-1a. */
static uint64_t id_of(const char *signature)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *signature; signature++)
        hash = (hash ^ (uint8_t)*signature) * UINT64_C(0x100000001b3);
    return hash;
}

static void end_raw(struct rapahub_host *host, const struct rapahub_raw_call *call,
                    struct raw_done *done)
{
    uint64_t end = now_ms() + 10000;

    *done = (struct raw_done){0};
    assert_done(rapahub_host_call_raw(host, call, on_raw, done, NULL));
    while (done->count == 0 && now_ms() < end)
        pause_ms(1);
    assert_int_equal(done->count, 1);
}

/* r[verify hub.route.raw] */
static void a_call_as_bytes_gives_bytes(void **state)
{
    static const uint8_t two[] = {2, 0};
    struct rapahub_raw_call call = {.target = here,
                                    .method_id = id_of("divide(i64, i64) -> i64"),
                                    .arguments = {two, sizeof two}};
    struct raw_done done;
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALC, here, NULL));
    end_raw(on.near.host, &call, &done);
    assert_int_equal(done.status, RAPAHUB_EAPPLICATION);
    assert_int_equal(done.application, RAPAHUB_EINVAL);
    assert_string_equal(done.text, "division by zero");
    call.method_id = id_of("add(i64, i64) -> i64");
    end_raw(on.near.host, &call, &done);
    assert_true(done.status == 0 && done.size == 1 && done.payload[0] == 2);
    call.arguments.size = 1;
    end_raw(on.near.host, &call, &done);
    assert_int_equal(done.status, RAPAHUB_EARGUMENTS);
    call.method_id++;
    end_raw(on.near.host, &call, &done);
    assert_int_equal(done.status, RAPAHUB_ENOMETHOD);
    call.method_id = id_of("rapahub.fini(u64) -> void");
    assert_int_equal(rapahub_host_call_raw(on.near.host, &call, on_raw, &done, NULL),
                     RAPAHUB_ENOMETHOD);
    routing_close(&on);
}

/* What is made to answer a call with a uid has that uid, wherever its container is.
 * r[verify hub.route.uid] */
static void what_answers_a_call_with_a_uid_goes_to_the_router_with_it(void **state)
{
    static const uint8_t arguments[] = {5, 42};
    const struct rapahub_container_id beside = {.pool = {5, 0}};
    struct rapahub_raw_call call = {.target = caller,
                                    .method_id = id_of("ask(u32, i64) -> i64"),
                                    .arguments = {arguments, sizeof arguments},
                                    .chain = 4242};
    struct raw_done done;
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALLER, caller, NULL));
    assert_done(start(&on.near, CALLER, beside, NULL));
    assert_done(start(&on.far, CALLER, beside, NULL));
    end_raw(on.near.host, &call, &done);
    assert_int_equal(done.status, 0);
    assert_int_equal(on.out.begun, 0);
    call.uid = (struct rapahub_uid){7, 11};
    end_raw(on.near.host, &call, &done);
    assert_true(done.status == 0 && done.size == 1 && done.payload[0] == 84);
    assert_int_equal(on.out.begun, 1);
    assert_true(on.out.uid.origin == 7 && on.out.uid.number == 11);
    assert_true(on.out.chain == 4242);
    routing_close(&on);
}

/* r[verify hub.route.uid] */
static void a_method_learns_the_uid_of_its_call(void **state)
{
    const struct rapahub_raw_call call = {
        .target = caller, .method_id = id_of("uid() -> u64"), .uid = {7, 11}};
    const struct rapahub_call plain = {.target = caller, .method = "uid() -> u64"};
    uint64_t sum = 1;
    struct raw_done done;
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_done(start(&on.near, CALLER, caller, NULL));
    end_raw(on.near.host, &call, &done);
    assert_true(done.status == 0 && done.size == 1 && done.payload[0] == 18);
    assert_done(rapahub_host_call(on.near.host, &plain, &sum));
    assert_int_equal(sum, 0);
    routing_close(&on);
}

/* r[verify hub.route.bound] */
static void calls_that_find_no_container_end_at_the_bound(void **state)
{
    struct routing on;

    (void)state;
    routing_open(&on);
    assert_refused(
        call_at(on.near.host, here, "nap(u32)", (const void *const[]){&here, NULL}, NULL),
        RAPAHUB_EBUSY, "at its router");
    assert_true(on.out.begun > 1000);
    routing_close(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_as_bytes_gives_bytes),
        cmocka_unit_test(what_answers_a_call_with_a_uid_goes_to_the_router_with_it),
        cmocka_unit_test(a_method_learns_the_uid_of_its_call),
        cmocka_unit_test(calls_that_find_no_container_end_at_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
