/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/frame.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/crc32c.h"

#define CHECKED (CLUSTER_FRAME_SIZE - 4) /* bytes before the checksum */

struct kind {
    const char *name;
    uint8_t type, members;
};

static const struct kind kinds[] = {
#define KIND(type, number, members) {#type, (number), (members)},
    CLUSTER_FRAMES(KIND)
#undef KIND
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* r[impl cluster.frame.type] */
static const struct kind *find(uint8_t type)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

const char *cluster_frame_name(uint8_t type)
{
    const struct kind *kind = find(type);

    return kind ? kind->name : "?";
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are little-endian");
#define PUT(to, at, number)    memcpy((to) + (at), &(number), sizeof(number))
#define TAKE(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

void cluster_frame_write(const struct cluster_frame *frame, uint8_t to[CLUSTER_FRAME_SIZE])
{
    uint32_t checksum;

    PUT(to, 0, frame->body_size);
    PUT(to, 4, frame->type);
    PUT(to, 5, frame->flags);
    PUT(to, 6, frame->ttl);
    PUT(to, 7, frame->attempt);
    PUT(to, 8, frame->uid.origin);
    PUT(to, 16, frame->uid.number);
    PUT(to, 24, frame->pool);
    PUT(to, 32, frame->container);
    PUT(to, 36, frame->replica);
    PUT(to, 40, frame->token);
    PUT(to, 48, frame->revision);
    PUT(to, 56, frame->stream);
    checksum = hub_crc32c(0, to, CHECKED);
    PUT(to, CHECKED, checksum);
}

/* r[impl cluster.frame.header] */
static void take(const uint8_t *from, struct cluster_frame *out)
{
    TAKE(out->body_size, from, 0);
    TAKE(out->type, from, 4);
    TAKE(out->flags, from, 5);
    TAKE(out->ttl, from, 6);
    TAKE(out->attempt, from, 7);
    TAKE(out->uid.origin, from, 8);
    TAKE(out->uid.number, from, 16);
    TAKE(out->pool, from, 24);
    TAKE(out->container, from, 32);
    TAKE(out->replica, from, 36);
    TAKE(out->token, from, 40);
    TAKE(out->revision, from, 48);
    TAKE(out->stream, from, 56);
}

static bool is_target(uint64_t pool)
{
    return cluster_ids_is_pool(pool) || cluster_ids_pool_of(pool).major == UINT32_MAX;
}

/* Returns why the members of a call are not sound, or NULL. A call whose ttl is 0 is no fault of
 * the peer: it is refused by itself. r[impl cluster.frame.members] */
static const char *why_not_call(const struct cluster_frame *frame)
{
    if (!cluster_ids_is_uid(frame->uid))
        return "no call has this uid";
    if (!is_target(frame->pool) || !cluster_ids_is_container(frame->container) ||
        !cluster_ids_is_container(frame->replica))
        return "no container has this number";
    if (frame->ttl > CLUSTER_FRAME_TTL)
        return "its ttl is above 3";
    if ((frame->token != 0 && !cluster_ids_is_token(frame->token)) ||
        (frame->revision != 0 && !cluster_ids_is_revision(frame->revision)))
        return "its token or its revision can be none";
    return NULL;
}

static bool has_no_call(const struct cluster_frame *frame)
{
    return frame->uid.origin == 0 && frame->uid.number == 0 && frame->pool == 0 &&
           frame->container == 0 && frame->replica == 0 && frame->ttl == 0 && frame->attempt == 0 &&
           frame->token == 0 && frame->revision == 0;
}

/* r[impl cluster.frame.size] */
static const char *why_not(const struct cluster_frame *frame, const struct kind *kind)
{
    bool streams = (kind->members & CLUSTER_FRAME_HAS_STREAM) != 0,
         parts = (kind->members & CLUSTER_FRAME_HAS_PARTS) != 0;

    if ((frame->flags & ~(CLUSTER_FRAME_MORE | CLUSTER_FRAME_FIRST)) != 0 ||
        (!parts && frame->flags != 0))
        return "it has a flag that is none of its type";
    if (frame->stream != 0 ? !streams : streams && frame->type != CLUSTER_FRAME_CREDIT)
        return "it names a stream, or none, against its type";
    if ((kind->members & CLUSTER_FRAME_HAS_CALL) != 0)
        return why_not_call(frame);
    return has_no_call(frame) ? NULL : "it has members that its type has not";
}

/* r[impl cluster.frame.checksum] */
int cluster_frame_read(const uint8_t from[CLUSTER_FRAME_SIZE], struct cluster_frame *out)
{
    const struct kind *kind;
    const char *why;
    uint32_t checksum;

    TAKE(checksum, from, CHECKED);
    if (checksum != hub_crc32c(0, from, CHECKED))
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.frame.checksum",
                            "the checksum of a frame is wrong");
    take(from, out);
    if (out->body_size > CLUSTER_FRAME_BODY_MAX)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.frame.size",
                            "a frame with a body of %" PRIu32 " bytes, the limit is %d",
                            out->body_size, CLUSTER_FRAME_BODY_MAX);
    if (out->type >= CLUSTER_FRAME_IGNORED) {
        *out = (struct cluster_frame){.type = out->type, .body_size = out->body_size};
        return 1;
    }
    kind = find(out->type);
    if (!kind)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.frame.type",
                            "a frame of type %u, which is unknown", out->type);
    why = why_not(out, kind);
    return why ? rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.frame.members", "a frame %s: %s",
                              kind->name, why)
               : 0;
}
