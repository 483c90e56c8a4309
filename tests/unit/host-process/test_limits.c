/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include <rapahub/error.h>
#include <rapahub/supervise.h>

#include "host/process/limits.h"
#include "tests/support/testing.h"

#define MIB (UINT64_C(1) << 20)

/* The linker puts it before getrlimit: what the host itself may have. */
int __wrap_getrlimit(int resource, struct rlimit *out);

static rlim_t own_max;
static bool unknown;

int __wrap_getrlimit(int resource, struct rlimit *out)
{
    (void)resource;
    *out = (struct rlimit){0, own_max};
    errno = EINVAL;
    return unknown ? -1 : 0;
}

static int begin(void **state)
{
    (void)state;
    own_max = RLIM_INFINITY;
    unknown = false;
    return 0;
}

/* Each limit of a process, and the least that it may be. */
struct kind {
    struct rapahub_limits least;
    size_t offset;
    int resource;
    const char *name;
    bool may_be_none;
};

#define KIND(member, least, resource, none)                                                       \
    {                                                                                             \
        {.member = (least)}, offsetof(struct rapahub_limits, member), (resource), #member, (none) \
    }

static const struct kind kinds[] = {
    KIND(address_bytes, 64 * MIB, RLIMIT_AS, false), KIND(data_bytes, 8 * MIB, RLIMIT_DATA, false),
    KIND(stack_bytes, MIB / 4, RLIMIT_STACK, false), KIND(file_bytes, 1, RLIMIT_FSIZE, true),
    KIND(core_bytes, 1, RLIMIT_CORE, true),          KIND(cpu_s, 1, RLIMIT_CPU, false),
    KIND(descriptors, 16, RLIMIT_NOFILE, false),     KIND(processes, 4, RLIMIT_NPROC, false),
};
#define KINDS (sizeof kinds / sizeof *kinds)

static uint64_t *member_of(struct rapahub_limits *limits, const struct kind *kind)
{
    return (uint64_t *)(void *)((char *)limits + kind->offset);
}

static void refuse(const struct rapahub_limits *given, const char *text)
{
    struct host_limits out;

    rapahub_clear_error();
    assert_int_equal(host_limits_take(given, &out), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "supervise.limits");
    assert_non_null(strstr(rapahub_last_error()->text, text));
}

static void nothing_given_limits_nothing(void **state)
{
    const struct rapahub_limits none = {0};
    struct host_limits out;

    (void)state;
    for (int i = 0; i < 2; i++) {
        memset(&out, 0xff, sizeof out);
        assert_int_equal(host_limits_take(i ? &none : NULL, &out), 0);
        assert_int_equal(out.count, 0);
        assert_true(out.cgroup.memory_max == 0 && out.cgroup.memory_high == 0);
        assert_true(out.cgroup.pids_max == 0 && out.cgroup.cpu_percent == 0);
        assert_false(out.cgroup.required);
    }
}

/* r[verify supervise.limits] */
static void a_guest_gets_at_least_what_a_start_needs(void **state)
{
    struct host_limits out;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct rapahub_limits given = kinds[i].least;
        uint64_t least = *member_of(&given, &kinds[i]);

        assert_int_equal(host_limits_take(&given, &out), 0);
        assert_int_equal(out.count, 1);
        assert_int_equal(out.list[0].resource, kinds[i].resource);
        assert_string_equal(out.list[0].name, kinds[i].name);
        assert_true(out.list[0].value.soft == least);
        if (least == 1)
            continue; /* less would be no limit */
        *member_of(&given, &kinds[i]) = least - 1;
        refuse(&given, "to start");
        assert_non_null(strstr(rapahub_last_error()->text, kinds[i].name));
    }
}

/* r[verify supervise.limits] */
static void only_files_and_core_dumps_may_be_forbidden(void **state)
{
    struct host_limits out;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct rapahub_limits given = {0};

        *member_of(&given, &kinds[i]) = RAPAHUB_NONE;
        if (!kinds[i].may_be_none) {
            refuse(&given, "a guest cannot start without any");
            continue;
        }
        assert_int_equal(host_limits_take(&given, &out), 0);
        assert_int_equal(out.count, 1);
        assert_int_equal(out.list[0].resource, kinds[i].resource);
        assert_true(out.list[0].value.soft == 0 && out.list[0].value.hard == 0);
    }
}

