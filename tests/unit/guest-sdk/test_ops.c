/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "guest-sdk/ops.h"
#include "tests/support/testing.h"

static int note_init(void *self, const struct rapahub_container_info *info)
{
    (void)info;
    ++*(int *)self;
    return 0;
}

static void end(void *self)
{
    (void)self;
}

static const struct rapahub_container_ops own = {.init = note_init, .fini = end};

static struct rapahub_container_ops filled(const struct rapahub_chimod *chimod)
{
    struct rapahub_container_ops ops;

    guest_ops_fill(&ops, chimod);
    return ops;
}

static void a_chimod_without_callbacks_gets_all_defaults(void **state)
{
    const struct rapahub_chimod chimod = {.ops_size = sizeof own};
    const struct rapahub_container_ops ops = filled(&chimod);
    const struct rapahub_route asked = {.containers = 1};
    struct rapahub_query query = {.number = 0};
    struct rapahub_sink *sink = NULL;
    struct rapahub_source *source = NULL;

    (void)state;
    assert_int_equal(ops.init(NULL, NULL), 0);
    assert_int_equal(ops.restart(NULL, NULL), 0);
    assert_int_equal(ops.recover(NULL, NULL), 0);
    assert_int_equal(rapahub_sink_of_memory(1, &sink), 0);
    assert_int_equal(ops.save(NULL, sink), 0);
    assert_int_equal(rapahub_source_of_memory(NULL, 0, &source), 0);
    assert_int_equal(ops.load(NULL, source, 1), 0);
    ops.plugged(NULL, true);
    assert_null(ops.work_remaining);
    assert_int_equal(ops.migrate(NULL, (struct rapahub_node_id){1}), 0);
    assert_int_equal(ops.expand(NULL, (struct rapahub_node_id){1}), 0);
    assert_int_equal(ops.schedule_recover(NULL, (struct rapahub_container_id){{1, 0}, 0}).number,
                     RAPAHUB_NODE_ANY.number);
    assert_int_equal(ops.health(NULL), RAPAHUB_HEALTH_READY);
    assert_int_equal(ops.route(NULL, &asked, &query), 0);
    assert_int_equal(query.mode, RAPAHUB_QUERY_LOCAL);
    ops.fini(NULL);
    rapahub_sink_destroy(sink);
    rapahub_source_destroy(source);
}

static void restart_and_recover_are_init_where_they_are_not_given(void **state)
{
    const struct rapahub_chimod chimod = {.ops_size = sizeof own, .ops = &own};
    const struct rapahub_container_ops ops = filled(&chimod);
    int count = 0;

    (void)state;
    assert_int_equal(ops.restart(&count, NULL), 0);
    assert_int_equal(ops.recover(&count, NULL), 0);
    assert_int_equal(count, 2);
    assert_ptr_equal(ops.init, note_init);
    assert_ptr_equal(ops.fini, end);
}

static void a_state_that_cannot_be_saved_is_not_lost_in_silence(void **state)
{
    const struct rapahub_chimod chimod = {.ops_size = sizeof own, .state_size = 8};
    const struct rapahub_container_ops ops = filled(&chimod);
    struct rapahub_source *source = NULL;

    (void)state;
    assert_int_equal(ops.save(NULL, NULL), RAPAHUB_ESTATE);
    assert_non_null(strstr(rapahub_last_error()->text, "no save callback"));
    assert_int_equal(rapahub_source_of_memory("x", 1, &source), 0);
    assert_int_equal(ops.load(NULL, source, 3), RAPAHUB_ESTATE);
    assert_non_null(strstr(rapahub_last_error()->text, "version 3"));
    rapahub_source_destroy(source);
}

/* Memory after the callbacks that an older SDK knew is other memory. */
static void what_lies_behind_ops_size_is_not_looked_at(void **state)
{
    struct rapahub_container_ops all = own;
    struct rapahub_chimod chimod = {.ops_size = offsetof(struct rapahub_container_ops, recover),
                                    .ops = &all};
    struct rapahub_container_ops ops;

    (void)state;
    all.recover = (int (*)(void *, const struct rapahub_container_info *))(uintptr_t)0x10;
    ops = filled(&chimod);
    assert_ptr_equal(ops.init, note_init);
    assert_ptr_equal(ops.recover, note_init);
    assert_ptr_not_equal(ops.fini, end);
    assert_int_equal(guest_ops_mask(&chimod), 1);
}

static int save_some(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return 7;
}

static int load_some(void *self, struct rapahub_source *from, uint32_t version)
{
    (void)self;
    (void)from;
    (void)version;
    return 8;
}

