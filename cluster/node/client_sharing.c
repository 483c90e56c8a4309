/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_sharing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/admit.h>
#include <rapahub/error.h>
#include <rapahub/route.h>

#include "cluster/link/peer.h"
#include "cluster/node/services/node_inquiries.h"
#include "cluster/wire/shared_call.h"
#include "hub/base/own.h"
#include "hub/wire/postcard.h"

#define SMALL  1024 /* bytes of an answer for which nothing is allocated */
#define LENGTH 10   /* bytes of a length, at most */

struct cluster_client_sharing {
    struct rapahub_host *host;
    const struct cluster_client_sharing_hooks *hooks;
    void *user;
    struct cluster_node_inquiries *inquiries;
    struct guest {
        struct rapahub_guest_id id;
        uint32_t client;
        bool used;
    } guests[CLUSTER_SHARING_MAX];
};

/* ---- segments ---- */

static struct guest *find(struct cluster_client_sharing *sharing, uint32_t client)
{
    for (uint32_t i = 0; i < CLUSTER_SHARING_MAX; i++)
        if (sharing->guests[i].used && sharing->guests[i].client == client)
            return &sharing->guests[i];
    return NULL;
}

static struct guest *find_free(struct cluster_client_sharing *sharing)
{
    for (uint32_t i = 0; i < CLUSTER_SHARING_MAX; i++)
        if (!sharing->guests[i].used)
            return &sharing->guests[i];
    rapahub_fail(RAPAHUB_EFULL, "cluster.client.shared", "%d clients have shared memory",
                 CLUSTER_SHARING_MAX);
    return NULL;
}

void cluster_client_sharing_take_back(struct cluster_client_sharing *sharing, uint32_t client)
{
    struct guest *guest = find(sharing, client);

    if (!guest)
        return;
    guest->used = false;
    if (rapahub_host_kill(sharing->host, guest->id) < 0)
        rapahub_clear_error(); /* it has ended */
}

/* r[impl cluster.client.shared] */
int cluster_client_sharing_give(struct cluster_client_sharing *sharing, uint32_t client, int fd,
                                struct cluster_clients_segment *out)
{
    const struct rapahub_container_id only = {CLUSTER_SHARED_CALL_POOL, 0};
    OWN(hub_fd) int pidfd = cluster_peer_pidfd(fd);
    const struct rapahub_admit_options options = {
        .pidfd = pidfd, .hangup = fd, .pid = cluster_peer_pid(fd), .only = &only};
    struct rapahub_admission given;
    struct guest *guest;
    int status;

    cluster_client_sharing_take_back(sharing, client);
    guest = find_free(sharing);
    status = guest ? rapahub_host_admit(sharing->host, &options, &given) : RAPAHUB_EFULL;
    if (status < 0)
        return status;
    *guest = (struct guest){given.guest, client, true};
    *out = (struct cluster_clients_segment){
        {given.segment, given.doorbell}, given.peer, (uint8_t)given.waiting};
    return 0;
}

/* ---- requests ---- */

static const struct guest *find_guest(const struct cluster_client_sharing *sharing,
                                      struct rapahub_guest_id id)
{
    for (uint32_t i = 0; i < CLUSTER_SHARING_MAX; i++) {
        const struct guest *guest = &sharing->guests[i];

        if (guest->used && memcmp(&guest->id, &id, sizeof id) == 0)
            return guest;
    }
    return NULL;
}

/* A guest of a pool, and what serves to answer one, has no segment of a client. */
static int on_request(void *user, const struct rapahub_raw_call *call,
                      struct rapahub_request_id request)
{
    struct cluster_client_sharing *sharing = user;
    const struct guest *guest = find_guest(sharing, call->from);
    struct rapahub_bytes bytes;
    struct hub_reader reader;

    if (!guest)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.shared.request",
                            "rapahub.client is for clients of this node with shared memory");
    hub_reader_init(&reader, call->arguments.data, call->arguments.size);
    bytes = hub_postcard_read_bytes(&reader);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "these are no arguments of a call");
    return sharing->hooks->request(sharing->user, guest->client, request.number, bytes);
}

static void on_cancel(void *user, struct rapahub_request_id request)
{
    const struct cluster_client_sharing *sharing = user;

    sharing->hooks->given_up(sharing->user, request.number);
}

static const struct cluster_node_inquiries_hooks inquiries_hooks = {on_request, on_cancel};

static void answer(struct cluster_client_sharing *sharing, uint64_t request, int status,
                   struct rapahub_bytes payload)
{
    const struct rapahub_raw_answer end = {.status = status,
                                           .payload = payload,
                                           .text = status < 0 ? rapahub_last_error()->text : NULL};

    if (rapahub_host_answer_raw(sharing->host, (struct rapahub_request_id){request}, &end) < 0)
        rapahub_clear_error(); /* its client asks by the socket */
}

void cluster_client_sharing_respond(struct cluster_client_sharing *sharing, uint64_t request,
                                    uint8_t type, const struct cluster_body *body)
{
    OWN(hub_memory) uint8_t *large = NULL;
    struct hub_writer writer;
    uint8_t small[SMALL];
    size_t size;
    int status;

    hub_writer_count(&writer);
    status = cluster_shared_call_put_answer(&writer, type, body);
    size = writer.size;
    if (status == 0 && size + LENGTH > sizeof small) {
        large = malloc(size + LENGTH);
        status = large ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an answer");
    }
    if (status == 0) {
        hub_writer_init(&writer, large ? large : small, size + LENGTH);
        hub_postcard_put_unsigned(&writer, size);
        status = cluster_shared_call_put_answer(&writer, type, body);
    }
    answer(sharing, request, status,
           (struct rapahub_bytes){writer.data, status < 0 ? 0 : writer.size});
}

/* ---- made and released ---- */

int cluster_client_sharing_create(struct rapahub_host *host,
                                  const struct cluster_client_sharing_hooks *hooks, void *user,
                                  struct cluster_client_sharing **out)
{
    static const char *const methods[] = {CLUSTER_SHARED_CALL_METHOD, NULL};
    const struct rapahub_container_options options = {.id = {.pool = CLUSTER_SHARED_CALL_POOL},
                                                      .pool_name = "rapahub.client"};
    struct cluster_client_sharing *sharing = calloc(1, sizeof *sharing);
    int status;

    if (!sharing)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the segments of clients");
    sharing->host = host;
    sharing->hooks = hooks;
    sharing->user = user;
    status = cluster_node_inquiries_make(
        host, &(struct cluster_node_inquiries_offer){&options, methods, &inquiries_hooks, sharing},
        &sharing->inquiries);
    if (status < 0)
        free(sharing);
    else
        *out = sharing;
    return status;
}

void cluster_client_sharing_release(struct cluster_client_sharing **sharing)
{
    struct cluster_client_sharing *gone = *sharing;

    *sharing = NULL;
    if (!gone)
        return;
    cluster_node_inquiries_end(&gone->inquiries);
    for (uint32_t i = 0; i < CLUSTER_SHARING_MAX; i++)
        if (gone->guests[i].used)
            cluster_client_sharing_take_back(gone, gone->guests[i].client);
    free(gone);
}
