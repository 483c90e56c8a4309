/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_opening.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/clock.h"

#define WAIT_NS       (10 * HUB_SECOND)
#define ROUNDS_CLOSED 4 /* over all members: one that starts may hang up some time */
#define LEAD          "rapahub metastore 1 generation "
#define META          LEAD "%lu"
#define META_MAX      64

/* Reads what META writes, and nothing else. */
static int read_meta(struct cluster_etcd_space *space, struct rapahub_bytes value, uint64_t created)
{
    char text[META_MAX], again[META_MAX];
    unsigned long generation = 0;

    snprintf(text, sizeof text, "%.*s", value.size < META_MAX ? (int)value.size : 0,
             (const char *)value.data);
    if (strncmp(text, LEAD, strlen(LEAD)) == 0)
        generation = strtoul(text + strlen(LEAD), NULL, 10);
    snprintf(again, sizeof again, META, generation);
    if (generation > CLUSTER_GENERATION_MAX || strcmp(text, again) != 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "the store is of a later release, or of another program");
    space->generation = (uint32_t)generation;
    space->base = created;
    return 0;
}

int cluster_etcd_opening_message(struct cluster_etcd_opening *opening, struct rapahub_bytes bytes)
{
    struct cluster_etcd_space *space = opening->members->space;
    struct rapahub_bytes value;
    uint64_t created;
    int r;

    cluster_etcd_reply_clear(&opening->answer);
    if (opening->creates)
        return cluster_etcd_reply_create(space, bytes, &opening->answer);
    r = cluster_etcd_reply_meta(space, bytes, &opening->answer, &value, &created);
    if (r == 0 && opening->answer.status == CLUSTER_TXN_OK)
        opening->failure = read_meta(space, value, created);
    opening->revision = opening->answer.revision;
    return r;
}

void cluster_etcd_opening_over(struct cluster_etcd_opening *opening,
                               const struct cluster_grpc_end *end)
{
    opening->stream = 0;
    opening->over = true;
    if (end->status != CLUSTER_GRPC_OK && end->status != CLUSTER_GRPC_UNAVAILABLE)
        opening->failure = rapahub_fail(RAPAHUB_EACCES, "", "etcd refuses: %s", end->text);
    else if (end->status != CLUSTER_GRPC_OK)
        opening->answer.status = CLUSTER_TXN_UNKNOWN;
}

void cluster_etcd_opening_down(struct cluster_etcd_opening *opening)
{
    opening->stream = 0;
}

static int ask(struct cluster_etcd_opening *opening)
{
    struct cluster_grpc *grpc = cluster_etcd_members_grpc(opening->members);
    struct cluster_grpc_request request = {
        .path = opening->creates ? "/etcdserverpb.KV/Txn" : "/etcdserverpb.KV/Range",
        .answer_max = 64 << 10,
    };
    struct cluster_etcd_message message = {0};
    char text[META_MAX];
    int r;

    if (!grpc || opening->stream != 0 || opening->over)
        return 0;
    snprintf(text, sizeof text, META, 0UL);
    r = opening->creates ? cluster_etcd_request_create(opening->members->space, text, &message)
                         : cluster_etcd_request_meta(opening->members->space, &message);
    if (r < 0)
        return r;
    opening->answer.status = CLUSTER_TXN_UNKNOWN;
    request.message = (struct rapahub_bytes){message.data, message.size};
    r = cluster_grpc_call(grpc, &request, opening, &opening->stream);
    free(message.data);
    return r == -EBUSY ? 0 : r; /* the session ends: the next one is asked */
}

static int fail_late(const struct cluster_etcd_members *members, const char *url)
{
    const char *why = members->why[0] ? members->why : "no member has answered";
    int code = members->why_code != 0 ? members->why_code : -ETIMEDOUT;

    return rapahub_fail(code, "cluster.store.etcd.member",
                        "metastore '%.200s': %s; see whether etcd runs there", url, why);
}

/* A failure of a member that another one could not mend, either. */
static bool is_final(const struct cluster_etcd_members *members)
{
    unsigned rounds = members->failed / members->url->count;
    int code = members->why_code;

    if (code == RAPAHUB_ECLOSED || code == -ECONNRESET)
        return rounds >= ROUNDS_CLOSED;
    return rounds >= 1 && code != -ETIMEDOUT && code != -EAGAIN && code != -ECONNREFUSED;
}

/* Steps until there is an answer to one question. */
static int wait_for(struct cluster_etcd_opening *opening, const char *url, uint64_t deadline_ns)
{
    struct pollfd fd = {.fd = opening->members->epoll, .events = POLLIN};

    opening->over = false;
    while (!opening->over) {
        uint64_t now_ns = hub_clock_now(), due_ns;
        int r;

        if (now_ns >= deadline_ns || is_final(opening->members))
            return fail_late(opening->members, url);
        due_ns = cluster_etcd_members_step(opening->members, now_ns);
        r = ask(opening);
        if (r < 0)
            return r;
        cluster_etcd_members_flush(opening->members);
        if (!opening->over)
            (void)poll(&fd, 1, hub_clock_left_ms(due_ns < deadline_ns ? due_ns : deadline_ns, 100));
    }
    return opening->failure;
}

static int refuse_missing(const char *url)
{
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "metastore '%.200s': there is no store with this prefix in this etcd", url);
}

int cluster_etcd_opening_run(struct cluster_etcd_opening *opening, const char *url, bool create)
{
    uint64_t deadline_ns = hub_clock_after(WAIT_NS);
    int r;

    for (;;) {
        opening->creates = false;
        r = wait_for(opening, url, deadline_ns);
        if (r < 0 || opening->answer.status == CLUSTER_TXN_OK)
            break;
        if (opening->answer.status == CLUSTER_TXN_UNKNOWN)
            continue;
        if (!create) {
            r = refuse_missing(url);
            break;
        }
        opening->creates = true;
        r = wait_for(opening, url, deadline_ns);
        if (r < 0)
            break;
    }
    cluster_etcd_reply_clear(&opening->answer);
    return r;
}
