/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/rlimit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include <rapahub/error.h>

/* False if there is no limit. */
static bool read_limit(__rlimit_resource_t resource, uint64_t *out)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    *out = limit.rlim_cur;
    return true;
}

int hub_rlimit_check_file(uint64_t size, const char *rule)
{
    uint64_t limit;

    if (!read_limit(RLIMIT_FSIZE, &limit) || size <= limit)
        return 0;
    return rapahub_fail(RAPAHUB_EFBIG, rule,
                        "RLIMIT_FSIZE (ulimit -f) is %" PRIu64 " bytes, and %" PRIu64
                        " bytes are needed",
                        limit, size);
}

/* Adds a limit that is set to the text. */
static int add(int r, __rlimit_resource_t resource, const char *name)
{
    uint64_t limit;

    if (!read_limit(resource, &limit))
        return r;
    return rapahub_fail(r, rapahub_last_error()->rule, "%s; %s is %" PRIu64,
                        rapahub_last_error()->text, name, limit);
}

static int add_descriptors(int r, unsigned needed)
{
    add(r, RLIMIT_NOFILE, "RLIMIT_NOFILE (ulimit -n)");
    if (needed != 0)
        rapahub_fail(r, rapahub_last_error()->rule, "%s, and up to %u descriptors more are needed",
                     rapahub_last_error()->text, needed);
    return r;
}

int hub_rlimit_explain(int r, unsigned needed)
{
    switch (r) {
    case RAPAHUB_EMFILE:
        return add_descriptors(r, needed);
    case RAPAHUB_ENFILE:
        return rapahub_fail(r, rapahub_last_error()->rule,
                            "%s; the limit of the whole system is /proc/sys/fs/file-max",
                            rapahub_last_error()->text);
    case RAPAHUB_EAGAIN:
        return add(r, RLIMIT_NPROC, "RLIMIT_NPROC (ulimit -u)");
    case RAPAHUB_ENOMEM:
        return add(r, RLIMIT_AS, "RLIMIT_AS (ulimit -v)");
    default:
        return r;
    }
}
