/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame of another node: a header, whose checksum is put right, then its body. One
 * that is read is written such that it reads as the same again. */
#include <string.h>

#include "cluster/core/base/peer_frame.h"
#include "hub/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

#define CHECKED (CLUSTER_FRAME_SIZE - 4)
#define NOW     UINT64_C(1000000000)

static void read_again(const struct cluster_peer_frame *frame, struct rapahub_bytes body)
{
    struct cluster_peer_frame_came came;
    struct cluster_peer_frame again;
    struct rapahub_bytes same;
    struct cluster_frame header;
    struct hub_writer writer;
    uint8_t *to;

    hub_writer_count(&writer);
    FUZZ_HOLDS(cluster_peer_frame_put(frame, body, NOW, &header, &writer) == 0);
    to = malloc(writer.size + 1);
    FUZZ_HOLDS(to != NULL);
    hub_writer_init(&writer, to, writer.size);
    FUZZ_HOLDS(cluster_peer_frame_put(frame, body, NOW, &header, &writer) == 0);
    came = (struct cluster_peer_frame_came){frame->node, &header, {to, writer.size}};
    FUZZ_HOLDS(cluster_peer_frame_read(&came, NOW, &again, &same) == 0);
    FUZZ_HOLDS(again.uid.number == frame->uid.number && again.attempt == frame->attempt &&
               again.lineage == frame->lineage && again.digest == frame->digest &&
               again.status == frame->status && again.reason == frame->reason &&
               again.chain == frame->chain && again.order_previous == frame->order_previous);
    FUZZ_HOLDS(same.size == body.size &&
               (body.size == 0 || memcmp(same.data, body.data, body.size) == 0));
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t wire[CLUSTER_FRAME_SIZE];
    struct cluster_peer_frame frame;
    struct cluster_frame header;
    struct cluster_peer_frame_came came = {7, &header, {NULL, 0}};
    struct rapahub_bytes body;
    uint32_t checksum;

    if (size < CHECKED)
        return 0;
    memcpy(wire, data, CHECKED);
    checksum = hub_crc32c(0, wire, CHECKED);
    memcpy(wire + CHECKED, &checksum, sizeof checksum);
    if (cluster_frame_read(wire, &header) != 0)
        return 0;
    came.body = (struct rapahub_bytes){data + CHECKED, size - CHECKED};
    if (cluster_peer_frame_read(&came, NOW, &frame, &body) < 0)
        return 0;
    FUZZ_HOLDS(body.size <= size - CHECKED && frame.attempt < CLUSTER_PEER_FRAME_ATTEMPTS);
    if (frame.deadline_ns < UINT64_MAX / 2)
        read_again(&frame, body);
    return 0;
}
