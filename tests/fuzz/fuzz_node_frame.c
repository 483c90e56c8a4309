/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame between a node and its client: a header, then its body. The checksum is put
 * right, for chance finds none. A frame that is read is written the same; a body that is read is
 * written such that it reads as the same bytes again. */
#include <string.h>

#include "cluster/wire/body.h"
#include "cluster/wire/shared_call.h"
#include "hub/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

#define CHECKED (CLUSTER_FRAME_SIZE - 4)

static void walk(struct cluster_list list)
{
    struct cluster_body_member member;
    uint32_t count = 0, all = list.count;

    while (cluster_body_next_member(&list, &member))
        count++;
    FUZZ_HOLDS(count == all && list.encoded.size == 0);
}

static void walk_updates(struct cluster_list list)
{
    uint32_t count = 0, all = list.count;
    struct cluster_update update;

    for (; cluster_body_next_update(&list, &update); count++)
        FUZZ_HOLDS(cluster_datagram_update_is_sound(&update));
    FUZZ_HOLDS(count == all && list.encoded.size == 0);
}

static size_t write_body(uint8_t type, const struct cluster_body *body, uint8_t **out)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    FUZZ_HOLDS(cluster_body_put(&writer, type, body) == 0);
    *out = malloc(writer.size + 1);
    FUZZ_HOLDS(*out != NULL);
    hub_writer_init(&writer, *out, writer.size);
    FUZZ_HOLDS(cluster_body_put(&writer, type, body) == 0);
    return writer.size;
}

static void check_body(uint8_t type, const uint8_t *data, size_t size)
{
    struct cluster_body body, again;
    uint8_t *first, *second;
    size_t length;

    if (cluster_body_read(type, (struct rapahub_bytes){data, size}, &body) < 0)
        return;
    if (type == CLUSTER_FRAME_CALL)
        walk(body.call.members);
    if (type == CLUSTER_FRAME_RESOLVED)
        walk(body.resolved.members);
    if (type == CLUSTER_FRAME_PUSH_PULL)
        walk_updates(body.push_pull.updates);
    length = write_body(type, &body, &first);
    FUZZ_HOLDS(cluster_body_read(type, (struct rapahub_bytes){first, length}, &again) == 0);
    FUZZ_HOLDS(write_body(type, &again, &second) == length);
    FUZZ_HOLDS(memcmp(first, second, length) == 0);
    free(first);
    free(second);
}

/* A call by shared memory: acknowledgements, the header, the body. */
static void check_shared_call(const uint8_t *data, size_t size)
{
    struct cluster_shared_call call;
    struct cluster_body body;
    uint8_t type, *copy = malloc(size + 1);
    size_t at = size > 0 ? 1 + 8 * (size_t)data[0] : 0;
    uint32_t checksum;

    FUZZ_HOLDS(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    if (size > 0 && at + CLUSTER_FRAME_SIZE <= size) {
        checksum = hub_crc32c(0, copy + at, CHECKED);
        memcpy(copy + at + CHECKED, &checksum, sizeof checksum);
    }
    if (cluster_shared_call_read((struct rapahub_bytes){copy, size}, &call) == 0) {
        FUZZ_HOLDS(call.acks_count <= CLUSTER_SHARED_CALL_ACKS);
        walk(call.body.call.members);
    }
    if (cluster_shared_call_read_answer((struct rapahub_bytes){copy, size}, &type, &body) == 0 &&
        type == CLUSTER_FRAME_RESOLVED)
        walk(body.resolved.members);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t header[CLUSTER_FRAME_SIZE], written[CLUSTER_FRAME_SIZE];
    struct cluster_frame frame;
    uint32_t checksum;

    check_shared_call(data, size);
    if (size < CHECKED)
        return 0;
    memcpy(header, data, CHECKED);
    checksum = hub_crc32c(0, header, CHECKED);
    memcpy(header + CHECKED, &checksum, sizeof checksum);
    if (cluster_frame_read(header, &frame) == 0) {
        FUZZ_HOLDS(frame.body_size <= CLUSTER_FRAME_BODY_MAX);
        cluster_frame_write(&frame, written);
        FUZZ_HOLDS(memcmp(header, written, sizeof header) == 0);
    }
    check_body(header[4], data + CHECKED, size - CHECKED);
    return 0;
}
