/* SPDX-License-Identifier: Apache-2.0 */
#include "host/roles/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread.h"

#define ROUTE_MOST 256
#define ROUTE_WAIT (100 * HUB_MILLISECOND) /* until the thread looks whether it is to end */

void host_regions_init(struct host_regions *regions)
{
    hub_list_init(&regions->list);
}

/* ---- the thread that routes ---- */

/* Where another process routes, this thread stands by. A region that is damaged is left alone for a
 * while: its users are told what is wrong with it. */
static void route(struct host_region *region)
{
    struct rapahub_router *router;
    uint32_t count;
    int r = rapahub_router_open(region->region, ROUTE_WAIT, &router);

    if (r < 0) {
        (void)hub_futex_wait_private(&region->ends, 0, hub_clock_after(ROUTE_WAIT));
        return;
    }
    do
        r = rapahub_router_run(router, ROUTE_MOST, ROUTE_WAIT, &count);
    while (hub_observe(&region->ends) == 0 &&
           (r == 0 || r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_EBLOCKED));
    if (hub_observe(&region->ends) == 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "regions", "%s: cannot be routed: %s", region->name,
                    rapahub_last_error()->text);
    rapahub_router_close(router);
}

static void *run(void *user)
{
    struct host_region *region = user;

    while (hub_observe(&region->ends) == 0)
        route(region);
    return NULL;
}

static int start_router(struct host_region *region)
{
    int r = hub_thread_start(&region->router, run, region);

    region->routed = r == 0;
    return r == 0 ? 0 : rapahub_fail(r, "", "cannot start the thread that routes %s", region->name);
}

/* ---- make and close ---- */

static void close_region(struct host_region *region)
{
    if (region->routed)
        (void)pthread_join(region->router, NULL);
    if (rapahub_region_close(region->region) < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "regions", "%s: %s", region->name,
                    rapahub_last_error()->text);
    hub_list_remove(&region->link);
    free(region);
}

void host_regions_fini(struct host_regions *regions)
{
    HUB_LIST_EACH (&regions->list, link) {
        struct host_region *region = HUB_LIST_ITEM(link, struct host_region, link);

        (void)hub_exchange(&region->ends, 1);
        hub_futex_wake_private(&region->ends);
    }
    HUB_LIST_EACH (&regions->list, link)
        close_region(HUB_LIST_ITEM(link, struct host_region, link));
}

void host_regions_forget(const struct host_regions *regions)
{
    HUB_LIST_EACH (&regions->list, link)
        close(rapahub_region_fd(HUB_LIST_ITEM(link, struct host_region, link)->region));
}

static struct host_region *find(const struct host_regions *regions, const char *name)
{
    HUB_LIST_EACH (&regions->list, link) {
        struct host_region *region = HUB_LIST_ITEM(link, struct host_region, link);

        if (strcmp(region->name, name) == 0)
            return region;
    }
    return NULL;
}

int host_regions_find(const struct host_regions *regions, const char *name,
                      struct host_region **out)
{
    *out = find(regions, name);
    return *out ? 0
                : rapahub_fail(RAPAHUB_ENOENT, "supervise.role.region",
                               "the host has no region '%.80s': make it before the roles that "
                               "name it",
                               name);
}

/* A persistent region may be there from an earlier host. */
static int open_region(const char *name, const struct rapahub_host_region_options *options,
                       struct rapahub_region **out)
{
    struct rapahub_region_options make;
    struct rapahub_region_open_options open = {.kind = 0};
    int r;

    if (!options)
        return rapahub_region_open(name, NULL, out);
    make = options->region;
    make.profile = RAPAHUB_REGION_HARDENED;
    open.kind = make.kind;
    r = rapahub_region_create(options->persistent ? name : NULL, &make, out);
    return r == -EEXIST ? rapahub_region_open(name, &open, out) : r;
}

static int check(const struct host_regions *regions, const char *name,
                 const struct rapahub_host_region_options *options)
{
    uint64_t reserved = 0;

    for (size_t i = 0; options && i < sizeof options->reserved / sizeof *options->reserved; i++)
        reserved |= options->reserved[i];
    if (reserved != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a region must be 0");
    if (!name || strlen(name) > RAPAHUB_REGION_NAME_MAX || !name[0] || strchr(name, '/'))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.role.region",
                            "a region of a host has a name of 1 to %d bytes without '/'",
                            RAPAHUB_REGION_NAME_MAX);
    if (options && options->route && options->region.kind != RAPAHUB_REGION_FANOUT)
        return rapahub_fail(RAPAHUB_EBADKIND, "supervise.role.region",
                            "'%s' cannot be routed: only a region of kind FANOUT has a router",
                            name);
    if (find(regions, name))
        return rapahub_fail(RAPAHUB_EEXIST, "supervise.role.region",
                            "the host has a region '%s' already", name);
    return regions->count < RAPAHUB_REGIONS_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EFULL, "supervise.role.region",
                              "a host has at most %d regions", RAPAHUB_REGIONS_MAX);
}

int host_regions_add(struct host_regions *regions, const char *name,
                     const struct rapahub_host_region_options *options, struct host_region **out)
{
    struct host_region *region;
    int r = check(regions, name, options);

    if (r < 0)
        return r;
    region = calloc(1, sizeof *region);
    if (!region)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a region");
    memcpy(region->name, name, strlen(name));
    hub_list_init(&region->roles);
    hub_list_init(&region->link);
    r = open_region(name, options, &region->region);
    if (r < 0) {
        free(region);
        return r;
    }
    if (options && options->route)
        r = start_router(region);
    if (r < 0) {
        close_region(region);
        return r;
    }
    hub_list_append(&regions->list, &region->link);
    regions->count++;
    *out = region;
    return 0;
}
