/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/link/credit.h"
#include "cluster/link/parts.h"
#include "cluster/link/receive_buffer.h"
#include "cluster/link/send_queue.h"
#include "cluster/link/silence.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

struct cluster_connection {
    struct cluster_transport transport;
    struct cluster_connection_options options;
    const struct cluster_connection_hooks *hooks;
    void *user;
    struct cluster_receive_buffer in;
    struct cluster_parts parts;
    struct cluster_send_queue out;
    struct cluster_credit credit;
    struct cluster_silence silence;
    bool later;    /* the next frame was left for later */
    bool overfull; /* it let too many frames wait */
    bool blocked;  /* bytes wait that the transport did not take */
    bool has_fds;  /* that came, and were not taken */
    int fds[CLUSTER_SEND_QUEUE_FDS];
};

/* The other side sees the end now, see hub/base/closer.h. */
static void end_transport(struct cluster_transport *transport, struct hub_closer *closer)
{
    transport->table->release(transport->self);
    (void)shutdown(transport->fd, SHUT_RDWR);
    hub_closer_give_end(closer, &transport->fd);
}

int cluster_connection_create(int fd, const struct cluster_connection_options *options,
                              const struct cluster_connection_hooks *hooks, void *user,
                              struct cluster_connection **out)
{
    struct cluster_connection *connection = calloc(1, sizeof *connection);
    struct cluster_transport transport = {options->transport, options->session, fd};

    if (!transport.table)
        transport.table = &cluster_transport_socket;
    if (!connection) {
        end_transport(&transport, options->closer);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a connection");
    }
    connection->transport = transport;
    connection->options = *options;
    connection->hooks = hooks;
    connection->user = user;
    connection->parts.most = options->body_max;
    connection->parts.budget = options->budget;
    cluster_credit_init(&connection->credit, CLUSTER_CONNECTION_CREDIT);
    connection->silence = (struct cluster_silence){
        .ask_ns = options->ping_ns, .end_ns = options->silent_ns, .heard_ns = hub_clock_now()};
    *out = connection;
    return 0;
}

void cluster_connection_release(struct cluster_connection **connection)
{
    struct cluster_connection *gone = *connection;

    *connection = NULL;
    if (!gone)
        return;
    end_transport(&gone->transport, gone->options.closer);
    for (unsigned i = 0; gone->has_fds && i < CLUSTER_SEND_QUEUE_FDS; i++)
        hub_closer_give(gone->options.closer, &gone->fds[i]);
    cluster_receive_buffer_fini(&gone->in);
    cluster_parts_fini(&gone->parts);
    cluster_send_queue_fini(&gone->out);
    free(gone);
}

int cluster_connection_fd(const struct cluster_connection *connection)
{
    return connection->transport.fd;
}

bool cluster_connection_waits(const struct cluster_connection *connection)
{
    return !cluster_send_queue_is_empty(&connection->out);
}

short cluster_connection_events(const struct cluster_connection *connection)
{
    bool waits = cluster_connection_waits(connection);

    if (connection->later && waits)
        return POLLOUT;
    return connection->transport.table->events(connection->transport.self, waits);
}

uint64_t cluster_connection_due(const struct cluster_connection *connection)
{
    const struct cluster_transport *transport = &connection->transport;
    uint64_t silence = cluster_silence_due(&connection->silence), due;

    if (connection->later)
        return cluster_connection_waits(connection) ? HUB_NEVER : 0;
    due = transport->table->due(transport->self);
    return due < silence ? due : silence;
}

/* ---- out ---- */

static size_t size_of(uint8_t type, const struct cluster_body *body, int *failure)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    *failure = cluster_body_put(&writer, type, body);
    return writer.size;
}

/* Writes a body that was measured before. */
static void write_body(uint8_t type, const struct cluster_body *body, uint8_t *to, size_t size)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to, size);
    (void)cluster_body_put(&writer, type, body);
}

