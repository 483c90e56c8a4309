/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of clients for which a test by sockets would take too many of them. */
#include <rapahub/error.h>

#include "cluster/node/client_users.h"
#include "cluster/node/origins.h"
#include "tests/support/testing.h"

static const struct cluster_client_user_id *who(uid_t uid)
{
    static struct cluster_client_user_id id;

    id.uid = uid;
    return &id;
}

static void refused(int r)
{
    assert_int_equal(r, RAPAHUB_EBUSY);
    assert_string_equal(rapahub_last_error()->rule, "cluster.client.bounds");
}

/* r[verify cluster.client.bounds] */
static void who_is_no_admin_shares_half_of_the_connections(void **state)
{
    struct cluster_client_user *user[128], *admin;
    struct cluster_client_users users;

    (void)state;
    cluster_client_users_init(&users);
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(cluster_client_users_connect(&users, who(1001 + i / 64), false, &user[i]),
                         0);
    refused(cluster_client_users_connect(&users, who(1003), false, &admin));
    assert_int_equal(cluster_client_users_connect(&users, who(0), true, &admin), 0);
    cluster_client_users_disconnect(&users, admin, true);
    cluster_client_users_disconnect(&users, user[0], false);
    assert_int_equal(cluster_client_users_connect(&users, who(1003), false, &user[0]), 0);
    for (unsigned i = 0; i < 128; i++)
        cluster_client_users_disconnect(&users, user[i], false);
    assert_true(hub_list_empty(&users.all));
}

/* r[verify cluster.call.origin] */
static void a_name_in_a_certificate_is_a_user_of_its_own(void **state)
{
    const struct cluster_client_user_id ana = {(uid_t)-1, "operator/ana"},
                                        viewer = {(uid_t)-1, "viewer/ana"}, here = {.uid = 1000};
    struct cluster_client_user *one, *other, *third;
    struct cluster_client_users users;
    char text[CLUSTER_CLIENT_USER_TEXT];

    (void)state;
    cluster_client_users_init(&users);
    assert_int_equal(cluster_client_users_connect(&users, &ana, false, &one), 0);
    assert_int_equal(cluster_client_users_connect(&users, &ana, false, &other), 0);
    assert_ptr_equal(one, other);
    assert_int_equal(cluster_client_users_connect(&users, &viewer, false, &third), 0);
    assert_ptr_not_equal(one, third);
    assert_true(cluster_client_users_is_remote(&ana));
    assert_false(cluster_client_users_is_remote(&here));
    assert_true(cluster_client_users_number(&ana) != cluster_client_users_number(&viewer));
    assert_true(cluster_client_users_number(&ana) > UINT32_MAX);
    assert_int_equal(cluster_client_users_number(&here), 1001);
    assert_string_equal(cluster_client_users_print(&ana, text), "operator/ana");
    assert_string_equal(cluster_client_users_print(&here, text), "user 1000");
    cluster_client_users_disconnect(&users, one, false);
    cluster_client_users_disconnect(&users, other, false);
    cluster_client_users_disconnect(&users, third, false);
    assert_true(hub_list_empty(&users.all));
}

/* r[verify cluster.client.bounds] */
static void a_node_has_a_bound_of_origins(void **state)
{
    static struct cluster_client_user *user[4096];
    struct cluster_client_user *more;
    struct cluster_client_users users;

    (void)state;
    cluster_client_users_init(&users);
    for (unsigned i = 0; i < 4096; i++)
        assert_int_equal(cluster_client_users_add_origin(&users, who(1001 + i / 1024), &user[i]),
                         0);
    refused(cluster_client_users_add_origin(&users, who(1005), &more));
    for (unsigned i = 0; i < 4096; i++)
        cluster_client_users_remove_origin(&users, user[i]);
    assert_true(hub_list_empty(&users.all));
}

static enum rapahub_control_role role; /* of who makes the next calls */

static int add(struct cluster_origins *origins, struct cluster_origin *origin, uint64_t number,
               struct cluster_origin_call **out)
{
    static const struct cluster_body_call body = {.method_id = 9};
    const struct cluster_frame frame = {.uid = {origin->number, number}};
    const struct cluster_clients_call call = {.frame = &frame, .body = &body, .role = role};

    return cluster_origins_add(origins, origin, &call, out);
}

/* Makes all the calls that a user may make, with a few origins. */
static unsigned make_all(struct cluster_origins *origins, uid_t user)
{
    struct cluster_origin *origin;
    struct cluster_origin_call *call;
    unsigned made = 0;

    for (uint64_t i = 1; i <= 16; i++) {
        assert_int_equal(cluster_origins_open(origins, user * 100 + i, who(user), &origin), 0);
        for (uint64_t number = 1; number <= 4096; number++)
            made += add(origins, origin, number, &call) == 0;
    }
    return made;
}

