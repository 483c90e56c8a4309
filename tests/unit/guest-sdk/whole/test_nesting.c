/* SPDX-License-Identifier: Apache-2.0 */
/* Calls out of a guest, and calls that answer calls: outward.c. */
#include "hub/call/direct_call.h"
#include "tests/unit/guest-sdk/whole/whole.h"

static const struct rapahub_type *const one_number[] = {&rapahub_type_i64, &rapahub_type_i64, NULL};

static int ask(struct whole *whole, const char *method, int64_t number, int64_t *result)
{
    char text[64];

    snprintf(text, sizeof text, "%s(i64) -> i64", method);
    return whole_run_method(whole, 1, text, WHOLE_ARGUMENTS(&number), result);
}

static int64_t number_of(const struct hub_request *request)
{
    struct hub_reader reader;
    int64_t number = 0;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    hub_payload_decode(&reader, &rapahub_type_i64, &number);
    assert_int_equal(hub_postcard_end(&reader), 0);
    return number;
}

static bool is_for(const struct hub_request *request, const char *signature)
{
    return request->method_id == hub_signature_hash(signature);
}

/* ---- a call out ---- */

/* It must say for whom it is, and that it answers another. */
static int twice(struct whole *whole, const struct hub_request *request, struct hub_writer *result)
{
    struct rapahub_container_id target;

    (void)whole;
    if (!is_for(request, "twice(i64) -> i64"))
        return RAPAHUB_ENOMETHOD;
    assert_int_equal(hub_lifecycle_decode_target(request->metadata.target, &target), 0);
    assert_int_equal(target.pool.major, 9);
    assert_int_equal(target.pool.minor, 1);
    assert_int_equal(target.container, 2);
    assert_true(request->metadata.chain != 0);
    hub_postcard_put_signed(result, 2 * number_of(request));
    return 0;
}

static void a_chimod_calls_any_container_through_its_host(void **state)
{
    struct whole whole;
    int64_t result = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = twice;
    assert_int_equal(ask(&whole, "ask", 21, &result), 0);
    assert_int_equal(result, 42);
    assert_int_equal(ask(&whole, "ask", -3, &result), 0);
    assert_int_equal(result, -6);
    whole_close(&whole);
}

/* A caller with a peer on another CPU may be answered while it spins; here the test answers,
 * always. */
static struct hub_a32 answers_directly, direct_answers;

struct hub_direct_end __real_hub_direct_call(struct hub_calls *calls,
                                             const struct hub_parts *payload,
                                             const struct hub_direct_order *order, bool looks_soon);
struct hub_direct_end __wrap_hub_direct_call(struct hub_calls *calls,
                                             const struct hub_parts *payload,
                                             const struct hub_direct_order *order, bool looks_soon);
struct hub_direct_end __wrap_hub_direct_call(struct hub_calls *calls,
                                             const struct hub_parts *payload,
                                             const struct hub_direct_order *order, bool looks_soon)
{
    struct hub_metadata metadata;
    struct hub_reader reader;
    struct hub_writer writer;
    int64_t asked = 0;

    if (hub_observe(&answers_directly) == 0 || payload->head.size > HUB_INLINE_SIZE)
        return __real_hub_direct_call(calls, payload, order, looks_soon);
    hub_reader_init(&reader, payload->head.data, payload->head.size);
    (void)hub_metadata_read(&reader, &metadata);
    hub_payload_decode(&reader, &rapahub_type_i64, &asked);
    hub_writer_init(&writer, order->small, HUB_INLINE_SIZE);
    hub_writer_byte(&writer, 0); /* no metadata */
    hub_writer_byte(&writer, 0); /* a result */
    hub_postcard_put_signed(&writer, 2 * asked);
    (void)hub_add(&direct_answers, 1);
    return (struct hub_direct_end){HUB_DIRECT_ANSWERED, writer.size};
}

/* Each is of another size than the one before it, which lies in the same memory. */
static void an_answer_that_came_at_once_is_taken_in_its_size(void **state)
{
    static const int64_t numbers[] = {1, INT64_C(1) << 40, 100, INT64_C(1) << 60, 0, 5000, -1};
    struct whole whole;
    int64_t result;

    (void)state;
    whole_open(&whole);
    hub_publish(&answers_directly, 1);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(ask(&whole, "ask", numbers[i], &result), 0);
        assert_true(result == 2 * numbers[i]);
        assert_int_equal(hub_observe(&direct_answers), i + 1);
    }
    hub_publish(&answers_directly, 0);
    whole_close(&whole);
}

