/* SPDX-License-Identifier: Apache-2.0 */
/* r[verify exp.config.limits] */
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/host.h>

#include "host/cli/run_events.h"
#include "host/cli/run_tree.h"
#include "tests/support/testing.h"

static struct rapahub_host_options all_of(uint32_t n)
{
    return (struct rapahub_host_options){.guests_max = n + 1,
                                         .payload_max = n + 2,
                                         .slot_size = n + 3,
                                         .slot_count = n + 4,
                                         .ring_size = n + 5,
                                         .var_bytes_max = n + 6,
                                         .cgroup = n < 100 ? "/of/file" : "/of/line"};
}

static void assert_limits(const struct rapahub_host_options *is,
                          const struct rapahub_host_options *wanted)
{
    assert_int_equal(is->guests_max, wanted->guests_max);
    assert_int_equal(is->payload_max, wanted->payload_max);
    assert_int_equal(is->slot_size, wanted->slot_size);
    assert_int_equal(is->slot_count, wanted->slot_count);
    assert_int_equal(is->ring_size, wanted->ring_size);
    assert_int_equal(is->var_bytes_max, wanted->var_bytes_max);
    assert_string_equal(is->cgroup, wanted->cgroup);
}

static void a_limit_of_the_command_line_goes_before_that_of_the_file(void **state)
{
    const struct rapahub_host_options line = all_of(100), file = all_of(0);
    struct cli_run_tree *tree = calloc(1, sizeof *tree);
    struct rapahub_host_options options = {0};

    (void)state;
    assert_non_null(tree);
    tree->tree.file.host = file;
    cli_run_tree_limit(tree, &options);
    assert_limits(&options, &file);
    options = line;
    cli_run_tree_limit(tree, &options);
    assert_limits(&options, &line);
    free(tree);
}

static void a_host_of_a_large_tree_has_room_for_all_its_guests(void **state)
{
    struct cli_run_tree *tree = calloc(1, sizeof *tree);
    struct rapahub_host_options options = {0};

    (void)state;
    assert_non_null(tree);
    tree->tree.guests = 8;
    cli_run_tree_limit(tree, &options);
    assert_int_equal(options.guests_max, 0); /* the default */
    tree->tree.guests = 1000;
    cli_run_tree_limit(tree, &options);
    assert_int_equal(options.guests_max, 1000);
    free(tree);
}

int __wrap_rapahub_host_children(struct rapahub_host *host,
                                 void (*visit)(void *user,
                                               const struct rapahub_child_status *child),
                                 void *user);
int __wrap_rapahub_host_children(struct rapahub_host *host,
                                 void (*visit)(void *user,
                                               const struct rapahub_child_status *child),
                                 void *user)
{
    (void)visit;
    (void)user;
    return host ? 0 : rapahub_fail(RAPAHUB_ESTATE, "", "no host");
}

/* It is between a failure and its report. */
static void a_look_at_the_children_leaves_no_error_and_takes_none(void **state)
{
    struct cli_run_tree *tree = calloc(1, sizeof *tree);
    struct cli_run_events events = {.downs = 1};
    int there = 0;

    (void)state;
    assert_non_null(tree);
    cli_run_tree_watch(tree, &events);
    assert_int_equal(rapahub_last_error()->code, 0);
    tree->host = (struct rapahub_host *)(void *)&there;
    events.downs = 2;
    rapahub_fail(RAPAHUB_EIO, "", "of before");
    cli_run_tree_watch(tree, &events);
    assert_string_equal(rapahub_last_error()->text, "of before");
    rapahub_clear_error();
    free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_the_command_line_goes_before_that_of_the_file),
        cmocka_unit_test(a_host_of_a_large_tree_has_room_for_all_its_guests),
        cmocka_unit_test(a_look_at_the_children_leaves_no_error_and_takes_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
