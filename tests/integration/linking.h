/* SPDX-License-Identifier: Apache-2.0 */
/* linking: guests with roles, for the tests that kill them. */
#ifndef TESTS_INTEGRATION_LINKING_H
#define TESTS_INTEGRATION_LINKING_H

#include "tests/integration/hosting.h"

#define LINKS MODULE("links")

UNUSED static struct rapahub_container_id container_of(uint32_t number)
{
    return (struct rapahub_container_id){.pool = {number, 0}};
}

UNUSED static struct rapahub_region *make_region(struct hosting *on, const char *name,
                                                 struct rapahub_host_region_options options)
{
    struct rapahub_region *region = NULL;

    assert_done(rapahub_host_region(on->host, name, &options, &region));
    return region;
}

/* Starts a guest whose container `number` has these roles, and which starts again at once, as often
 * as it dies. */
UNUSED static int start_with(struct hosting *on, uint32_t number, const char *name,
                             const struct rapahub_role *roles, struct rapahub_guest_id *out)
{
    const struct rapahub_container_options container = {
        .id = container_of(number), .pool_name = "test", .roles = roles};
    const struct rapahub_supervision again = {.restarts_max = 1000000,
                                              .period_ns = RAPAHUB_FOREVER,
                                              .backoff_initial_ns = 1000000,
                                              .backoff_max_ns = 1000000};
    const struct rapahub_guest_options guest = {.chimod = LINKS,
                                                .name = name,
                                                .trust = RAPAHUB_TRUST_TRUSTED,
                                                .supervision = &again,
                                                .container = &container};

    return rapahub_host_spawn(on->host, &guest, out);
}

UNUSED static int ask_of(struct hosting *on, uint32_t number, const char *signature,
                         const void *const *arguments, void *result)
{
    const struct rapahub_call call = {
        .target = container_of(number), .method = signature, .arguments = arguments};

    return rapahub_host_call(on->host, &call, result);
}

UNUSED static int push_to(struct hosting *on, uint32_t number, uint64_t value)
{
    return ask_of(on, number, "push(u64)", (const void *const[]){&value, NULL}, NULL);
}

UNUSED static int64_t number_of(struct hosting *on, uint32_t number, const char *signature)
{
    int64_t value = 0;

    assert_done(ask_of(on, number, signature, NULL, &value));
    return value;
}

/* Another life of the guest of this container, which has come to READY. */
UNUSED static void end_life_of(struct hosting *on, uint32_t number)
{
    unsigned ready = on->told.ready;

    assert_int_equal(ask_of(on, number, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(on, &on->told.ready, ready + 1));
}

/* The roles in a region, as one text: "reader in 0 active; ". */
struct listed {
    char text[1024];
    size_t size;
};

UNUSED static void list_one(void *user, const struct rapahub_subscription *subscription)
{
    struct listed *listed = user;

    listed->size +=
        (size_t)snprintf(listed->text + listed->size, sizeof listed->text - listed->size,
                         "%s %s %u %s; ", subscription->guest_name, subscription->role,
                         subscription->index, subscription->active ? "active" : "suspended");
}

UNUSED static void assert_listed(struct hosting *on, const char *region, const char *wanted)
{
    struct listed listed = {.size = 0};

    assert_done(rapahub_host_subscriptions(on->host, region, list_one, &listed));
    assert_string_equal(listed.text, wanted);
}

#endif
