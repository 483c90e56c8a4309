/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/printed.h"

#include <stdio.h>

#include "host/guest/children.h"
#include "host/lives/after_exit.h"
#include "host/observe/observe.h"
#include "host/owner/threads.h"

static void take_line(void *user, const char *line)
{
    struct host_life *life = user;
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_OUTPUT, .cause = line};
    char topic[HOST_OPTIONS_NAME_MAX + 8];

    snprintf(topic, sizeof topic, "guest.%s", life->name);
    rapahub_log(RAPAHUB_LOG_INFO, topic, "%s", line);
    if (!life->guest)
        return;
    host_tail_add(&life->guest->tail, life->guest->supervision.log_ring, line);
    host_after_exit_tell(life->guest, &event);
}

/* r[impl supervise.log] */
void host_printed_begin(struct host_life *life)
{
    life->process.output.on_line = take_line;
    life->process.output.user = life;
    life->process.output.line_max = life->guest->supervision.log_line;
    life->process.output.rate = life->guest->supervision.log_rate;
}

struct reading {
    struct rapahub_child_id child;
    char *to;
    size_t size, *out;
};

static int run_read(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    const struct reading *reading = argument;
    struct host_guest *guest;
    int r = host_children_find(&host->supervision, reading->child, &guest);

    if (r < 0)
        return r;
    host_tail_read(&guest->tail, reading->to, reading->size);
    if (reading->out)
        *reading->out = host_tail_size(&guest->tail);
    return 0;
}

int rapahub_child_log(struct rapahub_host *host, struct rapahub_child_id child, char *to,
                      size_t size, size_t *out)
{
    struct reading reading = {child, to, size, out};

    if (size == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "there is no room for a line");
    return host_threads_look(HOST_OWNER(host), run_read, &reading);
}
