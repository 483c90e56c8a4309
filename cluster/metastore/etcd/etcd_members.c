/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_members.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/states.h"

#define BEGIN_NS   (3 * HUB_SECOND) /* for a session to begin */
#define PAUSE_LEAD (100 * HUB_MILLISECOND)
#define PAUSE_MOST (1600 * HUB_MILLISECOND)
#define LOOK_NS                                                                       \
    (20 * HUB_MILLISECOND) /* between two looks at a look-up, which has no descriptor \
                            */

/* etcd takes a ping each 5 s, and only while a stream is open: more of them end the session. */
#define IDLE_NS   (6 * HUB_SECOND)
#define SILENT_NS (3 * HUB_SECOND) /* for the answer */

enum state { IDLE, LOOKING, GREETING, READY };

static const struct hub_states states = {
    .name = "etcd",
    .of = {
        [IDLE] = {"Idle", HUB_TO(LOOKING) | HUB_TO(GREETING) | HUB_TO(IDLE)},
        [LOOKING] = {"Looking", HUB_TO(GREETING) | HUB_TO(IDLE)},
        [GREETING] = {"Greeting", HUB_TO(READY) | HUB_TO(IDLE)},
        [READY] = {"Ready", HUB_TO(IDLE)},
    }};

static const struct cluster_host_port *member_of(const struct cluster_etcd_members *members)
{
    return &members->url->members[members->turn];
}

static void move(struct cluster_etcd_members *members, uint32_t to, const char *why)
{
    hub_states_move(&states, &members->state, to, member_of(members)->host, why);
}

/* ---- the end of an attempt ---- */

static void close_all(struct cluster_etcd_members *members)
{
    cluster_etcd_link_release(&members->link);
    cluster_name_lookup_release(&members->lookup);
    members->greeting = 0;
    members->deadline_ns = members->pinged_ns = members->heard_ns = 0;
}

static void note_why(struct cluster_etcd_members *members, int code, const char *why)
{
    char name[CLUSTER_ETCD_URL_MEMBER];

    cluster_etcd_url_print(member_of(members), name);
    snprintf(members->why, sizeof members->why, "%s: %s", name, why);
    members->why_code = code;
}

/* The pause is made once all members were tried. */
static uint64_t pause_of(const struct cluster_etcd_members *members)
{
    unsigned rounds = members->failed / members->url->count;
    uint64_t pause_ns = PAUSE_LEAD;

    if (members->failed % members->url->count != 0)
        return 0;
    for (; rounds > 1 && pause_ns < PAUSE_MOST; rounds--)
        pause_ns *= 2;
    return pause_ns;
}

static void leave(struct cluster_etcd_members *members, uint64_t now_ns, int code, const char *why)
{
    bool was_ready = members->state == READY;

    note_why(members, code, why);
    close_all(members);
    move(members, IDLE, why);
    members->failed++;
    members->retry_ns = now_ns + pause_of(members);
    members->address++;
    if (members->address >= members->found.count) {
        members->turn = (members->turn + 1) % members->url->count;
        members->address = 0;
        members->found.count = 0;
    }
    if (was_ready)
        members->hooks->down(members->user);
}

static void leave_by_failure(struct cluster_etcd_members *members, uint64_t now_ns, int code)
{
    char why[CLUSTER_ETCD_MEMBERS_WHY];

    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    leave(members, now_ns, code, why);
    rapahub_clear_error();
}

void cluster_etcd_members_pass(struct cluster_etcd_members *members, uint64_t now_ns,
                               const char *why)
{
    if (members->state != IDLE)
        leave(members, now_ns, -ETIMEDOUT, why);
}

/* ---- the first question ---- */

/* Anything that is no MAJOR.MINOR is too old. */
static bool is_too_old(const char *version)
{
    char *end;
    unsigned long major = strtoul(version, &end, 10), minor;

    if (*end != '.')
        return true;
    minor = strtoul(end + 1, &end, 10);
    return major < 3 || (major == 3 && minor < 4);
}

/* r[impl cluster.store.etcd.member] */
static int look_at_status(struct cluster_etcd_members *members)
{
    const struct cluster_etcd_member_status *status = &members->status;

    if (status->cluster_id == 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.member",
                            "it answers, and is no etcd");
    if (is_too_old(status->version))
        return rapahub_fail(RAPAHUB_ECONFIG, "cluster.store.etcd.member",
                            "it is etcd %s, and 3.4 is the least", status->version);
    if (members->space->cluster_id != 0 && members->space->cluster_id != status->cluster_id)
        return rapahub_fail(RAPAHUB_ECONFIG, "cluster.store.etcd.member",
                            "it is of another etcd (%016" PRIx64 ") than before (%016" PRIx64 ")",
                            status->cluster_id, members->space->cluster_id);
    if (!status->has_leader)
        return rapahub_fail(-EAGAIN, "", "it has no leader: fewer than half of the members are up");
    members->space->cluster_id = status->cluster_id;
    return 0;
}

static int on_message(void *user, void *call, struct rapahub_bytes message)
{
    struct cluster_etcd_members *members = user;

    if (call != members)
        return members->hooks->calls.message(members->user, call, message);
    return cluster_etcd_reply_status(message, &members->status);
}

/* The session begins, or is left, in the step: not from inside of a hook. */
static void on_ended(void *user, void *call, const struct cluster_grpc_end *end)
{
    struct cluster_etcd_members *members = user;

    if (call != members) {
        members->hooks->calls.ended(members->user, call, end);
        return;
    }
    members->greeting = 0;
    if (end->status == CLUSTER_GRPC_OK)
        members->failure = look_at_status(members);
    else
        members->failure =
            rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.etcd.member",
                         "it answers, and is no etcd: %s (%u)", end->text, end->status);
}

