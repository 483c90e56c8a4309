/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a guest in whose ring requests are, one after the other. */
#include "guest-sdk/attach.h"
#include "guest-sdk/current.h"
#include "guest-sdk/lifecycle.h"
#include "guest-sdk/serve_run.h"
#include "hub/link/link_state.h"
#include "tests/unit/guest-sdk/hosted.h"

#define MANY 40

static unsigned count, turn_at;

/* The first one says that a role has messages; the loop takes that note when these have their turn.
 * The last one ends the loop. */
static int next(void *self)
{
    struct guest *guest = guest_current();

    (void)self;
    if (++count == 1)
        hub_publish(&guest->roles.due, 1);
    else if (turn_at == 0 && hub_observe(&guest->roles.due) == 0)
        turn_at = count;
    if (count == MANY)
        rapahub_guest_leave("");
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(next, next, void, void),
    RAPAHUB_METHOD_END,
};
static const struct rapahub_chimod chimod = {.abi = RAPAHUB_CHIMOD_ABI,
                                             .name = "busy",
                                             .state_size = 1,
                                             .state_version = 1,
                                             .methods = methods};

/* A guest that is attached and loaded, with a container, and that the test's own thread serves. */
static void open_guest(struct hosted *hosted, struct guest *guest)
{
    const struct guest_containers_order order = {.begin = {.handle = 1}};
    const struct hub_limits limits = hosted_limits();

    hosted_reserve(hosted, &limits);
    guest_roles_init(&guest->roles);
    assert_int_equal(guest_attach_open(guest, hosted->count, hosted->arguments), 0);
    hosted->pair.guest.doorbell = -1;
    assert_int_equal(guest_containers_init(&guest->containers), 0);
    assert_int_equal(guest_load_own(&guest->module, &chimod), 0);
    assert_int_equal(
        guest_containers_begin(&guest->containers, &chimod, &guest->module.ops, &order), 0);
    guest->scratch = test_calloc(1, limits.payload_max);
    guest->raw.method = &guest->raw;
    guest->loaded = true;
    guest_current_set(guest);
}

static void close_guest(struct hosted *hosted, struct guest *guest)
{
    guest_current_set(NULL);
    guest_containers_fini(&guest->containers, &guest->module.ops);
    guest_load_close(&guest->module);
    guest_attach_close(guest);
    guest_roles_fini(&guest->roles);
    test_free(guest->scratch);
    hosted_release(hosted);
}

/* r[verify supervise.role.deliver] */
static void messages_have_their_turn_while_requests_are_there(void **state)
{
    struct hub_answer answers[MANY] = {{0}};
    struct hosted_call call = {.arguments = (const void *const[]){NULL}};
    struct hub_signature *signature = NULL;
    struct guest guest = {.file = -1};
    struct hosted hosted;
    struct hub_wait *wait;
    uint64_t number;

    (void)state;
    open_guest(&hosted, &guest);
    assert_int_equal(hub_signature_parse("next() -> void", &signature), 0);
    call.method_id = signature->id;
    call.types = signature->types;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(hosted_begin(&hosted, &call, &answers[i], &number), 0);
    /* else requests are served directly only where both sides have CPUs of their own */
    wait = &guest.attach.connection.link->wait;
    hub_store_relaxed64(&wait->near, hub_load_relaxed(wait->peer));
    (void)guest_serve_run(&guest);
    assert_int_equal(count, MANY);
    assert_in_range(turn_at, 2, 17);
    hub_signature_release(&signature);
    close_guest(&hosted, &guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_have_their_turn_while_requests_are_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