static int put_whole(struct cluster_connection *connection, struct cluster_frame frame,
                     const struct cluster_body *body, size_t size)
{
    uint8_t *to;

    frame.body_size = (uint32_t)size;
    frame.flags = 0;
    to = cluster_send_queue_add(&connection->out, &frame);
    if (!to)
        return RAPAHUB_ENOMEM;
    write_body(frame.type, body, to, size);
    return 0;
}

/* A failure after the first part ends the connection, for the other side waits for the rest.
 * r[impl cluster.link.parts] */
static int put_parts(struct cluster_connection *connection, struct cluster_frame frame,
                     const struct cluster_body *body, size_t size)
{
    OWN(hub_memory) uint8_t *all = malloc(size);

    if (!all)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a body of %zu bytes", size);
    write_body(frame.type, body, all, size);
    for (size_t at = 0; at < size; at += frame.body_size) {
        size_t left = size - at;
        uint8_t *to;

        frame.flags = at == 0 ? CLUSTER_FRAME_FIRST : 0;
        if (left > CLUSTER_FRAME_BODY_MAX)
            frame.flags |= CLUSTER_FRAME_MORE;
        frame.body_size = (uint32_t)(left > CLUSTER_FRAME_BODY_MAX ? CLUSTER_FRAME_BODY_MAX : left);
        to = cluster_send_queue_add(&connection->out, &frame);
        if (!to) {
            connection->overfull = at > 0;
            return RAPAHUB_ENOMEM;
        }
        memcpy(to, all + at, frame.body_size);
    }
    return 0;
}

static int refuse_overfull(void)
{
    return rapahub_fail(RAPAHUB_EFULL, "cluster.link.queue",
                        "the other side does not read, and too much waits for it");
}

/* r[impl cluster.link.queue] */
int cluster_connection_put(struct cluster_connection *connection, const struct cluster_frame *frame,
                           const struct cluster_body *body)
{
    bool call = cluster_send_queue_is_call(frame->type);
    int r;
    size_t size = size_of(frame->type, body, &r);

    if (r < 0)
        return r;
    if (size > (call ? connection->options.body_max : CLUSTER_FRAME_BODY_MAX))
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a %s of %zu bytes; the limit is %zu",
                            cluster_frame_name(frame->type), size, connection->options.body_max);
    if (call && !cluster_credit_may_send(&connection->credit))
        return RAPAHUB_EAGAIN;
    if (!call &&
        connection->out.control + CLUSTER_FRAME_SIZE + size > CLUSTER_CONNECTION_CONTROL_MAX) {
        connection->overfull = true;
        return refuse_overfull();
    }
    r = size > CLUSTER_FRAME_BODY_MAX ? put_parts(connection, *frame, body, size)
                                      : put_whole(connection, *frame, body, size);
    if (r == 0 && call)
        cluster_credit_sent(&connection->credit, size);
    return r;
}

int cluster_connection_put_descriptors(struct cluster_connection *connection,
                                       const struct cluster_frame *frame,
                                       const struct cluster_body *body, const int descriptors[2])
{
    int r;

    if (connection->out.has_fds) {
        close(descriptors[0]);
        close(descriptors[1]);
        return rapahub_fail(RAPAHUB_EBUSY, "", "other descriptors wait to be sent");
    }
    cluster_send_queue_attach(&connection->out, descriptors);
    r = cluster_connection_put(connection, frame, body);
    if (r < 0)
        cluster_send_queue_detach(&connection->out);
    return r;
}

size_t cluster_connection_waiting(const struct cluster_connection *connection)
{
    return connection->out.size - connection->out.next;
}

uint8_t *cluster_connection_put_data(struct cluster_connection *connection, uint32_t stream,
                                     size_t size)
{
    const struct cluster_frame frame = {
        .body_size = (uint32_t)size, .type = CLUSTER_FRAME_BULK_DATA, .stream = stream};

    return cluster_send_queue_add(&connection->out, &frame);
}

int cluster_connection_flush(struct cluster_connection *connection)
{
    int r = connection->overfull
                ? refuse_overfull()
                : cluster_send_queue_flush(&connection->out, &connection->transport);

    if (r > 0 && connection->blocked)
        cluster_silence_moved(&connection->silence, hub_clock_now());
    connection->blocked = cluster_connection_waits(connection);
    return r < 0 ? r : 0;
}

