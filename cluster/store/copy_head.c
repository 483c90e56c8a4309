/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/copy_head.h"

#include <string.h>

#include "cluster/base/ids.h"
#include "hub/base/crc32c.h"

#define CHECKSUM_AT 124

_Static_assert(sizeof CLUSTER_COPY_HEAD_MAGIC == 8, "its last byte is 0");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a copy is little-endian");

#define PUT(to, at, number)    memcpy((to) + (at), &(number), sizeof(number))
#define TAKE(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

void cluster_copy_head_put(const struct cluster_copy_head *head, uint8_t to[CLUSTER_COPY_HEAD_SIZE])
{
    uint32_t checksum;

    memset(to, 0, CLUSTER_COPY_HEAD_SIZE);
    memcpy(to, CLUSTER_COPY_HEAD_MAGIC, sizeof CLUSTER_COPY_HEAD_MAGIC);
    PUT(to, 8, head->id);
    PUT(to, 16, head->pool);
    PUT(to, 24, head->container);
    PUT(to, 28, head->module);
    PUT(to, 32, head->token);
    PUT(to, 40, head->seq);
    PUT(to, 48, head->base_token);
    PUT(to, 56, head->base_seq);
    PUT(to, 64, head->state_version);
    PUT(to, 68, head->version);
    PUT(to, 72, head->state_size);
    PUT(to, 80, head->dedup_size);
    memcpy(to + 88, head->digest, sizeof head->digest);
    checksum = hub_crc32c(0, to, CHECKSUM_AT);
    PUT(to, CHECKSUM_AT, checksum);
}

/* r[impl cluster.copy.form] */
bool cluster_copy_head_take(const uint8_t from[CLUSTER_COPY_HEAD_SIZE],
                            struct cluster_copy_head *out)
{
    uint8_t written[CLUSTER_COPY_HEAD_SIZE];

    TAKE(out->id, from, 8);
    TAKE(out->pool, from, 16);
    TAKE(out->container, from, 24);
    TAKE(out->module, from, 28);
    TAKE(out->token, from, 32);
    TAKE(out->seq, from, 40);
    TAKE(out->base_token, from, 48);
    TAKE(out->base_seq, from, 56);
    TAKE(out->state_version, from, 64);
    TAKE(out->version, from, 68);
    TAKE(out->state_size, from, 72);
    TAKE(out->dedup_size, from, 80);
    memcpy(out->digest, from + 88, sizeof out->digest);
    cluster_copy_head_put(out, written);
    return memcmp(written, from, sizeof written) == 0;
}

/* A whole state is the first copy of each life, so changes are of the life of their base. */
bool cluster_copy_head_is_sound(const struct cluster_copy_head *head)
{
    bool whole = head->base_token == 0 && head->base_seq == 0;

    return cluster_ids_is_pool(head->pool) && cluster_ids_is_container(head->container) &&
           cluster_ids_is_token(head->token) && head->seq > 0 &&
           (whole || (head->base_token == head->token && head->base_seq > 0 &&
                      head->base_seq < head->seq)) &&
           head->state_size <= CLUSTER_COPY_HEAD_BODY_MAX &&
           head->dedup_size <= CLUSTER_COPY_HEAD_BODY_MAX;
}

uint64_t cluster_copy_head_size(const struct cluster_copy_head *head)
{
    return CLUSTER_COPY_HEAD_SIZE + head->state_size + head->dedup_size;
}
