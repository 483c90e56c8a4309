/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/options.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/process/fd_store.h"
#include "host/supervise/defaults.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))
#define VAR_BYTES      ((uint64_t)HOST_DEFAULT_MEMORY_M << 20)
#define PARALLEL_MOST  255
#define BURST_MOST     65536
#define PER_S_MOST     1000000

static int check_reserved(const uint64_t *reserved, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (reserved[i] != 0)
            return rapahub_fail(RAPAHUB_EINVAL, "",
                                "the %s options ask for something this release does not know",
                                what);
    return 0;
}

static uint32_t or_default(uint32_t given, uint32_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static uint64_t or_default64(uint64_t given, uint64_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static void take_limits(const struct rapahub_host_options *given, struct hub_limits *out)
{
    uint32_t slot_size = or_default(given->slot_size, HOST_DEFAULT_SLOT_K << 10);
    uint32_t payload =
        given->slot_size > 4 ? given->slot_size - 4 : (uint32_t)HOST_DEFAULT_PAYLOAD_M << 20;

    *out = (struct hub_limits){
        .payload_max = or_default(given->payload_max, payload),
        .credit_size = or_default(given->credit_size, 65536),
        .guests_max = or_default(given->guests_max, HOST_DEFAULT_GUESTS),
        .ring_size = or_default(given->ring_size, HOST_DEFAULT_RING),
        .slot_size = slot_size,
        .slot_count = or_default(given->slot_count, HOST_DEFAULT_SLOTS),
        .channels_max = or_default(given->channels_max, 64),
        .heartbeat_ns = or_default64(given->heartbeat_ns, HUB_SECOND),
        .var_bytes_max = given->var_bytes_max,
    };
    if (given->heartbeat_ns == UINT64_MAX)
        out->heartbeat_ns = 0;
}

/* A request for large messages implies the memory for them. */
static uint64_t default_bytes(const struct hub_size_classes *classes)
{
    uint64_t first = hub_size_classes_bytes(classes);

    return first > VAR_BYTES ? first : VAR_BYTES;
}

/* The address of this constant is in this library. */
static const char from_lib[] = "/" RAPAHUB_GUEST_FROM_LIB;

/* Returns the path of the guest program, relative to where this library is installed. */
static char *find_program(void)
{
    char path[PATH_MAX], *slash;
    Dl_info info;

    if (dladdr(from_lib, &info) == 0 || !info.dli_fname || !realpath(info.dli_fname, path))
        return NULL;
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + sizeof from_lib > sizeof path)
        return NULL;
    memcpy(slash, from_lib, sizeof from_lib);
    return strdup(path);
}

static int check_most(const char *name, uint32_t value, uint32_t most)
{
    return value > most
               ? rapahub_fail(RAPAHUB_EINVAL, "supervise.start.pace",
                              "%s is %" PRIu32 "; it may be 1 to %" PRIu32, name, value, most)
               : 0;
}

static int take_pace(const struct rapahub_host_options *given, struct host_options *out)
{
    int r = check_most("starts_parallel_max", given->starts_parallel_max, PARALLEL_MOST);

    if (r == 0)
        r = check_most("starts_burst", given->starts_burst, BURST_MOST);
    if (r == 0)
        r = check_most("starts_per_s", given->starts_per_s, PER_S_MOST);
    out->starts_parallel_max = or_default(given->starts_parallel_max, HOST_DEFAULT_STARTS_PARALLEL);
    out->starts_burst = or_default(given->starts_burst, HOST_DEFAULT_STARTS_BURST);
    out->starts_per_s = or_default(given->starts_per_s, HOST_DEFAULT_STARTS_PER_S);
    return r;
}

static int take_strings(const struct rapahub_host_options *given, struct host_options *out)
{
    out->name = strdup(given->name ? given->name : "host");
    out->guest_program = given->guest_program ? strdup(given->guest_program) : find_program();
    out->path = given->path ? strdup(given->path) : NULL;
    out->cgroup = given->cgroup ? strdup(given->cgroup) : NULL;
    if (out->name && out->guest_program && (out->path || !given->path) &&
        (out->cgroup || !given->cgroup))
        return 0;
    host_options_fini(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a host's options");
}

int host_options_take(const struct rapahub_host_options *given, struct host_options *out)
{
    static const struct rapahub_host_options none;
    struct hub_geometry geometry;
    int r;

    if (!given)
        given = &none;
    r = check_reserved(given->reserved, COUNT_OF(given->reserved), "host's");
    if (r < 0)
        return r;
    *out = (struct host_options){
        .own_thread = given->own_thread,
        .anonymous = given->anonymous,
        .waiting = given->waiting,
        .call_timeout_ns = or_default64(given->call_timeout_ns, 30 * HUB_SECOND),
        .admitted_max = given->admitted_max,
        .on_event = given->on_event,
        .user = given->user,
    };
    if ((unsigned)given->waiting > RAPAHUB_WAIT_BELL)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%d is no way to wait that this library knows",
                            (int)given->waiting);
    if (given->admitted_max > HOST_OPTIONS_ADMITTED)
        return rapahub_fail(RAPAHUB_EINVAL, "hub.admit.bound",
                            "admitted_max is %" PRIu32 "; it may be at most %d",
                            given->admitted_max, HOST_OPTIONS_ADMITTED);
    if (given->path && !given->anonymous)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a path is of no use without the option anonymous");
    r = take_pace(given, out);
    if (r < 0)
        return r;
    take_limits(given, &out->limits);
    r = hub_geometry_compute(&out->limits, &geometry);
    if (r < 0)
        return r;
    if (given->var_bytes_max == 0)
        out->limits.var_bytes_max = default_bytes(&geometry.classes);
    return take_strings(given, out);
}

void host_options_fini(struct host_options *options)
{
    hub_memory_release(&options->name);
    hub_memory_release(&options->guest_program);
    hub_memory_release(&options->path);
    hub_memory_release(&options->cgroup);
}

static int check_name(const char *name)
{
    size_t size = strnlen(name, HOST_OPTIONS_NAME_MAX + 1);

    if (size == 0 || size > HOST_OPTIONS_NAME_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a guest's name has 1 to %d bytes",
                            HOST_OPTIONS_NAME_MAX);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] <= 0x20 || (unsigned char)name[i] >= 0x7f || name[i] == '/')
            return rapahub_fail(RAPAHUB_EINVAL, "",
                                "a guest's name has no spaces, slashes or control characters");
    return 0;
}