/* ---- in ---- */

/* Where two may come with a frame, they are kept until it has been handed up. Any others are not
 * used. */
static void keep_descriptors(struct cluster_connection *connection, struct hub_received *received)
{
    if (connection->options.descriptors && !connection->has_fds &&
        received->fds_count == CLUSTER_SEND_QUEUE_FDS) {
        memcpy(connection->fds, received->fds, sizeof connection->fds);
        connection->has_fds = true;
        return;
    }
    while (received->fds_count > 0)
        hub_closer_give(connection->options.closer, &received->fds[--received->fds_count]);
}

/* Returns how many bytes came; 0: none wait. */
static int fill(struct cluster_connection *connection, uint64_t now_ns)
{
    struct cluster_receive_buffer *in = &connection->in;
    struct hub_received received;
    int n;

    if (!cluster_receive_buffer_reserve(in))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a frame");
    received.bytes = in->data + in->size;
    received.room = in->capacity - in->size;
    received.fds_count = 0;
    n = connection->transport.table->receive(connection->transport.self, connection->transport.fd,
                                             &received);
    if (n <= 0)
        return n;
    keep_descriptors(connection, &received);
    in->size += (size_t)n;
    cluster_silence_heard(&connection->silence, now_ns);
    return n;
}

bool cluster_connection_take_descriptors(struct cluster_connection *connection, int out[2])
{
    bool had = connection->has_fds;

    if (had)
        memcpy(out, connection->fds, sizeof connection->fds);
    connection->has_fds = false;
    return had;
}

static int hand_up(struct cluster_connection *connection, const struct cluster_frame *frame,
                   struct rapahub_bytes bytes)
{
    struct cluster_body body;
    int r = cluster_body_read(frame->type, bytes, &body);

    return r < 0 ? r : connection->hooks->frame(connection->user, frame, &body);
}

static int give_back(struct cluster_connection *connection, uint64_t bytes)
{
    uint32_t back = cluster_credit_consume(&connection->credit, bytes);
    const struct cluster_body body = {.credit = {CLUSTER_CREDIT_CALLS, back}};

    return back == 0 ? 0
                     : cluster_connection_put(connection,
                                              &(struct cluster_frame){.type = CLUSTER_FRAME_CREDIT},
                                              &body);
}

static int take_call(struct cluster_connection *connection, const struct cluster_frame *frame,
                     struct rapahub_bytes bytes)
{
    struct cluster_parts *parts = &connection->parts;
    struct rapahub_bytes whole;
    int r = cluster_parts_begins(parts) ? cluster_credit_begin(&connection->credit) : 0;

    if (r == 0)
        r = cluster_parts_take(parts, frame, bytes, &whole);
    if (r == 0) {
        r = hand_up(connection, frame, whole);
        if (r == CLUSTER_CONNECTION_LATER) {
            cluster_parts_put_back(parts, frame);
            return r;
        }
        cluster_parts_done(parts);
    }
    if (r < 0)
        return r;
    cluster_credit_received(&connection->credit, bytes.size);
    return give_back(connection, bytes.size);
}

static int take_credit(struct cluster_connection *connection, const struct cluster_frame *frame,
                       struct rapahub_bytes bytes)
{
    bool had = cluster_credit_may_send(&connection->credit);
    struct cluster_body body;
    int r = cluster_body_read(frame->type, bytes, &body);

    if (r == 0 && (frame->stream != 0 || body.credit.kind != CLUSTER_CREDIT_CALLS))
        r = rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.link.credit", "credit for what is not there");
    if (r == 0)
        r = cluster_credit_gain(&connection->credit, body.credit.bytes);
    if (r == 0 && !had && cluster_credit_may_send(&connection->credit))
        connection->hooks->credit(connection->user);
    return r;
}

/* r[impl cluster.link.alive] */
static int answer_ping(struct cluster_connection *connection)
{
    return cluster_connection_put(connection, &(struct cluster_frame){.type = CLUSTER_FRAME_PONG},
                                  &(struct cluster_body){0});
}

