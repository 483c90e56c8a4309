/* SPDX-License-Identifier: Apache-2.0 */
/* The guest is asked one thing after another, and answers when a test says so. */
#include <sys/socket.h>

#include <rapahub/roles.h>
#include <rapahub/version.h>

#include "host/roles/regions.h"
#include "host/roles/role_options.h"
#include "hub/wire/postcard.h"
#include "tests/unit/host-lives/mortal.h"

static const struct hub_ready good = {
    .abi = RAPAHUB_CHIMOD_ABI, .name = {"kv", 2}, .version = {"1.2", 3}, .methods = 2};

/* The guest says READY, and the host serves that; the kind of its answer. */
static enum hub_response_kind say_ready_with(struct mortal *mortal, const void *bytes, size_t size)
{
    static const uint8_t nothing = 0;
    struct hub_connection *guest = &mortal->pair.guest.connection;
    struct hub_answer answer = {0};
    struct hub_response response = {.kind = HUB_RESPONSE_CANCELLED}; /* the host has left */
    struct hub_request *request;
    struct hub_reader reader;
    uint64_t number;

    assert_int_equal(hub_calls_begin(guest->calls,
                                     &(struct hub_call){
                                         .method_id = hub_lifecycle_id(HUB_LIFECYCLE_READY),
                                         .payload = {.head = {&nothing, 1}, .tail = {bytes, size}},
                                         .deadline_ns = hub_clock_after(SOON),
                                         .answer = &answer},
                                     &number),
                     0);
    assert_true(hub_link_sweep(mortal->life->connection.link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(mortal->life->connection.served, NULL, NULL);
    assert_non_null(request);
    host_startup_ready(HOST_CALL(mortal->host), mortal->life, request);
    assert_true(hub_link_sweep(guest->link, UINT32_MAX) >= 0);
    if (hub_calls_wait(guest->calls, number, false) == 0) {
        hub_reader_init(&reader, answer.data, answer.size);
        assert_int_equal(hub_response_decode(&reader, &response), 0);
    }
    hub_responses_fini(&answer);
    return response.kind;
}

static enum hub_response_kind say_ready(struct mortal *mortal, const struct hub_ready *ready)
{
    struct hub_writer writer;
    uint8_t bytes[256];

    hub_writer_init(&writer, bytes, sizeof bytes);
    hub_payload_put(&writer, &rapahub_type_hub_ready, ready);
    return say_ready_with(mortal, bytes, writer.size);
}

/* The next question of the host, which must be this one; its arguments are written to `out`. */
static struct hub_request *asked(struct mortal *mortal, enum hub_lifecycle_method method)
{
    struct hub_connection *guest = &mortal->pair.guest.connection;
    struct hub_request *request;

    assert_true(hub_link_sweep(guest->link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(guest->served, NULL, NULL);
    assert_non_null(request);
    assert_int_equal(hub_lifecycle_of_id(request->method_id), method);
    return request;
}

static bool asks_nothing(struct mortal *mortal)
{
    struct hub_connection *guest = &mortal->pair.guest.connection;

    assert_true(hub_link_sweep(guest->link, UINT32_MAX) >= 0);
    return !hub_inbound_calls_next(guest->served, NULL, NULL);
}

static void hear(struct mortal *mortal)
{
    assert_true(hub_link_sweep(mortal->life->connection.link, UINT32_MAX) >= 0);
    (void)hub_call_ends_deliver(mortal->life->connection.calls);
}

static void answer(struct mortal *mortal, struct hub_request *request, enum hub_response_kind kind,
                   const char *text)
{
    const struct hub_response response = {
        .kind = kind, .code = -7, .text = rapahub_string_of("not here")};
    struct rapahub_string string = rapahub_string_of(text ? text : "");
    struct hub_writer writer;
    uint8_t body[512];

    hub_writer_init(&writer, body, sizeof body);
    if (kind == HUB_RESPONSE_OK && text)
        hub_payload_put(&writer, &rapahub_type_string, &string);
    assert_int_equal(hub_inbound_calls_answer(mortal->pair.guest.connection.served, request,
                                              &response, (struct rapahub_bytes){body, writer.size}),
                     0);
    hear(mortal);
}

static struct mortal *open_starting(struct rapahub_supervision how)
{
    struct mortal *mortal = mortal_open(how);

    mortal->life->segment.peer_state = HUB_PEER_ATTACHED;
    host_guests_attached(mortal->life);
    return mortal;
}

static void list_methods(struct mortal *mortal)
{
    answer(mortal, asked(mortal, HUB_LIFECYCLE_METHODS), HUB_RESPONSE_OK, "a() -> void\n");
    answer(mortal, asked(mortal, HUB_LIFECYCLE_METHODS), HUB_RESPONSE_OK, "b(u32) -> u32\n");
}

static void a_guest_serves_after_its_methods_are_listed_and_its_containers_have_begun(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    container->state = HOST_CONTAINER_DOWN;
    container->is_new = true;
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_OK);
    assert_null(mortal->guest->methods);
    list_methods(mortal);
    assert_int_equal(mortal->guest->methods->count, 2);
    assert_int_equal(container->state, HOST_CONTAINER_STARTING);
    assert_int_equal(mortal->guest->state, HOST_GUEST_ATTACHED);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(container->state, HOST_CONTAINER_READY);
    assert_false(container->is_new);
    assert_string_equal(mortal->guest->module.version, "1.2");
    mortal_close(mortal);
}

static void a_container_that_was_plugged_is_plugged_before_it_serves(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    container->state = HOST_CONTAINER_DOWN;
    container->plugged = true;
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_OK);
    list_methods(mortal);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_ATTACHED);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_PLUG), HUB_RESPONSE_OK, NULL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(container->state, HOST_CONTAINER_PLUGGED);
    mortal_close(mortal);
}

