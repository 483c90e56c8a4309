/* SPDX-License-Identifier: Apache-2.0 */
/* Inquiries: a guest, or the host itself, asks methods of this process that another thread answers
 * later. */
#include <rapahub/method.h>

#include "tests/integration/inquiring.h"

/* r[verify hub.inquiry.later] */
static void a_guest_is_answered_later_by_another_thread(void **state)
{
    struct hosting on;
    struct gate at;
    int64_t result = 0;

    (void)state;
    gate_open(&at, &on, true);
    gate_answer(&at);
    for (int64_t i = 0; i < 30; i++) {
        assert_done(ask_guest(&on, i, &result));
        assert_int_equal(result, 2 * i);
    }
    assert_int_equal(at.begun, 30);
    assert_memory_equal(&at.guest, &on.guest, sizeof at.guest);
    assert_int_equal(at.pool.major, 2);
    assert_true(at.chain != 0);
    gate_close(&at, &on);
}

/* The owner waits for the guest, which waits for the inquiry. r[verify hub.inquiry.later] */
static void an_owner_that_waits_hands_it_out_meanwhile(void **state)
{
    struct hosting on;
    struct gate at;
    int64_t result = 0;

    (void)state;
    gate_open(&at, &on, false);
    gate_answer(&at);
    for (int64_t i = 0; i < 30; i++) {
        assert_done(ask_guest(&on, i, &result));
        assert_int_equal(result, 2 * i);
    }
    gate_close(&at, &on);
}

static int twice(struct hosting *on, int64_t number, int64_t *result)
{
    return call_at(on->host, gate, "twice(i64) -> i64", (const void *const[]){&number, NULL},
                   result);
}

/* r[verify hub.inquiry.later] */
static void the_host_itself_may_ask_with_and_without_its_router(void **state)
{
    struct hosting on, far;
    struct way way;
    struct gate at;
    int64_t result = 0;

    (void)state;
    gate_open(&at, &on, true);
    gate_answer(&at);
    assert_done(twice(&on, 20, &result));
    assert_int_equal(result, 40);
    assert_int_equal(at.guest.peer + at.guest.epoch, 0);
    open_host(&far, (struct rapahub_host_options){.own_thread = true});
    way_open(&way, on.host, far.host);
    assert_done(twice(&on, 21, &result));
    assert_int_equal(result, 42);
    assert_done(ask_guest(&on, 22, &result));
    assert_int_equal(result, 44);
    assert_int_equal(way.begun, 0);
    way_close(&way);
    close_host(&far);
    gate_close(&at, &on);
}

/* r[verify hub.inquiry.router] */
static void a_router_that_comes_and_goes_ends_no_inquiry(void **state)
{
    struct done done = {0};
    struct hosting on, far;
    struct way way;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    begin_hold(&on, &done, NULL);
    assert_true(gate_until(&at, &at.begun, 1));
    open_host(&far, (struct rapahub_host_options){.own_thread = true});
    way_open(&way, on.host, far.host);
    way_close(&way);
    close_host(&far);
    assert_int_equal(look(&at, &at.cancelled), 0);
    assert_int_equal(done.count, 0);
    assert_done(rapahub_host_answer_raw(on.host, at.waiting[0], &(struct rapahub_raw_answer){0}));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, 0);
    gate_close(&at, &on);
}

static void only_the_first_answer_counts(void **state)
{
    struct done done = {0};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    begin_hold(&on, &done, NULL);
    assert_true(gate_until(&at, &at.begun, 1));
    assert_int_equal(
        rapahub_host_answer_raw(on.host, at.waiting[0], &(struct rapahub_raw_answer){.status = 5}),
        RAPAHUB_EINVAL);
    assert_done(rapahub_host_answer_raw(on.host, at.waiting[0], &(struct rapahub_raw_answer){0}));
    assert_int_equal(
        rapahub_host_answer_raw(on.host, at.waiting[0], &(struct rapahub_raw_answer){0}),
        RAPAHUB_ESTALE);
    assert_true(ends(&done, 1));
    assert_int_equal(
        rapahub_host_answer_raw(on.host, at.waiting[0], &(struct rapahub_raw_answer){0}),
        RAPAHUB_ESTALE);
    assert_int_equal(at.cancelled, 0);
    gate_close(&at, &on);
}