static void only_a_process_out_of_cpu_time_is_warned_first(void **state)
{
    struct rapahub_limits given = {0};
    struct host_limits out;

    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        *member_of(&given, &kinds[i]) = 64 * MIB + i;
    assert_int_equal(host_limits_take(&given, &out), 0);
    assert_int_equal(out.count, KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        uint64_t grace = kinds[i].resource == RLIMIT_CPU ? 1 : 0;

        assert_int_equal(out.list[i].resource, kinds[i].resource);
        assert_true(out.list[i].value.soft == 64 * MIB + i);
        assert_true(out.list[i].value.hard == out.list[i].value.soft + grace);
    }
}

/* r[verify supervise.limits] */
static void no_guest_gets_more_than_the_host_may_have(void **state)
{
    struct rapahub_limits given = {.descriptors = 1000};
    struct host_limits out;

    (void)state;
    own_max = 1000;
    assert_int_equal(host_limits_take(&given, &out), 0);
    given.descriptors = 1001;
    refuse(&given, "descriptors is 1001, the host itself may have 1000");
    unknown = true;
    assert_int_equal(host_limits_take(&given, &out), 0);
    unknown = false;
    given = (struct rapahub_limits){.cpu_s = 999};
    assert_int_equal(host_limits_take(&given, &out), 0);
    given.cpu_s = 1000; /* it is killed a second later */
    refuse(&given, "cpu_s is 1001, the host itself may have 1000");
    given = (struct rapahub_limits){.core_bytes = RAPAHUB_NONE};
    own_max = 0;
    assert_int_equal(host_limits_take(&given, &out), 0);
}

static void a_limit_of_a_later_release_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct rapahub_limits given = {0};

        given.reserved[i] = UINT64_C(1) << 63;
        refuse(&given, "something this release does not know");
    }
}

/* r[verify supervise.limits.cgroup] */
static void limits_of_all_its_processes_are_taken_over(void **state)
{
    const struct rapahub_limits given = {
        .memory_max = 8 * MIB, .memory_high = 1, .pids_max = 4, .cpu_percent = 102400};
    const struct rapahub_limits required = {.required = true};
    struct host_limits out;

    (void)state;
    assert_int_equal(host_limits_take(&given, &out), 0);
    assert_int_equal(out.count, 0);
    assert_true(out.cgroup.memory_max == 8 * MIB && out.cgroup.memory_high == 1);
    assert_true(out.cgroup.pids_max == 4 && out.cgroup.cpu_percent == 102400);
    assert_false(out.cgroup.required);
    assert_int_equal(host_limits_take(&required, &out), 0);
    assert_true(out.cgroup.required);
}

/* r[verify supervise.limits.cgroup] */
static void limits_of_all_its_processes_have_bounds_too(void **state)
{
    (void)state;
    refuse(&(struct rapahub_limits){.memory_max = 8 * MIB - 1},
           "memory_max is 8388607; a guest needs 8388608 to start");
    refuse(&(struct rapahub_limits){.pids_max = 3}, "pids_max is 3; a guest needs 4 to start");
    refuse(&(struct rapahub_limits){.cpu_percent = 102401},
           "cpu_percent is 102401; it may be up to 102400");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_given_limits_nothing, begin),
        cmocka_unit_test_setup(a_guest_gets_at_least_what_a_start_needs, begin),
        cmocka_unit_test_setup(only_files_and_core_dumps_may_be_forbidden, begin),
        cmocka_unit_test_setup(only_a_process_out_of_cpu_time_is_warned_first, begin),
        cmocka_unit_test_setup(no_guest_gets_more_than_the_host_may_have, begin),
        cmocka_unit_test_setup(a_limit_of_a_later_release_is_refused, begin),
        cmocka_unit_test_setup(limits_of_all_its_processes_are_taken_over, begin),
        cmocka_unit_test_setup(limits_of_all_its_processes_have_bounds_too, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