/* r[verify cluster.managed] */
static void a_managed_container_is_not_begun_and_keeps_no_start_waiting(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct host_container *managed = stage_container(mortal->guest, 1);
    struct host_container *other = stage_container(mortal->guest, 2);

    (void)state;
    managed->state = other->state = HOST_CONTAINER_DOWN;
    managed->managed = true;
    other->token = 5;
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_OK);
    list_methods(mortal);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN_TOKEN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(managed->state, HOST_CONTAINER_DOWN);
    assert_int_equal(other->state, HOST_CONTAINER_READY);
    mortal_close(mortal);
}

/* r[verify cluster.managed] */
static void a_guest_that_is_made_with_a_managed_container_begins_it(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct host_container *managed = stage_container(mortal->guest, 1);

    (void)state;
    managed->state = HOST_CONTAINER_DOWN;
    managed->managed = managed->is_new = true;
    managed->token = 5;
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_OK);
    list_methods(mortal);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN_TOKEN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(managed->state, HOST_CONTAINER_READY);
    assert_false(managed->is_new);
    mortal_close(mortal);
}

static void assert_failed(struct mortal *mortal, int code, const char *text)
{
    assert_int_equal(mortal->guest->failure.verdict.code, code);
    assert_non_null(strstr(mortal->guest->failure.verdict.text, text));
    assert_non_null(strstr(mortal->life->exit.why, text));
    assert_int_equal(hub_observe(&mortal->life->goodbye.parted), 1);
    assert_true(asks_nothing(mortal));
}

static void a_module_of_another_abi_or_with_too_many_methods_is_refused(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct hub_ready ready = good;

    (void)state;
    ready.abi++;
    (void)say_ready(mortal, &ready);
    assert_failed(mortal, RAPAHUB_EABI, "was built for abi");
    mortal_close(mortal);
    mortal = open_starting(eager);
    ready = good;
    ready.methods = HOST_METHODS_MAX + 1;
    (void)say_ready(mortal, &ready);
    assert_failed(mortal, RAPAHUB_EABI, "methods; a chimod has at most");
    mortal_close(mortal);
}

static void a_guest_that_lists_fewer_methods_than_it_announced_is_not_asked_for_ever(void **state)
{
    struct mortal *mortal = open_starting(eager);

    (void)state;
    (void)say_ready(mortal, &good);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_METHODS), HUB_RESPONSE_OK, "a() -> void\n");
    answer(mortal, asked(mortal, HUB_LIFECYCLE_METHODS), HUB_RESPONSE_OK, "");
    assert_failed(mortal, RAPAHUB_EPROTOCOL, "announced 2 methods and listed 1");
    mortal_close(mortal);
}

static void ready_counts_once_and_only_if_it_can_be_read(void **state)
{
    struct mortal *mortal = open_starting(eager);

    (void)state;
    assert_int_equal(say_ready_with(mortal, "\1", 1), HUB_RESPONSE_INVALID_PAYLOAD);
    assert_true(asks_nothing(mortal));
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_OK);
    assert_int_equal(say_ready(mortal, &good), HUB_RESPONSE_INVALID_PAYLOAD);
    list_methods(mortal);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    mortal_close(mortal);
}

/* A container that is down, with a role in a region of the test. */
struct linked {
    struct host_regions regions;
    struct mortal *mortal;
    struct host_container *container;
};