/* r[verify hub.call.memory] */
static void a_bare_name_without_types_is_refused(void **state)
{
    struct whole whole;
    int64_t result = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = twice;
    assert_int_equal(ask(&whole, "ask_by_name", 4, &result), RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_EINVAL, "the types of twice are not said");
    assert_int_equal(ask(&whole, "ask", 4, &result), 0);
    assert_int_equal(result, 8);
    whole_close(&whole);
}

/* r[verify call.error.unknown-method] */
static void what_the_host_refuses_is_the_chimods_to_handle(void **state)
{
    struct whole whole;
    int64_t result;

    (void)state;
    whole_open(&whole);
    assert_int_equal(ask(&whole, "ask", 1, &result), RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_ENOMETHOD, "twice");
    assert_int_equal(whole_bump(&whole, 1, 1), 1);
    whole_close(&whole);
}

static int refuse(struct whole *whole, const struct hub_request *request, struct hub_writer *result)
{
    (void)whole;
    (void)request;
    (void)result;
    return -77;
}

/* r[verify call.error.user] */
static void an_error_of_the_other_method_goes_through_with_its_text(void **state)
{
    struct whole whole;
    int64_t result;

    (void)state;
    whole_open(&whole);
    whole.on_call = refuse;
    assert_int_equal(ask(&whole, "ask", 1, &result), RAPAHUB_EAPPLICATION);
    whole_assert_application(RAPAHUB_EAPPLICATION, "the host's word");
    whole_close(&whole);
}

/* ---- host, guest, host, guest ---- */

struct descent {
    struct whole_operation stranger; /* a call of another chain */
    bool strange;                    /* it was sent */
    bool early;                      /* it was answered before its turn */
    uint64_t chain;
    int64_t deepest;
};

/* Calls the guest back, to answer the call it has just made. */
static int descend(struct whole *whole, const struct hub_request *request,
                   struct hub_writer *result)
{
    struct descent *descent = whole->user;
    int64_t number = number_of(request), depth = 0;
    const struct whole_call call = {.method_id = hub_signature_hash("descend(i64) -> i64"),
                                    .container = 1,
                                    .chain = request->metadata.chain,
                                    .types = one_number,
                                    .arguments = WHOLE_ARGUMENTS(&number)};
    int r;

    assert_true(is_for(request, "descend(i64) -> i64"));
    if (descent->chain == 0)
        descent->chain = request->metadata.chain;
    assert_true(request->metadata.chain == descent->chain);
    r = whole_ask(whole, &call, &depth);
    if (depth > descent->deepest)
        descent->deepest = depth;
    if (descent->strange)
        descent->early = descent->early || whole_is_over(whole, &descent->stranger);
    hub_postcard_put_signed(result, depth);
    return r;
}

static void calls_that_answer_calls_are_served_inside_of_them(void **state)
{
    struct descent descent = {.strange = false};
    struct whole whole;
    int64_t depth = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = descend;
    whole.user = &descent;
    assert_int_equal(ask(&whole, "descend", 10, &depth), 0);
    assert_int_equal(depth, 11);
    assert_int_equal(descent.deepest, 10);
    whole_close(&whole);
}

static int descend_beside_a_stranger(struct whole *whole, const struct hub_request *request,
                                     struct hub_writer *result)
{
    static const int64_t one = 1;
    const struct whole_call call = {.method_id = hub_signature_hash("bump(i64) -> i64"),
                                    .container = 1,
                                    .types = one_number,
                                    .arguments = WHOLE_ARGUMENTS(&one)};
    struct descent *descent = whole->user;

    if (!descent->strange) {
        whole_begin(whole, &call, &descent->stranger);
        descent->strange = true;
    }
    return descend(whole, request, result);
}

/* The container's callbacks and methods never overlap but for the chain that is being answered. */
static void a_call_of_another_chain_waits_until_this_one_is_answered(void **state)
{
    struct descent descent = {.strange = false};
    struct whole whole;
    int64_t depth = 0, total = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = descend_beside_a_stranger;
    whole.user = &descent;
    assert_int_equal(ask(&whole, "descend", 5, &depth), 0);
    assert_int_equal(depth, 6);
    assert_true(descent.strange);
    assert_false(descent.early);
    assert_int_equal(whole_finish(&whole, &descent.stranger, &total), 0);
    assert_int_equal(total, 1);
    whole_close(&whole);
}

/* ---- what the host asks meanwhile ---- */

struct meanwhile {
    struct whole_operation own; /* a save of the container that waits */
    bool early;
    uint64_t size; /* of the other one's state */
};

