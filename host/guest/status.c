/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"

/* Reads the second number of /proc/PID/statm. The process is a child that was not reaped, so its id
 * cannot belong to another one. */
static uint64_t resident_bytes(pid_t pid)
{
    char path[32], text[128], *end;
    OWN(hub_fd) int fd = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    strtoul(text, &end, 10);
    return strtoul(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void host_status_of(const struct host_guest *guest, struct rapahub_guest_status *out)
{
    const struct host_life *life = guest->life;

    *out = (struct rapahub_guest_status){
        .guest = guest->id,
        .name = guest->name,
        .state = host_guest_state_word(guest),
        .chimod = guest->module.chimod,
        .version = guest->module.version,
        .trust = guest->trust,
        .restarts = guest->totals.restarts,
        .calls = guest->totals.calls,
        .violations = guest->totals.violations,
        .anonymous = guest->anonymous,
    };
    if (!life)
        return;
    out->pid = life->process.pid;
    out->uptime_ns = hub_clock_now() - life->born_ns;
    out->calls += hub_calls_answered(life->connection.calls);
    out->resident_bytes = resident_bytes(life->process.pid);
}