static void failures_come_as_they_were_given(void **state)
{
    const struct rapahub_raw_answer own = {
        .status = RAPAHUB_EAPPLICATION, .application = 17, .text = "not now"};
    struct rapahub_request_id id;
    struct hosting on;
    struct gate at;
    struct done done = {0};
    int64_t number = 4, result = 0;
    const struct rapahub_call call = {.target = gate,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};

    (void)state;
    gate_open(&at, &on, true);
    assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, &id));
    assert_true(gate_until(&at, &at.begun, 1));
    assert_done(rapahub_host_answer_raw(on.host, at.waiting[0], &own));
    assert_true(ends(&done, 1));
    assert_int_equal(done.status, RAPAHUB_EAPPLICATION);
    assert_non_null(strstr(done.text, "not now"));
    at.refuses = RAPAHUB_EBUSY;
    assert_int_equal(twice(&on, 1, &result), RAPAHUB_EBUSY);
    assert_true(ask_guest(&on, 1, &result) < 0);
    gate_close(&at, &on);
}

/* ---- what is not handed out ---- */

static void on_raw(void *user, const struct rapahub_raw_answer *answer)
{
    struct done *done = user;

    done->status = answer->status;
    done->count++;
}

static int raw_end(struct hosting *on, uint64_t method, const void *bytes, size_t size)
{
    const struct rapahub_raw_call call = {
        .target = gate, .method_id = method, .arguments = {bytes, size}};
    struct done done = {0};

    assert_done(rapahub_host_call_raw(on->host, &call, on_raw, &done, NULL));
    assert_true(ends(&done, 1));
    return done.status;
}

static uint64_t id_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* What is no method, or has no arguments of its types, is never handed out.
 * r[verify hub.inquiry.checked] */
static void what_does_not_fit_its_signature_is_refused(void **state)
{
    static const uint8_t long_number[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0x01};
    const uint64_t id = id_of("twice(i64) -> i64");
    struct hosting on;
    struct gate at;
    int64_t result;

    (void)state;
    gate_open(&at, &on, true);
    assert_int_equal(raw_end(&on, 7, "\2", 1), RAPAHUB_ENOMETHOD);
    assert_int_equal(raw_end(&on, id, "", 0), RAPAHUB_EARGUMENTS);
    assert_int_equal(raw_end(&on, id, "\2\2", 2), RAPAHUB_EARGUMENTS);
    assert_int_equal(raw_end(&on, id, "\x80", 1), RAPAHUB_EARGUMENTS);
    assert_int_equal(raw_end(&on, id, long_number, sizeof long_number), RAPAHUB_EARGUMENTS);
    assert_int_equal(call_at(on.host, gate, "thrice(i64) -> i64",
                             (const void *const[]){&(int64_t){1}, NULL}, &result),
                     RAPAHUB_ENOMETHOD);
    assert_int_equal(at.begun, 0);
    gate_answer(&at);
    assert_int_equal(raw_end(&on, id, "\2", 1), 0);
    gate_close(&at, &on);
}

static int offer(struct hosting *on, struct rapahub_container_options options,
                 const char *const *methods)
{
    const struct rapahub_inquiries inquiries = {methods, gate_begin, NULL, NULL, NULL, {0}};

    options.pool_name = "gate";
    return rapahub_host_offer_inquiries(on->host, &options, &inquiries);
}

static void what_cannot_be_offered_is_refused(void **state)
{
    static const char *const good[] = {"a()", NULL}, *const none[] = {NULL},
                             *const same[] = {"a()", "a() -> void", NULL},
                             *const stream[] = {"a(source)", NULL}, *const bad[] = {"a(", NULL},
                             *const own[] = {"rapahub.ping()", NULL};
    const struct rapahub_container_id other = {.pool = {11, 0}};
    struct hosting on;
    struct gate at;

    (void)state;
    gate_open(&at, &on, true);
    assert_int_equal(offer(&on, (struct rapahub_container_options){.id = gate}, good),
                     RAPAHUB_EEXIST);
    assert_int_equal(offer(&on, (struct rapahub_container_options){.id = other}, none),
                     RAPAHUB_EINVAL);
    assert_int_equal(offer(&on, (struct rapahub_container_options){.id = other}, NULL),
                     RAPAHUB_EINVAL);
    assert_int_equal(offer(&on, (struct rapahub_container_options){.id = other}, same),
                     RAPAHUB_EINVAL);
    assert_int_equal(offer(&on, (struct rapahub_container_options){.id = other}, stream),
                     RAPAHUB_ENOTSUP);
    assert_true(offer(&on, (struct rapahub_container_options){.id = other}, bad) < 0);
    assert_true(offer(&on, (struct rapahub_container_options){.id = other}, own) < 0);
    assert_int_equal(
        offer(&on, (struct rapahub_container_options){.id = other, .routed = true}, good),
        RAPAHUB_EINVAL);
    assert_int_equal(
        offer(&on, (struct rapahub_container_options){.id = other, .managed = true}, good),
        RAPAHUB_EINVAL);
    assert_done(offer(&on, (struct rapahub_container_options){.id = other}, good));
    assert_int_equal(rapahub_host_remove_container(on.host, other), RAPAHUB_ENOTSUP);
    assert_int_equal(rapahub_host_hold(on.host, other, true), RAPAHUB_ENOTSUP);
    gate_close(&at, &on);
}

