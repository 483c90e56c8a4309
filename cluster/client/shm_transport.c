/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/shm_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/wire/shared_call.h"
#include "hub/connection/attach.h"
#include "hub/connection/heartbeat.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/metadata.h"
#include "hub/wire/postcard.h"
#include "hub/wire/response.h"
#include "hub/wire/signature.h"

#define PATH_SIZE 32
#define OVERHEAD  256 /* bytes of a message beside the request, at most */

struct cluster_shm_transport {
    struct hub_attach attach;
    struct hub_heartbeat heartbeat;
    struct hub_a32 holders;
    struct hub_a32 gone; /* 1: the node has said goodbye, or hung up */
    uint64_t method_id;
    size_t metadata_size;
    uint8_t metadata[CLUSTER_SHM_TRANSPORT_HEAD / 2]; /* names the container */
    char path[PATH_SIZE];
};

/* ---- events of the link ---- */

static void on_nothing(void *user)
{
    (void)user;
}

/* No other process ever held the node's end of the doorbell. */
static void on_hint(void *user)
{
    struct cluster_shm_transport *transport = user;

    hub_publish(&transport->gone, 1);
    hub_link_dead(transport->attach.connection.link);
}

static void on_goodbye(void *user, const char *reason)
{
    struct cluster_shm_transport *transport = user;

    (void)reason;
    hub_publish(&transport->gone, 1);
}

/* ---- opened and ended ---- */

static int name_container(struct cluster_shm_transport *transport)
{
    uint8_t target[HUB_LIFECYCLE_TARGET_MAX];
    const struct rapahub_container_id id = {CLUSTER_SHARED_CALL_POOL, 0};
    const struct hub_metadata metadata = {.target = {target, hub_lifecycle_put_target(id, target)}};
    struct hub_writer writer;

    hub_writer_init(&writer, transport->metadata, sizeof transport->metadata);
    (void)hub_metadata_write(&writer, &metadata);
    transport->metadata_size = writer.size;
    transport->method_id = hub_signature_hash(CLUSTER_SHARED_CALL_METHOD);
    return writer.failure;
}

static int attach(struct cluster_shm_transport *transport)
{
    const struct hub_connection_events events = {on_nothing, on_nothing, on_nothing, on_nothing,
                                                 on_hint,    on_goodbye, transport,  NULL};
    int r = name_container(transport);

    return r < 0 ? r : hub_attach_open(&transport->attach, &events);
}

static int start_heartbeat(struct cluster_shm_transport *transport)
{
    const struct hub_heartbeat_order order = {
        .entry = transport->attach.view.entry,
        .epoch = transport->attach.epoch,
        .interval_ns = hub_link_limits(transport->attach.connection.link)->heartbeat_ns};

    return hub_heartbeat_start(&transport->heartbeat, &order);
}

/* The descriptor of a segment is closed where it was mapped, unless something failed before. */
static void close_segment(const struct cluster_shm_transport *transport, int fd)
{
    const struct hub_segment *segment = transport->attach.segment;

    if (!segment || segment->mapping.fd >= 0)
        close(fd);
}

int cluster_shm_transport_open(const int descriptors[2], uint32_t peer, uint8_t waiting,
                               struct cluster_shm_transport **out)
{
    struct cluster_shm_transport *transport = calloc(1, sizeof *transport);
    int r;

    if (!transport) {
        close(descriptors[0]);
        close(descriptors[1]);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a segment");
    }
    hub_store_relaxed(&transport->holders, 1);
    snprintf(transport->path, sizeof transport->path, "/proc/self/fd/%d", descriptors[0]);
    transport->attach.ticket = (struct hub_ticket){.hub_path = transport->path,
                                                   .peer = peer,
                                                   .doorbell = descriptors[1],
                                                   .module = -1,
                                                   .waiting = waiting};
    r = attach(transport);
    close_segment(transport, descriptors[0]);
    if (r == 0)
        r = start_heartbeat(transport);
    if (r < 0)
        cluster_shm_transport_drop(transport);
    else
        *out = transport;
    return r;
}

/* The state is set last: the node uses nothing of this client after it. */
void cluster_shm_transport_end(struct cluster_shm_transport *transport)
{
    struct hub_link *link = transport->attach.connection.link;

    hub_publish(&transport->gone, 1);
    hub_heartbeat_stop(&transport->heartbeat);
    if (!hub_link_closed(link)) {
        hub_link_say_goodbye(link, "", "the client goes on by its socket");
        hub_link_leave(link);
    }
    hub_link_close(link, RAPAHUB_ECLOSED, "");
    cluster_shm_transport_drop(transport);
}

bool cluster_shm_transport_is_over(const struct cluster_shm_transport *transport)
{
    const struct hub_link *link = transport->attach.connection.link;

    return hub_observe(&transport->gone) != 0 || hub_link_closed(link) || hub_link_host_left(link);
}

void cluster_shm_transport_hold(struct cluster_shm_transport *transport)
{
    hub_add(&transport->holders, 1);
}

void cluster_shm_transport_drop(struct cluster_shm_transport *transport)
{
    if (hub_add(&transport->holders, UINT32_MAX) != 1)
        return;
    hub_attach_close(&transport->attach);
    free(transport);
}

/* ---- requests ---- */

size_t cluster_shm_transport_request_max(const struct cluster_shm_transport *transport)
{
    uint32_t most = hub_link_limits(transport->attach.connection.link)->payload_max;

    return most > OVERHEAD ? most - OVERHEAD : 0;
}

/* Puts metadata and length right before the request. */
static struct rapahub_bytes put_head(const struct cluster_shm_transport *transport, uint8_t *memory,
                                     size_t size)
{
    uint8_t length[10], *at = memory + CLUSTER_SHM_TRANSPORT_HEAD;
    size_t length_size = hub_postcard_put_at(length, size);

    at -= length_size;
    memcpy(at, length, length_size);
    at -= transport->metadata_size;
    memcpy(at, transport->metadata, transport->metadata_size);
    return (struct rapahub_bytes){at, transport->metadata_size + length_size + size};
}

/* An answer that is no result: the host could not have the request carried out, or ended it. */
static int read_answer(const struct hub_answer *answer, struct rapahub_bytes *out)
{
    struct hub_response response;
    struct hub_reader reader;
    int r;

    hub_reader_init(&reader, answer->data, answer->size);
    r = hub_response_decode(&reader, &response);
    if (r < 0)
        return r;
    if (response.kind != HUB_RESPONSE_OK)
        return hub_response_code(&response, "a call by shared memory");
    *out = hub_postcard_read_bytes(&reader);
    return hub_postcard_end(&reader) < 0
               ? rapahub_fail(RAPAHUB_EPROTOCOL, "", "an answer by shared memory cannot be read")
               : 0;
}

int cluster_shm_transport_ask(struct cluster_shm_transport *transport,
                              struct cluster_shm_request *request)
{
    struct hub_calls *calls = transport->attach.connection.calls;
    const struct hub_call call = {
        .method_id = transport->method_id,
        .payload = {.head = put_head(transport, request->memory, request->size)},
        .deadline_ns = request->deadline_ns,
        .answer = request->answer};
    uint64_t number;
    int r = hub_calls_begin(calls, &call, &number);

    request->sent = r == 0;
    if (r == 0)
        r = hub_calls_wait(calls, number, false);
    if (r == 0)
        r = read_answer(request->answer, &request->out);
    if (r == RAPAHUB_EBUSY) /* the host has not begun it: there are too many */
        request->sent = false;
    return r;
}
