/* SPDX-License-Identifier: Apache-2.0 */
/* subscriptions: the functions of <rapahub/roles.h>, each run on the owner. */
#include <rapahub/roles.h>

#include "host/host.h"
#include "host/owner/threads.h"
#include "host/roles/links.h"

struct region_job {
    const char *name;
    const struct rapahub_host_region_options *options;
    struct rapahub_region **out;
};

static int run_region(struct host_owner *owner, void *argument)
{
    const struct region_job *job = argument;
    struct host_region *region;
    int r = host_regions_add(&HOST_CALL(owner)->regions, job->name, job->options, &region);

    if (r == 0 && job->out)
        *job->out = region->region;
    return r;
}

int rapahub_host_region(struct rapahub_host *host, const char *name,
                        const struct rapahub_host_region_options *options,
                        struct rapahub_region **out)
{
    struct region_job job = {name, options, out};

    return host_threads_run(HOST_OWNER(host), run_region, &job);
}

struct visit_job {
    const char *region;
    void (*visit)(void *user, const struct rapahub_subscription *subscription);
    void *user;
};

static void show(struct host_owner *owner, const struct visit_job *job,
                 const struct host_role *role)
{
    const struct host_guest *guest = role->container->guest;
    const struct rapahub_subscription subscription = {.guest = guest->id,
                                                      .guest_name = guest->name,
                                                      .role = role->name,
                                                      .kind = role->kind,
                                                      .index = role->index,
                                                      .active = host_links_stands(role)};

    owner->callbacks++;
    job->visit(job->user, &subscription);
    owner->callbacks--;
}

static int run_visit(struct host_owner *owner, void *argument)
{
    const struct visit_job *job = argument;
    struct host_region *region;
    int r = host_regions_find(&HOST_CALL(owner)->regions, job->region, &region);

    if (r < 0)
        return r;
    HUB_LIST_EACH (&region->roles, link) {
        const struct host_role *role = HUB_LIST_ITEM(link, struct host_role, of_region);

        if (role->incarnation != 0 && role->container->guest)
            show(owner, job, role);
    }
    return 0;
}

int rapahub_host_subscriptions(struct rapahub_host *host, const char *region,
                               void (*visit)(void *user,
                                             const struct rapahub_subscription *subscription),
                               void *user)
{
    struct visit_job job = {region, visit, user};

    return host_threads_look(HOST_OWNER(host), run_visit, &job);
}
