/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/shared_call.h"

#include <string.h>

#include <rapahub/error.h>

int cluster_shared_call_put(struct hub_writer *writer, const struct cluster_shared_call *call)
{
    size_t acks = call->acks_count * sizeof *call->acks, start;
    uint8_t header[CLUSTER_FRAME_SIZE] = {0};
    struct cluster_frame frame = call->frame;
    int r;

    hub_writer_byte(writer, (uint8_t)call->acks_count);
    hub_writer_put(writer, call->acks, acks);
    start = writer->size;
    hub_writer_put(writer, header, sizeof header); /* it says how long the body is */
    r = cluster_body_put(writer, CLUSTER_FRAME_CALL, &call->body);
    if (r < 0 || !writer->data)
        return r;
    frame.body_size = (uint32_t)(writer->size - start - sizeof header);
    frame.flags = 0;
    cluster_frame_write(&frame, writer->data + start);
    return 0;
}

static int refuse(const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.shared.request", "a request %s", why);
}

/* r[impl cluster.shared.request] */
int cluster_shared_call_read(struct rapahub_bytes from, struct cluster_shared_call *out)
{
    struct hub_reader reader;
    size_t acks;
    int r;

    hub_reader_init(&reader, from.data, from.size);
    if (hub_reader_left(&reader) == 0)
        return refuse("is empty");
    out->acks_count = *reader.at++;
    acks = out->acks_count * sizeof *out->acks;
    if (out->acks_count > CLUSTER_SHARED_CALL_ACKS)
        return refuse("acknowledges more than 32 calls");
    if (hub_reader_left(&reader) < acks + CLUSTER_FRAME_SIZE)
        return refuse("is cut");
    memcpy(out->acks, reader.at, acks);
    reader.at += acks;
    r = cluster_frame_read(reader.at, &out->frame);
    if (r < 0)
        return r;
    reader.at += CLUSTER_FRAME_SIZE;
    if (out->frame.type != CLUSTER_FRAME_CALL || out->frame.flags != 0 ||
        out->frame.body_size != hub_reader_left(&reader))
        return refuse("has no whole CALL, or more than one");
    return cluster_body_read(CLUSTER_FRAME_CALL,
                             (struct rapahub_bytes){reader.at, hub_reader_left(&reader)},
                             &out->body);
}

int cluster_shared_call_put_answer(struct hub_writer *writer, uint8_t type,
                                   const struct cluster_body *body)
{
    hub_writer_byte(writer, type);
    return cluster_body_put(writer, type, body);
}

static bool is_answer(uint8_t type)
{
    return type == CLUSTER_FRAME_RESULT || type == CLUSTER_FRAME_NACK ||
           type == CLUSTER_FRAME_RESOLVED || type == CLUSTER_FRAME_ACK;
}

int cluster_shared_call_read_answer(struct rapahub_bytes from, uint8_t *type,
                                    struct cluster_body *out)
{
    const uint8_t *data = from.data;

    if (from.size == 0 || !is_answer(data[0]))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.shared.request",
                            "an answer of the node is none to a call");
    *type = data[0];
    return cluster_body_read(*type, (struct rapahub_bytes){data + 1, from.size - 1}, out);
}