static const struct cluster_grpc_hooks grpc_hooks = {.message = on_message, .ended = on_ended};

static int greet(struct cluster_etcd_members *members)
{
    const struct cluster_grpc_request request = {.path = "/etcdserverpb.Maintenance/Status",
                                                 .answer_max = 64 << 10};

    members->status = (struct cluster_etcd_member_status){0};
    members->failure = 0;
    return cluster_grpc_call(cluster_etcd_link_grpc(members->link), &request, members,
                             &members->greeting);
}

/* ---- the beginning of an attempt ---- */

static void connect_to(struct cluster_etcd_members *members, uint64_t now_ns)
{
    const struct cluster_etcd_link_options options = {
        .address = &members->found.addresses[members->address],
        .member = member_of(members),
        .tls = members->tls,
        .epoll = members->epoll,
        .hooks = &grpc_hooks,
        .user = members,
    };
    int r = cluster_etcd_link_open(&options, &members->link);

    if (r == 0)
        r = greet(members);
    if (r < 0)
        leave_by_failure(members, now_ns, r);
    else
        move(members, GREETING, "connects");
}

static void begin(struct cluster_etcd_members *members, uint64_t now_ns)
{
    int r;

    if (now_ns < members->retry_ns)
        return;
    if (members->found.count == 0 &&
        cluster_host_port_in_numbers(member_of(members), &members->found.addresses[0]))
        members->found.count = 1;
    if (members->found.count > 0) {
        connect_to(members, now_ns);
        return;
    }
    r = cluster_name_lookup_start(member_of(members), &members->lookup);
    if (r < 0)
        leave_by_failure(members, now_ns, r);
    else
        move(members, LOOKING, "has a name");
}

static void look(struct cluster_etcd_members *members, uint64_t now_ns)
{
    int r = cluster_name_lookup_take(members->lookup, &members->found);

    if (r == 0)
        return;
    cluster_name_lookup_release(&members->lookup);
    if (r < 0)
        leave_by_failure(members, now_ns, r);
    else
        connect_to(members, now_ns);
}

/* ---- steps ---- */

static void move_bytes(struct cluster_etcd_members *members, uint64_t now_ns)
{
    int r = cluster_etcd_link_step(members->link);

    if (r == 0)
        r = members->failure;
    if (r < 0) {
        leave_by_failure(members, now_ns, r);
        return;
    }
    if (cluster_etcd_link_was_heard(members->link) || members->heard_ns == 0) {
        members->heard_ns = now_ns;
        members->pinged_ns = 0;
    }
    if (members->state == GREETING && members->greeting == 0) {
        move(members, READY, "is etcd, and has a leader");
        members->failed = 0;
        members->deadline_ns = 0;
    }
}

/* A member that is silent is asked for a sign of life. */
static void keep_alive(struct cluster_etcd_members *members, uint64_t now_ns)
{
    if (members->pinged_ns != 0 && now_ns - members->pinged_ns >= SILENT_NS) {
        leave(members, now_ns, -ETIMEDOUT, "it has been silent for 9 s");
    } else if (members->pinged_ns == 0 && now_ns - members->heard_ns >= IDLE_NS &&
               cluster_grpc_has_calls(cluster_etcd_link_grpc(members->link))) {
        cluster_grpc_ping(cluster_etcd_link_grpc(members->link));
        members->pinged_ns = now_ns;
        cluster_etcd_members_flush(members);
    }
}

static uint64_t due(const struct cluster_etcd_members *members, uint64_t now_ns)
{
    if (members->state == IDLE)
        return members->retry_ns;
    if (members->state == READY)
        return members->pinged_ns != 0 ? members->pinged_ns + SILENT_NS
                                       : members->heard_ns + IDLE_NS;
    return members->state == LOOKING ? now_ns + LOOK_NS : members->deadline_ns;
}

uint64_t cluster_etcd_members_step(struct cluster_etcd_members *members, uint64_t now_ns)
{
    if (members->state == IDLE)
        begin(members, now_ns);
    else if (members->state == LOOKING)
        look(members, now_ns);
    if (members->link)
        move_bytes(members, now_ns);
    if (members->state == READY)
        keep_alive(members, now_ns);
    if ((members->state == LOOKING || members->state == GREETING) && members->deadline_ns == 0)
        members->deadline_ns = now_ns + BEGIN_NS;
    if (members->deadline_ns != 0 && now_ns >= members->deadline_ns)
        leave(members, now_ns, -ETIMEDOUT, "it has not answered for 3 s");
    return due(members, now_ns);
}

void cluster_etcd_members_restart_clock(struct cluster_etcd_members *members)
{
    members->deadline_ns = members->retry_ns = members->heard_ns = members->pinged_ns = 0;
}

struct cluster_grpc *cluster_etcd_members_grpc(struct cluster_etcd_members *members)
{
    return members->state == READY ? cluster_etcd_link_grpc(members->link) : NULL;
}

/* A failure comes again by the next step. */
void cluster_etcd_members_flush(struct cluster_etcd_members *members)
{
    if (members->link)
        (void)cluster_etcd_link_flush(members->link);
}

void cluster_etcd_members_init(struct cluster_etcd_members *members)
{
    members->state = IDLE;
    members->turn = members->failed = members->address = 0;
}

void cluster_etcd_members_fini(struct cluster_etcd_members *members)
{
    close_all(members);
}
