/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/shm_setup.h"

#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"

#define TOPIC       "client"
#define PAYLOAD_MAX (64u * 1024)                         /* a larger answer comes by the socket */
#define AGAIN_NS    (HUB_SECOND + 100 * HUB_MILLISECOND) /* the node gives one a second, at most */

static int put_share(struct cluster_client_loop *loop)
{
    const struct cluster_body body = {.share = {PAYLOAD_MAX}};

    loop->asks = true;
    loop->share_ns = HUB_NEVER;
    return cluster_connection_put(loop->connection,
                                  &(struct cluster_frame){.type = CLUSTER_FRAME_SHARE}, &body);
}

int cluster_shm_setup_begin(struct cluster_client_loop *loop, uint64_t features)
{
    loop->share_ns = HUB_NEVER;
    if (loop->wanted == RAPAHUB_CLIENT_SOCKET)
        return 0;
    if ((features & CLUSTER_FEATURE_SHARE) != 0)
        return put_share(loop);
    rapahub_fail(RAPAHUB_ENOTSUP, "", "this node gives no shared memory");
    return 0;
}

/* A program that forwards the socket's bytes leaves out descriptors. */
static void note_none(const struct cluster_body_shared *shared)
{
    if (shared->status == 0)
        rapahub_fail(RAPAHUB_ENOTSUP, "",
                     "the descriptors of the node's shared memory did not come with its message");
    else
        rapahub_fail(RAPAHUB_ENOTSUP, "", "this node gives no shared memory now: %.*s",
                     (int)shared->text.size, shared->text.size > 0 ? shared->text.data : "");
    rapahub_log(RAPAHUB_LOG_DEBUG, TOPIC, "calls go by the socket: %s", rapahub_last_error()->text);
}

/* A node that has ended since it gave the segment gives another one after it has begun again. */
static bool is_awaited(const struct cluster_client_loop *loop)
{
    return loop->wanted == RAPAHUB_CLIENT_SHARED_MEMORY &&
           hub_observe(&loop->opened) == CLUSTER_CLIENT_OPENING;
}

int cluster_shm_setup_take(struct cluster_client_loop *loop,
                           const struct cluster_body_shared *shared)
{
    struct cluster_shm_transport *shm;
    int descriptors[2];
    bool came = cluster_connection_take_descriptors(loop->connection, descriptors);

    if (!loop->asks || (came && shared->status != 0)) {
        if (came) {
            close(descriptors[0]);
            close(descriptors[1]);
        }
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.client.frame",
                            "a SHARED came unasked, or with descriptors of nothing");
    }
    loop->asks = false;
    if (!came) {
        note_none(shared);
        return 0;
    }
    if (cluster_shm_transport_open(descriptors, shared->peer, shared->waiting, &shm) < 0) {
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "calls go by the socket: %s",
                    rapahub_last_error()->text);
        if (is_awaited(loop))
            loop->share_ns = hub_clock_now() + AGAIN_NS;
        return 0;
    }
    (void)cluster_client_calls_use(&loop->calls, shm);
    hub_publish(&loop->shares, 1);
    return 0;
}

static void give_up(struct cluster_client_loop *loop)
{
    struct cluster_shm_transport *shm = cluster_client_calls_use(&loop->calls, NULL);

    hub_publish(&loop->shares, 0);
    if (shm)
        cluster_shm_transport_end(shm);
}

int cluster_shm_setup_look(struct cluster_client_loop *loop, uint64_t now_ns)
{
    if (cluster_client_calls_is_cut_off(&loop->calls)) {
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the node has cut off the shared memory");
        give_up(loop);
        loop->share_ns = now_ns + AGAIN_NS;
    }
    return now_ns >= loop->share_ns ? put_share(loop) : 0;
}

void cluster_shm_setup_end(struct cluster_client_loop *loop)
{
    give_up(loop);
    loop->asks = false;
    loop->share_ns = HUB_NEVER;
}