static void open_linked(struct linked *linked)
{
    static const struct rapahub_host_region_options spsc = {
        .region = {.kind = RAPAHUB_REGION_SPSC}};
    static const struct rapahub_role roles[] = {
        {.name = "in", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER}, {.name = NULL}};
    static const struct rapahub_container_options options = {.roles = roles};
    struct host_region *region;

    host_regions_init(&linked->regions);
    assert_int_equal(host_regions_add(&linked->regions, "news", &spsc, &region), 0);
    linked->mortal = open_starting(eager);
    linked->mortal->guest->trust = RAPAHUB_TRUST_TRUSTED;
    linked->container = stage_container(linked->mortal->guest, 1);
    linked->container->state = HOST_CONTAINER_DOWN;
    assert_int_equal(host_role_options_take(&linked->regions, linked->mortal->guest, &options,
                                            &linked->container->roles),
                     0);
    linked->container->roles->of[0].container = linked->container;
}

static void close_linked(struct linked *linked)
{
    host_roles_release(&linked->container->roles);
    mortal_close(linked->mortal);
    host_regions_fini(&linked->regions);
}

/* r[verify supervise.role.grant] */
static void a_doorbell_that_is_full_is_tried_again(void **state)
{
    static const char bells[4096];
    struct linked linked = {.container = NULL};
    char heard[4096];
    int near, far;

    (void)state;
    open_linked(&linked);
    near = linked.mortal->life->doorbell.fd;
    far = linked.mortal->pair.guest.doorbell;
    (void)say_ready(linked.mortal, &good);
    while (send(near, bells, sizeof bells, MSG_DONTWAIT) > 0 ||
           send(near, bells, 1, MSG_DONTWAIT) > 0)
        continue;
    list_methods(linked.mortal);
    assert_true(asks_nothing(linked.mortal));
    assert_int_equal(hub_observe(&linked.mortal->life->goodbye.parted), 0);
    while (recv(far, heard, sizeof heard, MSG_DONTWAIT) > 0)
        continue;
    assert_true(host_loop_is_set(&linked.mortal->life->startup.again));
    host_loop_clear(&linked.mortal->life->startup.again);
    linked.mortal->life->startup.again.on(linked.mortal->life);
    answer(linked.mortal, asked(linked.mortal, HUB_LIFECYCLE_ROLE), HUB_RESPONSE_OK, NULL);
    answer(linked.mortal, asked(linked.mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(linked.container->state, HOST_CONTAINER_READY);
    close_linked(&linked);
}

/* r[verify supervise.role.ready] */
static void a_guest_that_cannot_open_its_roles_ends(void **state)
{
    struct linked linked = {.container = NULL};

    (void)state;
    open_linked(&linked);
    (void)say_ready(linked.mortal, &good);
    list_methods(linked.mortal);
    answer(linked.mortal, asked(linked.mortal, HUB_LIFECYCLE_ROLE), HUB_RESPONSE_OK, NULL);
    answer(linked.mortal, asked(linked.mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_OK, NULL);
    assert_int_equal(linked.container->state, HOST_CONTAINER_READY);
    answer(linked.mortal, asked(linked.mortal, HUB_LIFECYCLE_ROLES), HUB_RESPONSE_USER, NULL);
    assert_int_equal(hub_observe(&linked.mortal->life->exit.cause), HOST_CAUSE_LINK);
    assert_non_null(strstr(linked.mortal->life->exit.why, "not here"));
    close_linked(&linked);
}

static void a_container_that_cannot_begin_ends_the_start(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    container->state = HOST_CONTAINER_DOWN;
    container->is_new = true;
    (void)say_ready(mortal, &good);
    list_methods(mortal);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_USER, NULL);
    assert_failed(mortal, RAPAHUB_EAPPLICATION, "not here");
    assert_true(container->is_new); /* its next life begins it for the first time */
    assert_int_equal(mortal->guest->state, HOST_GUEST_ATTACHED);
    mortal_close(mortal);
}

/* r[verify sec.name.own] */
static void a_guest_without_a_name_bears_that_of_its_first_module(void **state)
{
    struct mortal *mortal = open_starting(eager);

    (void)state;
    mortal->guest->named = HOST_GUEST_UNNAMED;
    (void)say_ready(mortal, &good);
    assert_string_equal(mortal->guest->name, "kv");
    assert_string_equal(mortal->life->name, "kv");
    assert_int_equal(mortal->guest->named, HOST_GUEST_NAMED_BY_ITSELF);
    mortal_close(mortal);
    mortal = open_starting(eager);
    (void)say_ready(mortal, &good);
    assert_string_equal(mortal->guest->name, "calc"); /* its caller has named it */
    assert_string_equal(mortal->guest->module.name, "kv");
    mortal_close(mortal);
}

/* r[verify supervise.ready.attach] */
static void a_guest_that_is_ready_by_attaching_need_not_know_containers(void **state)
{
    struct mortal *mortal =
        mortal_open((struct rapahub_supervision){.restarts_max = 5, .ready = RAPAHUB_READY_ATTACH});
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    container->state = HOST_CONTAINER_DOWN;
    mortal->life->segment.peer_state = HUB_PEER_ATTACHED;
    host_guests_attached(mortal->life);
    assert_int_equal(mortal->guest->state, HOST_GUEST_READY);
    assert_int_equal(container->state, HOST_CONTAINER_STARTING);
    answer(mortal, asked(mortal, HUB_LIFECYCLE_BEGIN), HUB_RESPONSE_UNKNOWN_METHOD, NULL);
    assert_int_equal(container->state, HOST_CONTAINER_READY);
    assert_int_equal(mortal->guest->failure.verdict.code, 0);
    mortal_close(mortal);
}

static void an_answer_of_a_life_that_has_ended_begins_nothing(void **state)
{
    struct mortal *mortal = open_starting(eager);
    struct hub_request *request;

    (void)state;
    (void)say_ready(mortal, &good);
    request = asked(mortal, HUB_LIFECYCLE_METHODS);
    mortal->guest->life = NULL;
    answer(mortal, request, HUB_RESPONSE_OK, "a() -> void\n");
    assert_true(asks_nothing(mortal));
    assert_int_equal(mortal->guest->failure.verdict.code, 0);
    mortal->guest->life = mortal->life;
    mortal_close(mortal);
}

static void explain(struct mortal *mortal, enum rapahub_exit_class class, const char *reason)
{
    const struct host_end end = {.class = class, .cause = "signal SIGSEGV", .rule = ""};

    mortal->guest->failure.verdict.code = 0;
    snprintf(mortal->life->goodbye.reason, sizeof mortal->life->goodbye.reason, "%s", reason);
    host_startup_explain(mortal->life, &end);
}

static void a_failed_start_is_explained_by_the_guest_or_by_how_far_it_came(void **state)
{
    struct mortal *mortal = mortal_open(eager);
    const struct host_verdict *verdict = &mortal->guest->failure.verdict;

    (void)state;
    explain(mortal, RAPAHUB_EXIT_CODE, "start: RAPAHUB_ELOAD no such symbol");
    assert_int_equal(verdict->code, RAPAHUB_ELOAD);
    assert_string_equal(verdict->text, "no such symbol");
    explain(mortal, RAPAHUB_EXIT_CODE, "start: -2 no such file");
    assert_int_equal(verdict->code, -2);
    explain(mortal, RAPAHUB_EXIT_CODE, "start: 5 a success"); /* it says so itself */
    assert_int_equal(verdict->code, RAPAHUB_ESTART);
    explain(mortal, RAPAHUB_EXIT_START_TIMEOUT, "");
    assert_int_equal(verdict->code, RAPAHUB_ESTART);
    assert_non_null(strstr(verdict->text, "it never attached"));
    mortal->life->segment.peer_state = HUB_PEER_ATTACHED;
    explain(mortal, RAPAHUB_EXIT_START_TIMEOUT, "");
    assert_non_null(strstr(verdict->text, "still in a constructor"));
    explain(mortal, RAPAHUB_EXIT_SIGNAL, "");
    assert_string_equal(verdict->text, "calc did not start: signal SIGSEGV");
    mortal_close(mortal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_serves_after_its_methods_are_listed_and_its_containers_have_begun),
        cmocka_unit_test(a_container_that_was_plugged_is_plugged_before_it_serves),
        cmocka_unit_test(a_module_of_another_abi_or_with_too_many_methods_is_refused),
        cmocka_unit_test(a_guest_that_lists_fewer_methods_than_it_announced_is_not_asked_for_ever),
        cmocka_unit_test(ready_counts_once_and_only_if_it_can_be_read),
        cmocka_unit_test(a_managed_container_is_not_begun_and_keeps_no_start_waiting),
        cmocka_unit_test(a_guest_that_is_made_with_a_managed_container_begins_it),
        cmocka_unit_test(a_doorbell_that_is_full_is_tried_again),
        cmocka_unit_test(a_guest_that_cannot_open_its_roles_ends),
        cmocka_unit_test(a_container_that_cannot_begin_ends_the_start),
        cmocka_unit_test(a_guest_without_a_name_bears_that_of_its_first_module),
        cmocka_unit_test(a_guest_that_is_ready_by_attaching_need_not_know_containers),
        cmocka_unit_test(an_answer_of_a_life_that_has_ended_begins_nothing),
        cmocka_unit_test(a_failed_start_is_explained_by_the_guest_or_by_how_far_it_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
