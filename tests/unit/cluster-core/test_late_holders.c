/* SPDX-License-Identifier: Apache-2.0 */
/* Records of holders while the whole map is read. */
#include "tests/unit/cluster-core/peer_stage.h"

#define REVISION (STAGE_REVISION + 10) /* of the reading */

static struct peer_stage stage;

static const struct cluster_holders_row *row(void)
{
    return cluster_holders_find(cluster_core_parts(stage.core)->holders, STAGE_POOL, 0);
}

/* A record that names nobody, or the end of it. */
static void tell_holders(uint64_t revision, bool is_there)
{
    struct cluster_event event = {
        .kind = CLUSTER_EVENT_HOLDERS, .pool = STAGE_POOL, .revision = revision};
    const struct cluster_record_holders record = {.nodes = {.count = 0}};

    if (is_there)
        event.holders = &record;
    assert_int_equal(peer_stage_tell(&stage, event), 0);
}

static void begin_reading(void)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(stage.core);

    cluster_catch_up_doubt(&parts->catch_up);
    (void)peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RANGE, 1);
}

/* r[verify cluster.hold.record] */
static void what_is_read_is_older_than_what_was_told(void **state)
{
    (void)state;
    peer_stage_open(&stage);
    tell_holders(20, true);
    assert_non_null(row());
    begin_reading();
    tell_holders(REVISION + 1, false);
    assert_null(row());
    tell_holders(20, true); /* the page of the reading */
    assert_null(row());
    assert_int_equal(peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_READ,
                                                                    .status = RAPAHUB_EIO}),
                     0);
    tell_holders(20, true); /* no reading is under way: nothing is kept of what is gone */
    assert_non_null(row());
    peer_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_older_than_what_was_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
