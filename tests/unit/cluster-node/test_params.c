/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/guests/params.h"
#include "tests/support/testing.h"

static const struct cluster_params with = {.container = 12, .node = 3, .folder = "/data/pools/a"};
static char filled[CLUSTER_PARAMS_MAX + 1];

static const char *fill(const char *text)
{
    int64_t size = cluster_params_fill(rapahub_string_of(text), &with, filled);

    assert_true(size >= 0);
    filled[size] = '\0';
    return filled;
}

/* r[verify cluster.node.params] */
static void words_in_braces_are_replaced(void **state)
{
    (void)state;
    assert_string_equal(fill(""), "");
    assert_string_equal(fill("dir={folder}"), "dir=/data/pools/a");
    assert_string_equal(fill("{node}.{container}{container}"), "3.1212");
    assert_string_equal(fill("{folder}{"), "/data/pools/a{");
}

/* r[verify cluster.node.params] */
static void any_other_text_stays(void **state)
{
    (void)state;
    assert_string_equal(fill("{Container} {nodes} {fold"), "{Container} {nodes} {fold");
    assert_string_equal(fill("{{node}}"), "{3}");
}

/* r[verify cluster.node.params] */
static void params_that_grow_too_large_are_refused(void **state)
{
    char *text = malloc(CLUSTER_PARAMS_MAX + 1);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', CLUSTER_PARAMS_MAX);
    text[CLUSTER_PARAMS_MAX] = '\0';
    assert_int_equal(strlen(fill(text)), CLUSTER_PARAMS_MAX);
    memcpy(text, "{folder}", 8);
    assert_int_equal(cluster_params_fill(rapahub_string_of(text), &with, filled), RAPAHUB_EMSGSIZE);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_in_braces_are_replaced),
                                       cmocka_unit_test(any_other_text_stays),
                                       cmocka_unit_test(params_that_grow_too_large_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
