/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/confinement.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host/process/guest.h"
#include "host/process/life.h"
#include "host/process/process.h"
#include "hub/base/clock.h"

#define KILL_WITHIN HUB_SECOND /* for all that are in it to be gone */

static bool has_limits(const struct host_cgroup_limits *limits)
{
    return (limits->memory_max | limits->memory_high | limits->pids_max | limits->cpu_percent) != 0;
}

static bool is_needed(const struct host_guest *guest)
{
    return has_limits(&guest->limits.cgroup) ||
           guest->supervision.kill_mode == RAPAHUB_KILL_CGROUP ||
           guest->supervision.oom_policy != RAPAHUB_OOM_RESTART;
}

static int find(struct host_process *host)
{
    int fd;

    if (host->has_cgroup)
        return 0;
    fd = host_cgroup_find(host->options.cgroup);
    if (fd < 0)
        return fd;
    host->cgroup = fd;
    host->has_cgroup = true;
    return 0;
}

/* r[impl supervise.lint.kill-mode] */
int host_confinement_check(struct host_process *host, const struct rapahub_supervision *how)
{
    char why[256];

    if (!how || how->kill_mode != RAPAHUB_KILL_CGROUP || find(host) == 0)
        return 0;
    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.kill-mode",
                        "kill_mode is RAPAHUB_KILL_CGROUP: %s", why);
}

static int make(struct host_process *host, struct host_cgroup *out)
{
    int r = find(host);

    return r == 0 ? host_cgroup_create(host->cgroup, out) : r;
}

static void tell(struct host_guest *guest)
{
    if (!guest->told_unconfined)
        rapahub_log(RAPAHUB_LOG_WARN, "confinement",
                    "%s: limits of its cgroup are not enforced: %s", guest->name,
                    rapahub_last_error()->text);
    guest->told_unconfined = true;
}

/* r[impl supervise.limits.cgroup] */
int host_confinement_enter(struct host_guest *guest, struct host_life *life)
{
    const struct host_cgroup_limits *limits = &guest->limits.cgroup;
    bool must = guest->supervision.kill_mode == RAPAHUB_KILL_CGROUP;
    int r;

    if (!is_needed(guest))
        return 0;
    r = make(guest->host, &life->process.cgroup);
    if (r < 0 && (must || limits->required))
        return r;
    if (r == 0)
        r = host_cgroup_limit(&life->process.cgroup, limits);
    if (r < 0 && limits->required)
        return r;
    if (r < 0)
        tell(guest);
    return 0;
}

/* r[impl supervise.oom] r[impl supervise.kill-mode] */
void host_confinement_ended(struct host_life *life)
{
    const struct rapahub_supervision *how = &life->guest->supervision;
    bool killed = hub_load_relaxed(&life->exit.known) != 0 && life->exit.how.code == CLD_KILLED &&
                  life->exit.how.status == SIGKILL;
    bool oom = killed && !life->guest->stop.told && host_cgroup_ooms(&life->process.cgroup) > 0;

    if (oom)
        hub_claim(&life->exit.cause, HOST_CAUSE_NONE, HOST_CAUSE_OOM);
    if (how->kill_mode == RAPAHUB_KILL_CGROUP || (oom && how->oom_policy == RAPAHUB_OOM_KILL_GROUP))
        life->process.purged = host_cgroup_kill(&life->process.cgroup) == 0;
    else /* its group was killed, and may not be gone yet */
        life->process.purged = life->process.cgroup.open && how->kill_mode == RAPAHUB_KILL_GROUP;
}

bool host_confinement_lasts(const struct host_life *life)
{
    return life->process.purged && hub_clock_left(life->death.proven_ns + KILL_WITHIN) > 0 &&
           host_cgroup_populated(&life->process.cgroup);
}

void host_confinement_leave(struct host_life *life)
{
    char name[sizeof life->process.cgroup.name];

    memcpy(name, life->process.cgroup.name, sizeof name);
    if (life->host && !host_cgroup_release(life->host->cgroup, &life->process.cgroup))
        rapahub_log(RAPAHUB_LOG_WARN, "confinement", "%s: the cgroup %s stays: somebody is in it",
                    life->name, name);
}
