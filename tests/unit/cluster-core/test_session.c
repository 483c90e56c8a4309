/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/session/session.h"
#include "tests/support/testing.h"

/* r[verify cluster.session.start] */
static void a_node_has_one_session(void **state)
{
    struct cluster_session session = {0};
    uint64_t revision = cluster_ids_revision(3, 70);

    (void)state;
    assert_int_equal(cluster_session_start(&session, 0, 1, 0), RAPAHUB_EINVAL);
    assert_int_equal(cluster_session_start(&session, revision, 0, 3), RAPAHUB_EINVAL);
    assert_int_equal(cluster_session_start(&session, revision, 1, 2), RAPAHUB_EINVAL);
    assert_int_equal(cluster_session_start(&session, UINT64_C(1) << 63 | 1, 1, 2048),
                     RAPAHUB_EINVAL);
    assert_int_equal(session.revision, 0);
    assert_int_equal(cluster_session_start(&session, revision, 9, 3), 0);
    assert_int_equal(session.boot, 9);
    assert_int_equal(cluster_session_start(&session, revision, 9, 3), RAPAHUB_ESTATE);
}

/* r[verify cluster.session.start] */
static void a_token_has_the_generation_of_the_session(void **state)
{
    struct cluster_session session = {0};
    uint64_t token;

    (void)state;
    assert_int_equal(cluster_session_start(&session, cluster_ids_revision(3, 70), 1, 3), 0);
    token = cluster_session_token(&session, 5, 2);
    assert_int_equal(cluster_ids_generation(token), 3);
    assert_int_equal(cluster_ids_epoch(token), 5);
    assert_int_equal(cluster_ids_life(token), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_has_one_session),
        cmocka_unit_test(a_token_has_the_generation_of_the_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
