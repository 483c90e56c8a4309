/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/resource.h>

#include <rapahub/error.h>

#include "hub/base/rlimit.h"
#include "tests/support/testing.h"

static struct rlimit before;

static void limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit small;

    assert_int_equal(getrlimit(resource, &before), 0);
    small = (struct rlimit){value, before.rlim_max};
    assert_int_equal(setrlimit(resource, &small), 0);
}

/* A file just as large as the limit may be written. */
static void a_file_above_the_limit_is_refused_with_both_sizes(void **state)
{
    int below, above;

    (void)state;
    limit(RLIMIT_FSIZE, 10000);
    below = hub_rlimit_check_file(10000, "");
    above = hub_rlimit_check_file(10001, "shm.file.create");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(below, 0);
    assert_int_equal(above, RAPAHUB_EFBIG);
    assert_string_equal(rapahub_error_name(above), "RAPAHUB_EFBIG");
    assert_string_equal(rapahub_last_error()->rule, "shm.file.create");
    assert_string_equal(rapahub_last_error()->text,
                        "RLIMIT_FSIZE (ulimit -f) is 10000 bytes, and 10001 bytes are needed");
}

static void a_failure_is_told_with_its_limit(void **state)
{
    int r;

    (void)state;
    limit(RLIMIT_NOFILE, 99);
    r = hub_rlimit_explain(rapahub_fail(RAPAHUB_EMFILE, "", "no pipe"), 7);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, RAPAHUB_EMFILE);
    assert_string_equal(
        rapahub_last_error()->text,
        "no pipe; RLIMIT_NOFILE (ulimit -n) is 99, and up to 7 descriptors more are needed");
    limit(RLIMIT_NPROC, 12345);
    r = hub_rlimit_explain(rapahub_fail(RAPAHUB_EAGAIN, "", "no thread"), 0);
    assert_int_equal(setrlimit(RLIMIT_NPROC, &before), 0);
    assert_int_equal(r, RAPAHUB_EAGAIN);
    assert_string_equal(rapahub_last_error()->text, "no thread; RLIMIT_NPROC (ulimit -u) is 12345");
    r = hub_rlimit_explain(rapahub_fail(RAPAHUB_ENFILE, "", "no file"), 0);
    assert_int_equal(r, RAPAHUB_ENFILE);
    assert_non_null(strstr(rapahub_last_error()->text, "/proc/sys/fs/file-max"));
}

static void other_failures_stay_as_they_are(void **state)
{
    (void)state;
    assert_int_equal(hub_rlimit_explain(rapahub_fail(RAPAHUB_ELOAD, "", "bad"), 7), RAPAHUB_ELOAD);
    assert_string_equal(rapahub_last_error()->text, "bad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_above_the_limit_is_refused_with_both_sizes),
        cmocka_unit_test(a_failure_is_told_with_its_limit),
        cmocka_unit_test(other_failures_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
