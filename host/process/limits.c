/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/resource.h>

#include <rapahub/error.h>
#include <rapahub/supervise.h>

#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)

/* At `soft` the process gets a signal, at `hard` SIGKILL. `hard` comes later, so that the process
 * dies of the signal that tells why. */
#define CPU_GRACE 1 /* s */

#define CPU_MOST 102400 /* limit in %: 1,024 CPUs */

struct kind {
    const char *name;
    size_t offset;
    uint64_t least;
    int resource;
    bool may_be_none;
};

#define KIND(member, least, resource, none)                                           \
    {                                                                                 \
#member, offsetof(struct rapahub_limits, member), (least), (resource), (none) \
    }

static const struct kind kinds[] = {
    KIND(address_bytes, 64 * MIB, RLIMIT_AS, false),
    KIND(data_bytes, 8 * MIB, RLIMIT_DATA, false),
    KIND(stack_bytes, 256 * KIB, RLIMIT_STACK, false),
    KIND(file_bytes, 1, RLIMIT_FSIZE, true),
    KIND(core_bytes, 1, RLIMIT_CORE, true),
    KIND(cpu_s, 1, RLIMIT_CPU, false),
    KIND(descriptors, 16, RLIMIT_NOFILE, false),
    KIND(processes, 4, RLIMIT_NPROC, false),
};

static uint64_t value_of(const struct rapahub_limits *given, const struct kind *kind)
{
    return *(const uint64_t *)(const void *)((const char *)given + kind->offset);
}

static int refuse_little(const struct kind *kind, uint64_t value)
{
    if (value == RAPAHUB_NONE)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                            "%s: a guest cannot start without any", kind->name);
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                        "%s is %" PRIu64 "; a guest needs %" PRIu64 " to start", kind->name, value,
                        kind->least);
}

static int check_own(const struct kind *kind, uint64_t value)
{
    struct rlimit own;

    if (getrlimit((__rlimit_resource_t)kind->resource, &own) < 0 || own.rlim_max == RLIM_INFINITY ||
        value <= own.rlim_max)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                        "%s is %" PRIu64 ", the host itself may have %" PRIu64, kind->name, value,
                        (uint64_t)own.rlim_max);
}

static int take(const struct kind *kind, uint64_t given, struct host_limit *out)
{
    uint64_t value = given == RAPAHUB_NONE && kind->may_be_none ? 0 : given;

    if (given == RAPAHUB_NONE ? !kind->may_be_none : given < kind->least)
        return refuse_little(kind, given);
    *out = (struct host_limit){kind->resource, kind->name, {value, value}};
    if (kind->resource == RLIMIT_CPU)
        out->value.hard += CPU_GRACE;
    return check_own(kind, out->value.hard);
}

static bool is_zero(const struct rapahub_limits *given)
{
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof given->reserved / sizeof *given->reserved; i++)
        all |= given->reserved[i];
    return all == 0;
}

static int take_cgroup(const struct rapahub_limits *given, struct host_cgroup_limits *out)
{
    *out = (struct host_cgroup_limits){.memory_max = given->memory_max,
                                       .memory_high = given->memory_high,
                                       .pids_max = given->pids_max,
                                       .cpu_percent = given->cpu_percent,
                                       .required = given->required};
    if (out->memory_max > 0 && out->memory_max < 8 * MIB)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                            "memory_max is %" PRIu64 "; a guest needs 8388608 to start",
                            out->memory_max);
    if (out->pids_max > 0 && out->pids_max < 4)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                            "pids_max is %" PRIu64 "; a guest needs 4 to start", out->pids_max);
    if (out->cpu_percent > CPU_MOST)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                            "cpu_percent is %" PRIu64 "; it may be up to %d", out->cpu_percent,
                            CPU_MOST);
    return 0;
}

/* r[impl supervise.limits] */
int host_limits_take(const struct rapahub_limits *given, struct host_limits *out)
{
    _Static_assert(sizeof kinds / sizeof *kinds <= HOST_LIMITS_MAX, "each has its place");
    int r = 0;

    *out = (struct host_limits){.count = 0};
    if (!given)
        return 0;
    if (!is_zero(given))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.limits",
                            "the limits ask for something this release does not know");
    for (size_t i = 0; r == 0 && i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t value = value_of(given, &kinds[i]);

        if (value != 0)
            r = take(&kinds[i], value, &out->list[out->count++]);
    }
    return r == 0 ? take_cgroup(given, &out->cgroup) : r;
}
