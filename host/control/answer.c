/* SPDX-License-Identifier: Apache-2.0 */
/* answer: one function for each kind of request. */
#include "host/control/answer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/control/invocation.h"
#include "host/control/operation.h"
#include "host/control/reply.h"
#include "host/control/rights.h"
#include "hub/base/clock.h"
#include "hub/wire/postcard.h"

/* The longest stop before a new start, and the longest restart. */
#define REST_NS    (20 * HUB_SECOND)
#define RESTART_NS (30 * HUB_SECOND)

/* A client that does not read gets no more lines while so many bytes wait for it. */
#define LINES_PENDING ((size_t)256 << 10)

struct visiting {
    struct rapahub_control *control;
    struct host_server_client *client;
};

static void send_guest(void *user, const struct rapahub_guest_status *status)
{
    struct visiting *visiting = user;
    const struct control_guest guest = {
        .name = rapahub_string_of(status->name),
        .state = rapahub_string_of(status->state),
        .chimod = rapahub_string_of(status->chimod),
        .version = rapahub_string_of(status->version),
        .host = rapahub_string_of(visiting->control->name),
        .group = status->guest.group,
        .uptime_ns = status->uptime_ns,
        .calls = status->calls,
        .resident_bytes = status->resident_bytes,
        .violations = status->violations,
        .epoch = status->guest.epoch,
        .peer = status->guest.peer,
        .restarts = status->restarts,
        .pid = status->pid,
        .trust = (uint8_t)status->trust,
    };

    host_reply_send(visiting->control, visiting->client, HOST_FRAME_GUEST, &guest);
}

static void list(struct rapahub_control *control, struct host_server_client *client,
                 const union host_frame_record *record)
{
    struct visiting visiting = {control, client};

    (void)record;
    host_reply_end(control, client,
                   control->host.guests(control->host.host, send_guest, &visiting));
}

static bool same(struct rapahub_string a, const char *b)
{
    return a.size == strlen(b) && (a.size == 0 || memcmp(a.data, b, a.size) == 0);
}

static int no_guest(const struct rapahub_control *control, struct rapahub_string name)
{
    return rapahub_fail(RAPAHUB_ENOENT, "", "host '%s' has no guest named '%.*s'", control->name,
                        (int)name.size, name.size ? name.data : "");
}

static int find_pool(const struct rapahub_control *control, struct rapahub_string name,
                     struct rapahub_pool_id *out)
{
    for (uint32_t i = 0; i < control->offers_count; i++) {
        if (same(name, control->offers[i].name)) {
            *out = control->offers[i].pool;
            return 0;
        }
    }
    return no_guest(control, name);
}

static void send_signature(void *user, const char *signature)
{
    struct visiting *visiting = user;
    const struct control_name name = {rapahub_string_of(signature)};

    host_reply_send(visiting->control, visiting->client, HOST_FRAME_SIGNATURE, &name);
}

static void methods(struct rapahub_control *control, struct host_server_client *client,
                    const union host_frame_record *record)
{
    struct visiting visiting = {control, client};
    struct rapahub_container_id target = {0};
    int r = find_pool(control, record->name.name, &target.pool);

    if (r == 0)
        r = control->host.methods(control->host.host, target, send_signature, &visiting);
    host_reply_end(control, client, r);
}

static void call(struct rapahub_control *control, struct host_server_client *client,
                 const union host_frame_record *record)
{
    struct rapahub_container_id target = {.container = record->call.container};
    int r = find_pool(control, record->call.guest, &target.pool);

    if (r < 0)
        host_reply_end(control, client, r);
    else
        host_invocation_begin(control, client, &record->call, target);
}

static void cancel(struct rapahub_control *control, struct host_server_client *client,
                   const union host_frame_record *record)
{
    (void)record;
    if (client->call)
        control->host.cancel(control->host.host, client->call->request);
}

struct search {
    struct rapahub_string name;
    struct rapahub_guest_id guest;
    bool found;
};

static void compare_name(void *user, const struct rapahub_guest_status *status)
{
    struct search *search = user;

    if (search->found || !same(search->name, status->name))
        return;
    search->found = true;
    search->guest = status->guest;
}

static int find_guest(struct rapahub_control *control, struct rapahub_string name,
                      struct rapahub_guest_id *out)
{
    struct search search = {.name = name};
    int r = control->host.guests(control->host.host, compare_name, &search);

    if (r < 0)
        return r;
    if (!search.found)
        return no_guest(control, name);
    *out = search.guest;
    return 0;
}

static void send_child(void *user, const struct rapahub_child_status *status)
{
    struct visiting *visiting = user;
    const struct control_child child = {.name = rapahub_string_of(status->name),
                                        .state = rapahub_string_of(status->state),
                                        .number = status->child.number,
                                        .parent = status->parent.number,
                                        .is_supervisor = status->is_supervisor,
                                        .strategy = (uint8_t)status->strategy,
                                        .pid = status->pid,
                                        .incarnation = status->incarnation,
                                        .due_ns = status->due_ns,
                                        .restarts = status->restarts,
                                        .failures = status->failures,
                                        .failures_max = status->failures_max};

    host_reply_send(visiting->control, visiting->client, HOST_FRAME_CHILD, &child);
}