static void count_method(void *user, const char *signature)
{
    unsigned *count = user;

    *count +=
        strcmp(signature, "twice(i64) -> i64") == 0 || strcmp(signature, "hold(u32) -> void") == 0;
}

static void their_methods_are_told_and_a_loan_is_not_given(void **state)
{
    struct rapahub_loan loan;
    struct hosting on;
    struct gate at;
    unsigned count = 0;

    (void)state;
    gate_open(&at, &on, true);
    assert_done(rapahub_host_methods(on.host, gate, count_method, &count));
    assert_int_equal(count, 2);
    assert_int_equal(rapahub_host_loan(on.host, gate, 100, &loan), RAPAHUB_ENOTLOCAL);
    gate_close(&at, &on);
}

static void count_release(void *user)
{
    ++*(unsigned *)user;
}

/* r[verify hub.inquiry.router] */
static void the_end_of_the_host_is_told(void **state)
{
    static const char *const methods[] = {"a()", NULL};
    const struct rapahub_container_options options = {.id = gate, .pool_name = "gate"};
    unsigned first = 0, second = 0;
    struct rapahub_inquiries inquiries = {methods, gate_begin, NULL, &first, count_release, {0}};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_offer_inquiries(on.host, &options, &inquiries));
    inquiries.user = &second;
    assert_int_equal(rapahub_host_offer_inquiries(on.host, &options, &inquiries), RAPAHUB_EEXIST);
    assert_int_equal(first, 0);
    close_host(&on);
    assert_int_equal(first, 1);
    assert_int_equal(second, 0);
}

static int answer_at_once(void *user, const struct rapahub_raw_call *call,
                          struct rapahub_request_id id)
{
    return answer_one(*(struct rapahub_host **)user, id, *(const uint8_t *)call->arguments.data);
}

static void on_asked(void *user, int status, const void *result)
{
    (void)status;
    *(int64_t *)user = *(const int64_t *)result;
}

/* Returns how many turns a program takes that polls the descriptor of the host. */
static unsigned turns_of_ask(struct hosting *on, int64_t number)
{
    const uint32_t pool = POOL;
    const void *const arguments[] = {&pool, &number, NULL};
    const struct rapahub_call call = {
        .target = asker, .method = "ask(u32, i64) -> i64", .arguments = arguments};
    struct pollfd fd = {.fd = rapahub_host_fd(on->host), .events = POLLIN};
    int64_t result = -1;
    unsigned turns = 0;

    assert_done(rapahub_host_call_async(on->host, &call, on_asked, &result, NULL));
    while (result < 0) {
        assert_int_equal(poll(&fd, 1, 10000), 1);
        assert_done(rapahub_host_dispatch(on->host, 0));
        turns++;
    }
    assert_int_equal(result, 2 * number);
    return turns;
}

/* One for the inquiry and one for the guest's answer: what a turn begins itself, it finishes. */
static void an_answer_at_once_takes_no_turn_of_its_own(void **state)
{
    static const char *const methods[] = {"twice(i64) -> i64", NULL};
    const struct rapahub_container_options options = {.id = gate, .pool_name = "gate"};
    struct hosting on;
    const struct rapahub_inquiries inquiries = {methods, answer_at_once, NULL, &on.host, NULL, {0}};
    unsigned turns = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(rapahub_host_offer_inquiries(on.host, &options, &inquiries));
    assert_done(start(&on, CALLER, asker, NULL));
    (void)turns_of_ask(&on, 1); /* the guest's first one */
    for (int64_t i = 0; i < 30; i++)
        turns += turns_of_ask(&on, i);
    assert_in_range(turns, 30, 70);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_is_answered_later_by_another_thread),
        cmocka_unit_test(an_owner_that_waits_hands_it_out_meanwhile),
        cmocka_unit_test(the_host_itself_may_ask_with_and_without_its_router),
        cmocka_unit_test(a_router_that_comes_and_goes_ends_no_inquiry),
        cmocka_unit_test(only_the_first_answer_counts),
        cmocka_unit_test(an_answer_at_once_takes_no_turn_of_its_own),
        cmocka_unit_test(failures_come_as_they_were_given),
        cmocka_unit_test(what_does_not_fit_its_signature_is_refused),
        cmocka_unit_test(the_end_of_the_host_is_told),
        cmocka_unit_test(what_cannot_be_offered_is_refused),
        cmocka_unit_test(their_methods_are_told_and_a_loan_is_not_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