/* r[verify cluster.client.bounds] */
static void nobody_takes_all_calls_from_others(void **state)
{
    struct cluster_client_users users;
    struct cluster_origins *origins;
    struct cluster_origin *origin;
    struct cluster_origin_call *call;

    (void)state;
    role = RAPAHUB_CONTROL_VIEWER;
    cluster_client_users_init(&users);
    assert_int_equal(cluster_origins_create(&users, &origins), 0);
    assert_int_equal(make_all(origins, 1001), 16384);
    assert_int_equal(cluster_origins_open(origins, 1, who(1005), &origin), 0);
    assert_int_equal(add(origins, origin, 1, &call), 0); /* another user's */
    cluster_origins_forget(origins, call);
    assert_int_equal(make_all(origins, 1002), 16384);
    assert_int_equal(make_all(origins, 1003), 16384);
    refused(add(origins, origin, 2, &call));
    role = RAPAHUB_CONTROL_ADMIN;
    assert_int_equal(add(origins, origin, 3, &call), 0);
    assert_int_equal(cluster_origins_count(origins).calls, 49153);
    cluster_origins_release(&origins);
}

/* r[verify cluster.client.bounds] */
static void the_memory_of_calls_is_their_users(void **state)
{
    static const struct cluster_body_member members[4096];
    static const struct cluster_body_call body = {.method_id = 9};
    struct cluster_client_users users;
    struct cluster_origins *origins;
    struct cluster_origin *origin;
    struct cluster_origin_call *call;
    unsigned made = 0;
    int r = 0;

    (void)state;
    cluster_client_users_init(&users);
    assert_int_equal(cluster_origins_create(&users, &origins), 0);
    for (uint64_t i = 1; i <= 4 && r == 0; i++) {
        assert_int_equal(cluster_origins_open(origins, i, who(1001), &origin), 0);
        for (uint64_t number = 1; number <= 4096 && r == 0; number++, made += r == 0) {
            const struct cluster_frame frame = {.uid = {i, number}};
            const struct cluster_clients_call large = {
                .frame = &frame, .body = &body, .members = members, .members_count = 4096};

            r = cluster_origins_add(origins, origin, &large, &call);
        }
    }
    assert_int_equal(r, RAPAHUB_ENOMEM);
    assert_true(made * sizeof members <= UINT64_C(256) << 20);
    assert_true((made + 2) * sizeof members > UINT64_C(255) << 20);
    assert_int_equal(cluster_origins_open(origins, 9, who(1002), &origin), 0);
    assert_int_equal(add(origins, origin, 1, &call), 0);
    cluster_origins_release(&origins);
}

/* r[verify cluster.client.bounds] */
static void a_node_has_a_bound_of_calls(void **state)
{
    struct cluster_client_users users;
    struct cluster_origins *origins;
    struct cluster_origin *origin;
    struct cluster_origin_call *call;

    (void)state;
    role = RAPAHUB_CONTROL_ADMIN;
    cluster_client_users_init(&users);
    assert_int_equal(cluster_origins_create(&users, &origins), 0);
    for (uint64_t i = 1; i <= 16; i++) {
        assert_int_equal(cluster_origins_open(origins, i, who(1001), &origin), 0);
        for (uint64_t number = 1; number <= 4096; number++)
            assert_int_equal(add(origins, origin, number, &call), 0);
    }
    assert_int_equal(cluster_origins_count(origins).calls, 65536);
    assert_int_equal(cluster_origins_open(origins, 17, who(1001), &origin), 0);
    refused(add(origins, origin, 1, &call));
    cluster_origins_release(&origins);
}

/* r[verify cluster.client.bounds] */
static void the_ends_of_a_user_share_one_budget(void **state)
{
    static const struct cluster_clients_answer end = {.payload = {"an end", 6}};
    const uint64_t all = UINT64_C(256) << 20;
    struct cluster_client_users users;
    struct cluster_origins *origins;
    struct cluster_origin *one, *other;
    struct cluster_origin_call *call, *more;
    uint64_t rest;

    (void)state;
    cluster_client_users_init(&users);
    assert_int_equal(cluster_origins_create(&users, &origins), 0);
    assert_int_equal(cluster_origins_open(origins, 1, who(1001), &one), 0);
    assert_int_equal(cluster_origins_open(origins, 2, who(1001), &other), 0);
    assert_ptr_equal(one->user, other->user);
    assert_int_equal(add(origins, other, 1, &call), 0);
    rest = all - hub_load_relaxed64(&one->user->budget->used);
    assert_true(hub_budget_take(one->user->budget, rest)); /* bodies that have come in parts */
    assert_int_equal(add(origins, one, 1, &more), RAPAHUB_ENOMEM);
    assert_false(cluster_origins_keep(call, CLUSTER_FRAME_RESULT, &end));
    assert_true(call->lost);
    hub_budget_give(one->user->budget, rest);
    assert_true(cluster_origins_keep(call, CLUSTER_FRAME_RESULT, &end));
    assert_false(hub_budget_take(one->user->budget, all));
    cluster_origins_release(&origins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_no_admin_shares_half_of_the_connections),
        cmocka_unit_test(a_name_in_a_certificate_is_a_user_of_its_own),
        cmocka_unit_test(a_node_has_a_bound_of_origins),
        cmocka_unit_test(a_node_has_a_bound_of_calls),
        cmocka_unit_test(nobody_takes_all_calls_from_others),
        cmocka_unit_test(the_memory_of_calls_is_their_users),
        cmocka_unit_test(the_ends_of_a_user_share_one_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