/* Another container begins, is plugged, saved and read, and gets a state. */
static void copy_another(struct whole *whole, struct meanwhile *meanwhile)
{
    static const uint64_t two = 2, start = 0;
    static const bool yes = true, no = false;
    struct rapahub_bytes piece = {NULL, 0};
    struct hub_saved saved = {0};

    assert_int_equal(whole_begin_container(whole, 2), 0);
    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_PLUG, WHOLE_ARGUMENTS(&two, &yes), NULL), 0);
    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_SAVE, WHOLE_ARGUMENTS(&two), &saved), 0);
    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_READ, WHOLE_ARGUMENTS(&two, &start), &piece),
                     0);
    assert_true(piece.size > 0);
    assert_int_equal(whole_tell(whole, HUB_LIFECYCLE_PLUG, WHOLE_ARGUMENTS(&two, &no), NULL), 0);
    meanwhile->size = saved.size;
}

static int copy_while_it_waits(struct whole *whole, const struct hub_request *request,
                               struct hub_writer *result)
{
    static const uint64_t one = 1;
    const struct whole_call save = {.method_id = hub_lifecycle_id(HUB_LIFECYCLE_SAVE),
                                    .types = hub_lifecycle_table[HUB_LIFECYCLE_SAVE].types,
                                    .arguments = WHOLE_ARGUMENTS(&one)};
    struct meanwhile *meanwhile = whole->user;

    whole_begin(whole, &save, &meanwhile->own);
    copy_another(whole, meanwhile);
    meanwhile->early = whole_is_over(whole, &meanwhile->own);
    hub_postcard_put_signed(result, 2 * number_of(request));
    return 0;
}

/* r[verify hub.steps.meanwhile] */
static void other_containers_begin_and_are_copied_while_a_method_waits(void **state)
{
    struct meanwhile meanwhile = {.early = false};
    struct hub_saved saved = {0};
    struct whole whole;
    int64_t result = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = copy_while_it_waits;
    whole.user = &meanwhile;
    assert_int_equal(ask(&whole, "ask", 21, &result), 0);
    assert_int_equal(result, 42);
    assert_false(meanwhile.early);
    assert_int_equal(whole_finish(&whole, &meanwhile.own, &saved), 0);
    assert_true(saved.size > 0 && saved.size == meanwhile.size);
    whole_close(&whole);
}

/* r[verify hub.limits] */
static void calls_may_wait_32_deep_and_no_deeper(void **state)
{
    struct descent descent = {.strange = false};
    struct whole whole;
    int64_t depth = 0;

    (void)state;
    whole_open(&whole);
    whole.on_call = descend;
    whole.user = &descent;
    assert_int_equal(ask(&whole, "descend", 32, &depth), 0);
    assert_int_equal(depth, 33);
    descent.chain = 0;
    assert_int_equal(ask(&whole, "descend", 33, &depth), RAPAHUB_EAPPLICATION);
    descent.chain = 0;
    assert_int_equal(ask(&whole, "descend", 3, &depth), 0);
    assert_int_equal(depth, 4);
    whole_close(&whole);
}

/* ---- the end of a host, in the middle of a call ---- */

/* r[verify shm.doorbell.death] */
static void a_call_out_ends_with_the_host(void **state)
{
    const int64_t number = 1;
    const struct whole_call call = {.method_id = hub_signature_hash("ask(i64) -> i64"),
                                    .container = 1,
                                    .types = one_number,
                                    .arguments = WHOLE_ARGUMENTS(&number)};
    struct whole_operation operation;
    struct whole whole;

    (void)state;
    whole_open(&whole);
    whole_begin(&whole, &call, &operation);
    while (hub_observe(&whole_host(&whole)->requests) == 0)
        (void)hub_link_sweep(whole_host(&whole)->connection.link, 1);
    close(whole_host(&whole)->doorbell);
    whole_host(&whole)->doorbell = -1;
    pthread_join(whole.thread, NULL);
    assert_int_equal(whole.status, RAPAHUB_GUEST_ORPHAN);
    hub_link_close(whole_host(&whole)->connection.link, RAPAHUB_EDIED, "");
    assert_int_equal(whole_finish(&whole, &operation, NULL), RAPAHUB_EDIED);
    whole_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chimod_calls_any_container_through_its_host),
        cmocka_unit_test(an_answer_that_came_at_once_is_taken_in_its_size),
        cmocka_unit_test(a_bare_name_without_types_is_refused),
        cmocka_unit_test(what_the_host_refuses_is_the_chimods_to_handle),
        cmocka_unit_test(an_error_of_the_other_method_goes_through_with_its_text),
        cmocka_unit_test(calls_that_answer_calls_are_served_inside_of_them),
        cmocka_unit_test(a_call_of_another_chain_waits_until_this_one_is_answered),
        cmocka_unit_test(other_containers_begin_and_are_copied_while_a_method_waits),
        cmocka_unit_test(calls_may_wait_32_deep_and_no_deeper),
        cmocka_unit_test(a_call_out_ends_with_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
