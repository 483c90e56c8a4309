/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster outlives the certificates that its nodes had at first: 61 days later each node has a
 * new one, the joined one from the node with the authority, over their link; after 96 days, when
 * the first ones have expired, the nodes are linked, and calls go between them. The wall clock is
 * the test's. */
#include "tests/cluster/joined_stage.h"
#include "tests/support/clock_page.h"

#define DAY (86400 * INT64_C(1000000000))

static const char pools[] =
    "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX "/bin/counter.so\n";

/* The number of the certificate of a node, or "" while it does not answer. */
static void read_serial(const struct node_process *node, char to[64])
{
    static const char *const words[] = {"node", "status", NULL};
    struct process_result result;
    const char *at = NULL;

    if (node_process_rapahub(node, words, &result) == 0)
        at = strstr(result.out, "\ncertificate ");
    to[0] = '\0';
    if (at)
        (void)snprintf(to, 64, "%.*s", (int)strcspn(at + 13 + strspn(at + 13, " "), "\n"),
                       at + 13 + strspn(at + 13, " "));
    process_result_fini(&result);
}

static void await_another(const struct node_process *node, const char *before)
{
    char now[64] = "";

    for (unsigned i = 0; i < 2000 && (now[0] == '\0' || strcmp(now, before) == 0); i++) {
        read_serial(node, now);
        pause_ms(50);
    }
    if (now[0] == '\0' || strcmp(now, before) == 0)
        fail_msg("its certificate is still '%s'", now);
}

/* r[verify cluster.renewal.ask] r[verify cluster.renewal.grant] r[verify cluster.identity.renew] */
static void a_cluster_outlives_its_first_certificates(void **state)
{
    struct joined *joined = *state;
    struct node_process *first = &joined->stage->first, *second = &joined->second;
    char of_first[64], of_second[64];

    node_process_apply(first, pools);
    read_serial(first, of_first);
    read_serial(second, of_second);
    assert_string_not_equal(of_first, "");
    assert_string_not_equal(of_first, of_second);
    clock_page_set_wall(61 * DAY);
    joined_kill(second); /* a node that starts looks at once, any other one within an hour */
    await_another(second, of_second);
    joined_kill(first);
    await_another(first, of_first);
    clock_page_set_wall(35 * DAY);
    joined_kill(first);
    joined_kill(second);
    join_await(first);
    join_await(second);
    AWAIT(second, "tally", "get", "pools");
    assert_int_equal(joined_add(second, "tally#0.add"), 1);
    assert_int_equal(joined_add(second, "tally#0.add"), 2);
}

static int begin(void **state)
{
    setenv(CLOCK_PAGE_FILE, clock_page_open(), 1);
    setenv("LD_PRELOAD", TEST_PREFIX "/tests/modules/clock_page.so", 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
    return joined_begin(state);
}

static int end(void **state)
{
    int r = joined_end(state);

    unsetenv("LD_PRELOAD");
    unsetenv(CLOCK_PAGE_FILE);
    clock_page_close();
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cluster_outlives_its_first_certificates, begin, end),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