static void tree(struct rapahub_control *control, struct host_server_client *client,
                 const union host_frame_record *record)
{
    struct visiting visiting = {control, client};

    (void)record;
    host_reply_end(control, client,
                   control->host.children(control->host.host, send_child, &visiting));
}

/* A guest is preferred to a supervisor of the same name. */
struct child_search {
    struct rapahub_string name;
    struct rapahub_child_id guest, supervisor;
};

static void compare_child(void *user, const struct rapahub_child_status *status)
{
    struct child_search *search = user;

    struct rapahub_child_id *found = status->is_supervisor ? &search->supervisor : &search->guest;

    if (found->number == 0 && same(search->name, status->name))
        *found = status->child;
}

static int find_child(struct rapahub_control *control, struct rapahub_string name,
                      struct rapahub_child_id *out)
{
    struct child_search search = {.name = name};
    int r = control->host.children(control->host.host, compare_child, &search);

    if (r < 0)
        return r;
    *out = search.guest.number ? search.guest : search.supervisor;
    return out->number ? 0 : no_guest(control, name);
}

static void restart(struct rapahub_control *control, struct host_server_client *client,
                    const union host_frame_record *record)
{
    struct rapahub_child_id child;
    int r = find_child(control, record->name.name, &child);

    if (r == 0)
        host_operation_child(
            control, client,
            &(const struct host_operation_child){control->host.restart, child, RESTART_NS});
    else
        host_reply_end(control, client, r);
}

/* The guests whose figures are sent. They are collected first, because a visit must not begin
 * another visit. */
struct census {
    struct rapahub_string name; /* "": all */
    uint32_t count;
    struct counted_guest {
        char name[HOST_SERVER_NAME];
        struct rapahub_guest_id id;
    } guests[HOST_SERVER_OFFERS];
};

static void note_guest(void *user, const struct rapahub_guest_status *status)
{
    struct census *census = user;
    struct counted_guest *guest = &census->guests[census->count];

    if ((census->name.size > 0 && !same(census->name, status->name)) ||
        census->count == HOST_SERVER_OFFERS)
        return;
    snprintf(guest->name, sizeof guest->name, "%s", status->name);
    guest->id = status->guest;
    census->count++;
}

struct counting {
    struct visiting to;
    const char *guest;
};

static void send_figure(void *user, const struct rapahub_figure *figure)
{
    struct counting *counting = user;
    const struct control_figure record = {.guest = rapahub_string_of(counting->guest),
                                          .name = rapahub_string_of(figure->name),
                                          .rule = rapahub_string_of(figure->rule),
                                          .gauge = figure->gauge,
                                          .value = figure->value};

    host_reply_send(counting->to.control, counting->to.client, HOST_FRAME_FIGURE, &record);
}

/* A guest that was removed since it was found has no figures any more. */
static int send_figures(struct rapahub_control *control, struct host_server_client *client,
                        struct census *census)
{
    int r = control->host.guests(control->host.host, note_guest, census);

    if (r == 0 && census->count == 0 && census->name.size > 0)
        return no_guest(control, census->name);
    for (uint32_t i = 0; r == 0 && i < census->count; i++) {
        struct counting counting = {{control, client}, census->guests[i].name};

        r = control->host.figures(control->host.host, census->guests[i].id, send_figure, &counting);
        r = r == RAPAHUB_ESTALE ? 0 : r;
    }
    return r;
}

static void stats(struct rapahub_control *control, struct host_server_client *client,
                  const union host_frame_record *record)
{
    struct census *census = calloc(1, sizeof *census);
    int r = RAPAHUB_ENOMEM;

    if (census) {
        census->name = record->name.name;
        r = send_figures(control, client, census);
    } else {
        rapahub_fail(r, "", "no memory to list guests");
    }
    free(census);
    host_reply_end(control, client, r);
}

static int stop_host(struct rapahub_control *control)
{
    if (!control->on_stop)
        return rapahub_fail(RAPAHUB_EPERM, "", "host '%s' is not stopped from outside",
                            control->name);
    control->on_stop(control->user);
    return 0;
}

/* Stops a guest that a restart may start again. */
static void rest(struct rapahub_control *control, struct host_server_client *client,
                 struct rapahub_string name)
{
    struct rapahub_child_id child;
    int r = find_child(control, name, &child);

    if (r == 0)
        host_operation_child(
            control, client,
            &(const struct host_operation_child){control->host.rest, child, REST_NS});
    else
        host_reply_end(control, client, r);
}

static void stop_guest(struct rapahub_control *control, struct host_server_client *client,
                       struct rapahub_string name)
{
    struct rapahub_guest_id guest;
    int r = find_guest(control, name, &guest);

