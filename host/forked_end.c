/* SPDX-License-Identifier: Apache-2.0 */
#include "host/forked_end.h"

#include <stdlib.h>

#include "host/host.h"
#include "host/observe/observer.h"
#include "host/owner/forked.h"
#include "hub/base/own.h"

static void close_group(struct host_group *group)
{
    if (group && group->segment)
        hub_fd_release(&group->segment->mapping.fd);
}

static void close_process(struct host_life_process *process)
{
    hub_fd_release(&process->pidfd);
    hub_fd_release(&process->hangup);
    hub_fd_release(&process->output.pipes[0].watch.fd);
    hub_fd_release(&process->output.pipes[1].watch.fd);
    if (process->cgroup.open)
        hub_fd_release(&process->cgroup.folder);
}

static void close_life(struct host_life *life)
{
    int nudge = life->connection.link ? hub_link_wakes(life->connection.link)->nudge : -1;

    hub_fd_release(&nudge);
    hub_fd_release(&life->doorbell.fd);
    hub_fd_release(&life->on_keep.fd);
    close_process(&life->process);
    close_group(life->segment.group);
}

static void close_lives(struct hub_list *lives)
{
    HUB_LIST_EACH (lives, link)
        close_life(HUB_LIST_ITEM(link, struct host_life, link));
}

static void close_guests(struct rapahub_host *host)
{
    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++)
        if (HOST_REGISTRY(host)->guests[i])
            hub_fd_release(&HOST_REGISTRY(host)->guests[i]->module.fd);
}

static void close_own(struct rapahub_host *host)
{
    close_group(HOST_PROCESS(host)->shared);
    host_modules_fini(&HOST_PROCESS(host)->modules);
    host_loop_fini(&HOST_OWNER(host)->loop);
    if (HOST_OWNER(host)->lookout.open) {
        hub_fd_release(&HOST_OWNER(host)->lookout.epoll);
        hub_fd_release(&HOST_OWNER(host)->lookout.bell);
    }
    if (HOST_PROCESS(host)->has_cgroup)
        hub_fd_release(&HOST_PROCESS(host)->cgroup);
}

void host_forked_end(struct rapahub_host *host)
{
    close_lives(&HOST_PROCESS(host)->lives);
    close_lives(&HOST_PROCESS(host)->ended);
    close_guests(host);
    host_regions_forget(&HOST_CALL(host)->regions);
    host_observer_forget_all(HOST_OBSERVE(host));
    close_own(host);
    host_options_fini(&HOST_PROCESS(host)->options);
    free(HOST_REGISTRY(host)->guests);
    host_forked_free(host);
}