static int check_plain(const char *const *plain)
{
    size_t count = 0;

    while (plain && plain[count])
        count++;
    if (count > HOST_OPTIONS_PLAIN_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%zu signatures; a plain library has at most %d",
                            count, HOST_OPTIONS_PLAIN_MAX);
    return 0;
}

static int check_trust(enum rapahub_trust trust)
{
    if (trust == RAPAHUB_TRUST_STRICT)
        return rapahub_fail(RAPAHUB_ESANDBOX, "",
                            "trust strict needs namespaces, landlock and seccomp; this release "
                            "enforces none of them");
    if (trust != RAPAHUB_TRUST_STANDARD && trust != RAPAHUB_TRUST_TRUSTED)
        return rapahub_fail(RAPAHUB_EINVAL, "", "trust %d is no level", (int)trust);
    return 0;
}

int host_options_check_guest(const struct rapahub_guest_options *options)
{
    int r;

    if (!options || !options->chimod || !options->chimod[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "no chimod is named");
    r = check_reserved(options->reserved, COUNT_OF(options->reserved), "guest's");
    if (r == 0 && options->module_fd < 0)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%d is no descriptor of a module", options->module_fd);
    if (r == 0 && options->name)
        r = check_name(options->name);
    if (r == 0)
        r = check_plain(options->plain);
    if (r == 0)
        r = check_trust(options->trust);
    return r == 0 ? host_fd_store_check(options) : r;
}

int host_options_check_admit(const struct rapahub_admit_options *options)
{
    int r;

    if (!options || (options->pidfd <= 0 && options->hangup <= 0))
        return rapahub_fail(RAPAHUB_EINVAL, "hub.admit.end",
                            "nothing would tell that the guest has ended: give a pidfd, or a "
                            "socket that hangs up");
    r = check_reserved(options->reserved, COUNT_OF(options->reserved), "admitted guest's");
    return r == 0 && options->name ? check_name(options->name) : r;
}

int host_options_check_container(const struct rapahub_container_options *options)
{
    int r;

    if (!options || !options->pool_name || !options->pool_name[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "a container needs the name of its pool");
    r = check_reserved(options->reserved, COUNT_OF(options->reserved), "container's");
    if (r < 0)
        return r;
    if (options->params.size > HOST_OPTIONS_PARAMS_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "params of %zu bytes; a container takes %d",
                            options->params.size, HOST_OPTIONS_PARAMS_MAX);
    if (strnlen(options->pool_name, RAPAHUB_SIGNATURE_MAX) == RAPAHUB_SIGNATURE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the name of the pool is too long");
    return 0;
}