    if (r == 0)
        host_operation_stop(control, client, guest);
    else
        host_reply_end(control, client, r);
}

static void stop(struct rapahub_control *control, struct host_server_client *client,
                 const union host_frame_record *record)
{
    if (record->name.name.size == 0)
        host_reply_end(control, client, stop_host(control));
    else if (control->host.rest)
        rest(control, client, record->name.name);
    else
        stop_guest(control, client, record->name.name);
}

static void kill_guest(struct rapahub_control *control, struct host_server_client *client,
                       const union host_frame_record *record)
{
    struct rapahub_guest_id guest;
    int r = find_guest(control, record->name.name, &guest);

    if (r == 0)
        r = control->host.kill(control->host.host, guest);
    host_reply_end(control, client, r);
}

/* Copies a path with its terminator; false if it does not fit, or contains a NUL byte. */
static bool take_path(struct rapahub_string from, char *to, size_t size)
{
    if (from.size >= size || (from.size > 0 && memchr(from.data, '\0', from.size)))
        return false;
    if (from.size > 0)
        memcpy(to, from.data, from.size);
    to[from.size] = '\0';
    return true;
}

static void upgrade(struct rapahub_control *control, struct host_server_client *client,
                    const union host_frame_record *record)
{
    char path[PATH_MAX];
    const struct rapahub_upgrade_options options = {
        .chimod = path, .timeout_ns = record->upgrade.timeout_ns, .check = record->upgrade.check};
    struct rapahub_guest_id guest;
    int r = find_guest(control, record->upgrade.guest, &guest);

    if (r == 0 && !control->host.upgrade)
        r = rapahub_fail(RAPAHUB_ENOTSUP, "", "host '%s' upgrades no guest", control->name);
    else if (r == 0 && !take_path(record->upgrade.chimod, path, sizeof path))
        r = rapahub_fail(RAPAHUB_EINVAL, "", "that is no path of a module");
    if (r == 0)
        host_operation_upgrade(control, client, guest, &options);
    else
        host_reply_end(control, client, r);
}

static void send_line(struct rapahub_control *control, struct host_server_client *client,
                      const struct host_line *line)
{
    const struct control_line record = {.time_ns = line->time_ns,
                                        .level = (uint8_t)line->level,
                                        .topic = rapahub_string_of(line->topic),
                                        .text = rapahub_string_of(line->text)};

    host_reply_send(control, client, HOST_FRAME_LINE, &record);
}

/* Lines are kept in the order of their times: after the first that is not too old, none is. */
static void send_kept_lines(struct rapahub_control *control, struct host_server_client *client)
{
    struct host_line line;

    while (!client->doomed && client->out.size - client->out.start < LINES_PENDING &&
           client->line < client->last && host_lines_next(control->lines, client->line, &line)) {
        client->line = line.number;
        if (line.time_ns < client->since_ns || line.number > client->last)
            continue;
        client->since_ns = 0;
        if ((uint32_t)line.level <= client->level)
            send_line(control, client, &line);
    }
}

void host_answer_lines(struct rapahub_control *control, struct host_server_client *client)
{
    struct host_line line;

    if (!client->following)
        return;
    send_kept_lines(control, client);
    if (client->last == UINT64_MAX ||
        (client->line < client->last && host_lines_next(control->lines, client->line, &line)))
        return;
    client->following = false;
    host_reply_end(control, client, 0);
}

static void logs(struct rapahub_control *control, struct host_server_client *client,
                 const union host_frame_record *record)
{
    uint64_t now_ns = hub_clock_wall(), age_ns = record->logs.since_ns;

    client->level = record->logs.level;
    client->line = 0;
    client->since_ns = age_ns < now_ns ? now_ns - age_ns : 0;
    client->last = record->logs.follow ? UINT64_MAX : host_lines_newest(control->lines);
    client->following = true;
    host_answer_lines(control, client);
}

void host_answer(struct rapahub_control *control, struct host_server_client *client,
                 enum host_frame_kind kind, const union host_frame_record *record)
{
    typedef void answer_function(struct rapahub_control *, struct host_server_client *,
                                 const union host_frame_record *);
    static answer_function *const functions[HOST_FRAME_REQUESTS] = {
        [HOST_FRAME_LIST] = list,       [HOST_FRAME_METHODS] = methods,
        [HOST_FRAME_CALL] = call,       [HOST_FRAME_CANCEL] = cancel,
        [HOST_FRAME_STOP] = stop,       [HOST_FRAME_KILL] = kill_guest,
        [HOST_FRAME_LOGS] = logs,       [HOST_FRAME_STATS] = stats,
        [HOST_FRAME_TREE] = tree,       [HOST_FRAME_RESTART] = restart,
        [HOST_FRAME_UPGRADE] = upgrade,
    };

    int r = host_rights_check(client->role, kind, record);

    if (r < 0)
        host_reply_end(control, client, r);
    else
        functions[kind](control, client, record);
}
