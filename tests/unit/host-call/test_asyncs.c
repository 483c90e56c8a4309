/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/call/asyncs.h"
#include "tests/unit/host-call/floor.h"

/* The ends of the calls of a test. */
struct ends {
    unsigned count;
    int code;
    char order[8]; /* the first byte of the arguments of each */
};

static struct ends ends;

static void on_done(struct host_async *async, int code, struct hub_answer *answer)
{
    (void)answer;
    assert_true(ends.count < sizeof ends.order);
    ends.order[ends.count++] = ((const char *)async->arguments.data)[0];
    ends.code = code;
}

static struct host_async *make(const char *arguments)
{
    struct host_async *async = calloc(1, sizeof *async);

    assert_non_null(async);
    async->target = stage_here;
    async->method_id = 5;
    async->arguments = (struct rapahub_bytes){arguments, strlen(arguments)};
    async->deadline_ns = hub_clock_after(SOON);
    async->done = on_done;
    memcpy(async->method, "sum", sizeof "sum");
    return async;
}

static struct stage *open_asyncs(void)
{
    ends = (struct ends){0};
    return floor_open();
}

static int begin(struct stage *stage, struct host_async *async, uint64_t *number)
{
    uint64_t ignored;

    return host_asyncs_begin(&stage->host, async, number ? number : &ignored);
}

static uint32_t waiting(const struct stage *stage)
{
    return hub_load_relaxed(&stage->host.asyncs.waiting);
}

static void start_again(struct stage *stage, bool starts)
{
    stage->guest.state = starts ? HOST_GUEST_STARTING : HOST_GUEST_READY;
    stage->look = -EAGAIN;
}

static void a_call_ends_once_and_then_uses_its_container_no_more(void **state)
{
    struct stage *stage = open_asyncs();
    struct hub_request *request;

    (void)state;
    assert_int_equal(begin(stage, make("a"), NULL), 0);
    assert_int_equal(host_containers_users(stage->container), 1);
    request = floor_next(stage);
    assert_true(request->method_id == 5);
    assert_int_equal(ends.count, 0);
    floor_answer(stage, request, "\1", 1);
    floor_receive(stage);
    assert_true(ends.count == 1 && ends.code == 0);
    assert_int_equal(host_containers_users(stage->container), 0);
    floor_close(stage);
}

static void the_end_of_a_call_that_a_gate_waits_for_is_told(void **state)
{
    struct stage *stage = open_asyncs();
    const struct host_changes *changes = &stage->host.process.owner.changes;
    struct hub_request *request;

    (void)state;
    assert_int_equal(begin(stage, make("a"), NULL), 0);
    request = floor_next(stage);
    host_containers_await(stage->container, true);
    assert_int_equal(hub_load_relaxed(&changes->told), 0);
    floor_answer(stage, request, "\1", 1);
    floor_receive(stage);
    assert_int_equal(hub_load_relaxed(&changes->told), 1);
    host_containers_await(stage->container, false);
    floor_close(stage);
}

static void a_call_to_a_guest_that_starts_is_parked_until_it_is_ready(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_async *async = make("a");

    (void)state;
    start_again(stage, true);
    assert_true(host_asyncs_next_deadline(&stage->host) == HUB_NEVER);
    assert_int_equal(begin(stage, async, NULL), 0);
    assert_true(floor_is_woken(stage));
    assert_int_equal(waiting(stage), 1);
    assert_true(host_asyncs_next_deadline(&stage->host) == async->deadline_ns);
    assert_int_equal(host_asyncs_serve(&stage->host), 0);
    assert_null(floor_next(stage));
    assert_int_equal(waiting(stage), 1);
    start_again(stage, false);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(waiting(stage), 0);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_true(ends.count == 1 && ends.code == 0);
    floor_close(stage);
}

static void own(struct stage *stage)
{
    hub_store_relaxed64(&stage->host.process.owner.threads.owner, (uintptr_t)pthread_self());
}

static struct host_async *make_raw(const char *arguments)
{
    struct host_async *async = make(arguments);