static int take_of_stream(struct cluster_connection *connection, const struct cluster_frame *frame,
                          struct rapahub_bytes bytes)
{
    if (!connection->options.streams)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.frame.type",
                            "a %s, which this connection does not take",
                            cluster_frame_name(frame->type));
    return frame->type == CLUSTER_FRAME_BULK_DATA
               ? connection->hooks->frame(connection->user, frame,
                                          &(struct cluster_body){.data = bytes})
               : hand_up(connection, frame, bytes);
}

static int take_frame(struct cluster_connection *connection, const struct cluster_frame *frame,
                      struct rapahub_bytes bytes)
{
    switch (frame->type) {
    case CLUSTER_FRAME_CALL:
    case CLUSTER_FRAME_RESULT:
    case CLUSTER_FRAME_EACH:
        return take_call(connection, frame, bytes);
    case CLUSTER_FRAME_CREDIT:
        return frame->stream != 0 && connection->options.streams
                   ? hand_up(connection, frame, bytes)
                   : take_credit(connection, frame, bytes);
    case CLUSTER_FRAME_PING:
    case CLUSTER_FRAME_PONG:
        if (bytes.size > 0)
            return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.wire.strict", "a %s has a body",
                                cluster_frame_name(frame->type));
        return frame->type == CLUSTER_FRAME_PING ? answer_ping(connection) : 0;
    case CLUSTER_FRAME_BULK_OPEN:
    case CLUSTER_FRAME_BULK_DATA:
    case CLUSTER_FRAME_BULK_DONE:
    case CLUSTER_FRAME_BULK_RESET:
        return take_of_stream(connection, frame, bytes);
    default:
        return hand_up(connection, frame, bytes);
    }
}

/* Takes the next frame, if it is there wholly. Returns 1; 0: it is not, or it was left for later.
 */
static int take_next(struct cluster_connection *connection)
{
    struct cluster_receive_buffer *in = &connection->in;
    struct cluster_frame frame;
    struct rapahub_bytes bytes;
    int r = cluster_receive_buffer_next(in, &frame, &bytes);

    if (r <= 0)
        return r;
    r = frame.type >= CLUSTER_FRAME_IGNORED ? 0 : take_frame(connection, &frame, bytes);
    connection->later = r == CLUSTER_CONNECTION_LATER;
    if (r != 0)
        return r < 0 ? r : 0;
    cluster_receive_buffer_pass(in);
    return 1;
}

static int take_all(struct cluster_connection *connection)
{
    int r;

    do
        r = take_next(connection);
    while (r > 0);
    cluster_receive_buffer_trim(&connection->in);
    return r;
}

/* A side that is not read from may be silent. */
static int look_at_silence(struct cluster_connection *connection, uint64_t now_ns)
{
    const uint64_t most_ns = connection->options.silent_ns;

    if (connection->later)
        return 0;
    switch (cluster_silence_step(&connection->silence, now_ns)) {
    case CLUSTER_SILENCE_ASK:
        return cluster_connection_put(connection,
                                      &(struct cluster_frame){.type = CLUSTER_FRAME_PING},
                                      &(struct cluster_body){0});
    case CLUSTER_SILENCE_END:
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.link.silent",
                            "nothing has come from the other side for %d s",
                            (int)(most_ns / HUB_SECOND));
    default:
        return 0;
    }
}

/* Bytes that came before the other side hung up are handed up, though nothing can be written. */
int cluster_connection_dispatch(struct cluster_connection *connection, uint64_t now_ns)
{
    int written = cluster_connection_flush(connection), r = 0;

    if (connection->later && cluster_connection_waits(connection) && written == 0)
        return 0;
    r = take_all(connection);
    if (r == 0 && !connection->later)
        r = fill(connection, now_ns);
    if (r > 0)
        r = take_all(connection);
    if (r == 0)
        r = written < 0 ? written : look_at_silence(connection, now_ns);
    return r < 0 ? r : cluster_connection_flush(connection);
}