static int save_other(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return 9;
}

/* A module that was compiled before there were changes has its whole state for them.
 * r[verify hub.changes.order] */
static void a_module_of_before_saves_everything_as_changes(void **state)
{
    const struct rapahub_container_ops all = {
        .save = save_some, .load = load_some, .save_changes = save_other};
    const struct rapahub_chimod before = {.name = "old",
                                          .ops_size =
                                              offsetof(struct rapahub_container_ops, save_changes),
                                          .ops = &all};
    const struct rapahub_container_ops ops = filled(&before);

    (void)state;
    assert_ptr_equal(ops.save_changes, save_some);
    assert_ptr_equal(ops.load_changes, load_some);
    assert_int_equal(guest_ops_check(&before), 0);
    assert_int_equal(guest_ops_mask(&before) >> 13, 0);
    assert_int_equal(before.ops_size, 13 * sizeof(void *)); /* as it was compiled then */
}

/* r[verify supervise.role.upgrade] */
static void a_module_of_before_keeps_its_roles(void **state)
{
    const struct rapahub_chimod before = {.name = "old",
                                          .ops_size =
                                              offsetof(struct rapahub_container_ops, roles)},
                                now = {.name = "new",
                                       .ops_size = sizeof(struct rapahub_container_ops)};

    (void)state;
    assert_int_equal(guest_ops_lets_go(&before), RAPAHUB_ENOTSUP);
    assert_int_equal(guest_ops_lets_go(&now), 0);
}

static int route_away(void *self, const struct rapahub_route *asked, struct rapahub_query *out)
{
    (void)self;
    (void)asked;
    (void)out;
    return 10;
}

/* r[verify cluster.dynamic.default] */
static void a_module_of_before_routes_nothing(void **state)
{
    const struct rapahub_container_ops all = {.route = route_away};
    const struct rapahub_chimod before = {.name = "old",
                                          .ops_size = offsetof(struct rapahub_container_ops, route),
                                          .ops = &all},
                                now = {.name = "new", .ops_size = sizeof all, .ops = &all};

    (void)state;
    assert_ptr_not_equal(filled(&before).route, route_away);
    assert_int_equal(before.ops_size, 15 * sizeof(void *)); /* as it was compiled then */
    assert_ptr_equal(filled(&now).route, route_away);
    assert_int_equal(guest_ops_mask(&now), 1u << 15);
}

static void one_of_two_callbacks_that_belong_together_is_refused(void **state)
{
    const struct rapahub_container_ops both = {.save_changes = save_some,
                                               .load_changes = load_some},
                                       save = {.save_changes = save_some},
                                       load = {.load_changes = load_some};
    struct rapahub_chimod chimod = {.name = "half", .ops_size = sizeof both, .ops = &both};

    (void)state;
    assert_int_equal(guest_ops_check(&chimod), 0);
    assert_int_equal(guest_ops_mask(&chimod), UINT32_C(3) << 13);
    chimod.ops = &save;
    assert_int_equal(guest_ops_check(&chimod), RAPAHUB_EABI);
    assert_non_null(
        strstr(rapahub_last_error()->text, "half has save_changes and no load_changes"));
    chimod.ops = &load;
    assert_int_equal(guest_ops_check(&chimod), RAPAHUB_EABI);
}

static void the_mask_tells_which_callbacks_are_the_modules(void **state)
{
    const struct rapahub_chimod chimod = {.ops_size = sizeof own, .ops = &own};
    const struct rapahub_chimod none = {.ops_size = sizeof own};
    const uint32_t last = offsetof(struct rapahub_container_ops, fini) / sizeof(void *);

    (void)state;
    assert_int_equal(guest_ops_mask(&chimod), UINT32_C(1) | UINT32_C(1) << last);
    assert_int_equal(guest_ops_mask(&none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chimod_without_callbacks_gets_all_defaults),
        cmocka_unit_test(restart_and_recover_are_init_where_they_are_not_given),
        cmocka_unit_test(a_state_that_cannot_be_saved_is_not_lost_in_silence),
        cmocka_unit_test(what_lies_behind_ops_size_is_not_looked_at),
        cmocka_unit_test(a_module_of_before_saves_everything_as_changes),
        cmocka_unit_test(a_module_of_before_routes_nothing),
        cmocka_unit_test(a_module_of_before_keeps_its_roles),
        cmocka_unit_test(one_of_two_callbacks_that_belong_together_is_refused),
        cmocka_unit_test(the_mask_tells_which_callbacks_are_the_modules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