    async->raw = true;
    return async;
}

static void a_call_as_bytes_of_the_owner_goes_out_at_once(void **state)
{
    struct stage *stage = open_asyncs();

    (void)state;
    own(stage);
    assert_int_equal(begin(stage, make_raw("a"), NULL), 0);
    assert_int_equal(waiting(stage), 0);
    assert_false(floor_is_woken(stage));
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_true(ends.count == 1 && ends.code == 0);
    floor_close(stage);
}

static void a_call_as_bytes_overtakes_none_that_waits(void **state)
{
    struct stage *stage = open_asyncs();

    (void)state;
    own(stage);
    start_again(stage, true);
    assert_int_equal(begin(stage, make_raw("a"), NULL), 0);
    start_again(stage, false);
    assert_int_equal(begin(stage, make_raw("b"), NULL), 0);
    assert_null(floor_next(stage));
    assert_int_equal(waiting(stage), 2);
    assert_int_equal(host_asyncs_serve(&stage->host), 2);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_true(ends.count == 2 && ends.order[0] == 'a' && ends.order[1] == 'b');
    floor_close(stage);
}

static void *begin_raw(void *user)
{
    assert_int_equal(begin(user, make_raw("a"), NULL), 0);
    return NULL;
}

static void a_call_as_bytes_of_another_thread_waits_for_the_owner(void **state)
{
    struct stage *stage = open_asyncs();
    pthread_t thread;

    (void)state;
    own(stage);
    assert_int_equal(pthread_create(&thread, NULL, begin_raw, stage), 0);
    pthread_join(thread, NULL);
    assert_int_equal(waiting(stage), 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_true(ends.count == 1 && ends.code == 0);
    floor_close(stage);
}

static void a_parked_call_ends_at_its_deadline(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_async *async = make("a");

    (void)state;
    start_again(stage, true);
    async->deadline_ns = 1;
    assert_int_equal(begin(stage, async, NULL), 0);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_true(ends.count == 1 && ends.code == RAPAHUB_ETIMEDOUT);
    assert_int_equal(waiting(stage), 0);
    floor_close(stage);
}

static void a_parked_call_that_is_cancelled_is_never_sent(void **state)
{
    struct stage *stage = open_asyncs();
    uint64_t number;

    (void)state;
    start_again(stage, true);
    assert_int_equal(begin(stage, make("a"), &number), 0);
    (void)floor_is_woken(stage);
    host_asyncs_cancel(&stage->host, number);
    assert_true(floor_is_woken(stage));
    assert_int_equal(ends.count, 0); /* only the owner tells ends */
    start_again(stage, false);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_true(ends.count == 1 && ends.code == RAPAHUB_ECANCELED);
    assert_null(floor_next(stage));
    host_async_pieces_settle(&stage->host);
    host_asyncs_cancel(&stage->host, number);
    floor_close(stage);
}

static void a_cancel_of_a_sent_call_reaches_its_guest(void **state)
{
    struct stage *stage = open_asyncs();
    struct hub_request *request;
    uint64_t number;

    (void)state;
    assert_int_equal(begin(stage, make("a"), &number), 0);
    request = floor_next(stage);
    host_asyncs_cancel(&stage->host, number);
    assert_int_equal(hub_observe(&stage->life.users), 0);
    assert_true(hub_link_sweep(stage->pair.guest.connection.link, UINT32_MAX) >= 0);
    assert_true(hub_request_is_cancelled(request));
    floor_answer(stage, request, "\1", 1);
    floor_receive(stage);
    assert_int_equal(ends.count, 1);
    floor_close(stage);
}

/* Sends calls until no more fit; the last one is parked. Returns how many. */
static unsigned fill(struct stage *stage)
{
    unsigned count = 0;

    while (waiting(stage) == 0) {
        assert_int_equal(begin(stage, make("a"), NULL), 0);
        count++;
    }
    return count;
}

static void calls_to_one_container_stay_in_order_when_there_is_no_space(void **state)
{
    struct stage *stage = open_asyncs();
    struct hub_request *requests[32];
    unsigned count = fill(stage), answered = 0;

    (void)state;
    assert_in_range(count, 2, 16);
    assert_true(host_asyncs_next_deadline(&stage->host) <= hub_clock_after(HUB_SECOND));
    for (unsigned i = 0; i + 1 < count; i++)
        requests[i] = floor_next(stage);
    assert_int_equal(begin(stage, make("b"), NULL), 0);
    assert_int_equal(waiting(stage), 2); /* it did not overtake the parked one */
    for (unsigned i = 0; i + 1 < count; i++)
        floor_answer(stage, requests[i], "\1", 1);
    floor_receive(stage);
    for (unsigned i = 0; i < 4 && waiting(stage) > 0; i++)
        (void)host_asyncs_serve(&stage->host);
    assert_int_equal(waiting(stage), 0);
    for (struct hub_request *next; (next = floor_next(stage)); answered++) {
        assert_memory_equal(next->arguments.data, answered == 0 ? "a" : "b", 1);
        floor_answer(stage, next, "\1", 1);
    }
    assert_int_equal(answered, 2);
    ends.count = 0;
    floor_receive(stage);
    assert_int_equal(ends.count, 2);
    assert_memory_equal(ends.order, "ab", 2);
    floor_close(stage);
}

/* Nothing but a change of the guest can help it. */
static void a_call_that_waits_for_its_guest_is_not_tried_each_moment(void **state)
{
    struct stage *stage = open_asyncs();

    (void)state;
    (void)fill(stage);
    start_again(stage, true);
    assert_int_equal(host_asyncs_serve(&stage->host), 0);
    assert_true(host_asyncs_next_deadline(&stage->host) > hub_clock_after(HUB_SECOND));
    host_asyncs_end_parked(&stage->host, RAPAHUB_EDIED, "the host ends");
    for (struct hub_request *next; (next = floor_next(stage));)
        floor_answer(stage, next, "\1", 1);
    floor_receive(stage);
    floor_close(stage);
}

static void at_the_end_of_the_host_parked_calls_end_and_no_more_are_parked(void **state)
{
    struct stage *stage = open_asyncs();

    (void)state;
    start_again(stage, true);
    assert_int_equal(begin(stage, make("a"), NULL), 0);
    assert_int_equal(begin(stage, make("b"), NULL), 0);
    host_asyncs_end_parked(&stage->host, RAPAHUB_EDIED, "the host ends");
    assert_true(ends.count == 2 && ends.code == RAPAHUB_EDIED);
    assert_memory_equal(ends.order, "ab", 2);
    assert_int_equal(waiting(stage), 0);
    assert_int_equal(begin(stage, make("c"), NULL), RAPAHUB_ESTALE);
    assert_int_equal(ends.count, 2);
    floor_close(stage);
}

/* r[verify sec.call.own] */
static void a_guest_is_sent_only_methods_that_its_target_declares(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_async *async = make("a");

    (void)state;
    floor_methods(stage, "sum(u32) -> u32\n"
                         "read(source) -> void\n");
    async->foreign = true;
    assert_int_equal(begin(stage, async, NULL), RAPAHUB_ENOMETHOD);
    async = make("a");
    async->foreign = true;
    async->method_id = host_methods_of_name(stage->guest.methods, "read")->id;
    assert_int_equal(begin(stage, async, NULL), RAPAHUB_EBUSY);
    assert_int_equal(ends.count, 0);
    async = make("a");
    async->foreign = true;
    async->method_id = host_methods_of_name(stage->guest.methods, "sum")->id;
    assert_int_equal(begin(stage, async, NULL), 0);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_int_equal(ends.count, 1);
    floor_close(stage);
}

/* r[verify sec.call.share] */
static void guests_leave_room_for_the_calls_of_the_host(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_async *async = make("g");

    (void)state;
    floor_methods(stage, "sum(u32) -> u32\n");
    hub_publish(&stage->life.foreign, HOST_ASYNCS_FOREIGN_MAX);
    async->foreign = true;
    async->method_id = host_methods_of_name(stage->guest.methods, "sum")->id;
    assert_int_equal(begin(stage, async, NULL), 0);
    assert_int_equal(waiting(stage), 1);
    assert_int_equal(begin(stage, make("h"), NULL), 0);
    assert_int_equal(waiting(stage), 1); /* the host's own was sent */
    floor_answer(stage, floor_next(stage), "\1", 1);
    hub_publish(&stage->life.foreign, HOST_ASYNCS_FOREIGN_MAX - 1);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(hub_observe(&stage->life.foreign), HOST_ASYNCS_FOREIGN_MAX);
    floor_answer(stage, floor_next(stage), "\1", 1);
    floor_receive(stage);
    assert_int_equal(ends.count, 2);
    assert_int_equal(hub_observe(&stage->life.foreign), HOST_ASYNCS_FOREIGN_MAX - 1);
    floor_close(stage);
}

static unsigned ran;

static int add(void *self, uint32_t a, uint32_t *result)
{
    (void)self;
    ran++;
    *result = a;
    return 0;
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD(add, add, u32, u32),
                                                RAPAHUB_METHOD_END};

/* An embedder's callback must not run inside of a function that any thread may call. */
static void a_service_runs_in_a_turn_and_never_where_the_call_begins(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_container *service = floor_offer(stage, methods, NULL);
    struct host_async *async = make("\5");

    (void)state;
    ran = 0;
    async->target = floor_service;
    async->method_id = service->offer->methods->list[0]->id;
    assert_int_equal(begin(stage, async, NULL), 0);
    assert_int_equal(ran, 0);
    assert_int_equal(host_asyncs_serve(&stage->host), 1);
    assert_int_equal(ran, 1);
    assert_true(ends.count == 1 && ends.code == 0);
    floor_close(stage);
}

static void the_end_of_the_host_marks_each_call_as_cancelled(void **state)
{
    struct stage *stage = open_asyncs();
    struct host_async *async = make("a");

    (void)state;
    start_again(stage, true);
    assert_int_equal(begin(stage, async, NULL), 0);
    assert_int_equal(host_asyncs_cancelled(async), 0);
    host_asyncs_give_up(&stage->host);
    assert_int_equal(host_asyncs_cancelled(async), RAPAHUB_ECANCELED);
    host_asyncs_end_parked(&stage->host, RAPAHUB_EDIED, "the host ends");
    floor_close(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_ends_once_and_then_uses_its_container_no_more),
        cmocka_unit_test(the_end_of_a_call_that_a_gate_waits_for_is_told),
        cmocka_unit_test(a_call_to_a_guest_that_starts_is_parked_until_it_is_ready),
        cmocka_unit_test(a_call_as_bytes_of_the_owner_goes_out_at_once),
        cmocka_unit_test(a_call_as_bytes_overtakes_none_that_waits),
        cmocka_unit_test(a_call_as_bytes_of_another_thread_waits_for_the_owner),
        cmocka_unit_test(a_parked_call_ends_at_its_deadline),
        cmocka_unit_test(a_parked_call_that_is_cancelled_is_never_sent),
        cmocka_unit_test(a_cancel_of_a_sent_call_reaches_its_guest),
        cmocka_unit_test(calls_to_one_container_stay_in_order_when_there_is_no_space),
        cmocka_unit_test(a_call_that_waits_for_its_guest_is_not_tried_each_moment),
        cmocka_unit_test(at_the_end_of_the_host_parked_calls_end_and_no_more_are_parked),
        cmocka_unit_test(a_guest_is_sent_only_methods_that_its_target_declares),
        cmocka_unit_test(guests_leave_room_for_the_calls_of_the_host),
        cmocka_unit_test(a_service_runs_in_a_turn_and_never_where_the_call_begins),
        cmocka_unit_test(the_end_of_the_host_marks_each_call_as_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
