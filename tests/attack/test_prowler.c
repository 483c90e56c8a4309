/* SPDX-License-Identifier: Apache-2.0 */
/* A guest with a role in one region reaches no other one: not by descriptors or names of its own,
 * nor by what the host hands to others. */
#include <string.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/testing.h"

#define LINKS   TEST_MODULES "/links.so"
#define PROWLER TEST_PREFIX "/tests/attack/prowler.so"

static void done(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

static void spawn(struct rapahub_host *host, const char *chimod, uint32_t number,
                  const struct rapahub_role *roles)
{
    const struct rapahub_container_options container = {
        .id = {.pool = {number, 0}}, .pool_name = "test", .roles = roles};
    const struct rapahub_guest_options options = {
        .chimod = chimod, .trust = RAPAHUB_TRUST_TRUSTED, .container = &container};
    struct rapahub_guest_id guest;

    done(rapahub_host_spawn(host, &options, &guest));
}

static int call(struct rapahub_host *host, uint32_t number, const char *method,
                const void *argument, void *result)
{
    const void *const arguments[] = {argument, NULL};
    const struct rapahub_call call = {
        .target = {.pool = {number, 0}}, .method = method, .arguments = arguments};

    return rapahub_host_call(host, &call, result);
}

/* r[verify supervise.role.holder] r[verify supervise.role.grant] */
static void a_region_without_a_role_is_not_reached(void **state)
{
    static const struct rapahub_role own[] = {
        {.name = "out", .region = "open", .kind = RAPAHUB_REGION_ROLE_PRODUCER}, {.name = NULL}};
    static const struct rapahub_role others[] = {
        {.name = "out", .region = "secret", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
        {.name = "in", .region = "secret", .kind = RAPAHUB_REGION_ROLE_CONSUMER},
        {.name = NULL}};
    const struct rapahub_host_region_options queue = {.region = {.kind = RAPAHUB_REGION_MPSC}};
    struct leak *leak = leak_begin();
    struct rapahub_host *host;
    uint32_t reached = 0;
    int64_t got = 0;

    (void)state;
    done(rapahub_host_create(NULL, &host));
    done(rapahub_host_region(host, "open", &queue, NULL));
    done(rapahub_host_region(host, "secret", &queue, NULL));
    spawn(host, PROWLER, 1, own);
    for (uint64_t i = 0; i < 10; i++) {
        spawn(host, LINKS, 2 + (uint32_t)i, i == 0 ? others : NULL);
        done(call(host, 1, "prowl() -> u32", NULL, &reached));
        assert_int_equal(reached, 1); /* its own */
        done(call(host, 2, "push(u64)", &i, NULL));
        done(call(host, 2, "pop() -> i64", NULL, &got));
        assert_int_equal(got, i);
    }
    rapahub_host_destroy(host);
    leak_assert_none(leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_without_a_role_is_not_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
