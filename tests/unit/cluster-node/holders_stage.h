/* SPDX-License-Identifier: Apache-2.0 */
/* holders_stage: a core that knows the holders and the entry of one container, and links that are
 * the test's: what is sent is kept, as bytes that were written and can be read. The program is
 * linked with --wrap=cluster_peer_links_put and --wrap=cluster_peer_links_session.
 */
#ifndef TESTS_UNIT_CLUSTER_NODE_HOLDERS_STAGE_H
#define TESTS_UNIT_CLUSTER_NODE_HOLDERS_STAGE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/dispatch.h"
#include "cluster/node/peers/peer_links.h"
#include "tests/support/testing.h"

#define POOL      (UINT64_C(256) << 32)
#define CONTAINER 3
#define EPOCH     UINT64_C(7)
#define TOKEN     (EPOCH << 16 | 1)
#define OWN       1
#define SENT_MAX  256
#define NODES     8
#define PIECE     CLUSTER_COPY_BODY_PIECE

struct sent_frame {
    uint8_t type;
    uint32_t to;
    size_t size;
    uint8_t *bytes;
};

static struct links {
    bool up[NODES];
    unsigned count;
    struct sent_frame sent[SENT_MAX];
} links;

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body);
uint64_t __wrap_cluster_peer_links_session(struct cluster_peer_links *self, uint32_t node);

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body)
{
    struct sent_frame *to = &links.sent[links.count];
    struct hub_writer writer;

    (void)self;
    if (!links.up[node])
        return rapahub_fail(-ENOTCONN, "", "no link");
    assert_in_range(links.count, 0, SENT_MAX - 1);
    *to = (struct sent_frame){.type = type, .to = node, .bytes = malloc(2 * PIECE)};
    assert_non_null(to->bytes);
    hub_writer_init(&writer, to->bytes, 2 * PIECE);
    assert_int_equal(cluster_body_put(&writer, type, body), 0); /* it is sound */
    to->size = writer.size;
    links.count++;
    return 0;
}

uint64_t __wrap_cluster_peer_links_session(struct cluster_peer_links *self, uint32_t node)
{
    (void)self;
    return links.up[node] ? 5 : 0;
}

static inline void links_clear(void)
{
    for (unsigned i = 0; i < links.count; i++)
        free(links.sent[i].bytes);
    links.count = 0;
}

/* Reads the frame that was sent at a place. */
static inline struct cluster_body links_body(unsigned at, uint8_t type, uint32_t to)
{
    const struct sent_frame *frame = &links.sent[at];
    struct cluster_body body;

    assert_true(at < links.count);
    assert_int_equal(frame->type, type);
    assert_int_equal(frame->to, to);
    assert_int_equal(
        cluster_body_read(type, (struct rapahub_bytes){frame->bytes, frame->size}, &body), 0);
    return body;
}

/* ---- the core ---- */

static struct cluster_core *core;
static uint64_t record_revision;

static inline void core_begin(void)
{
    const struct cluster_limits limits = {.pools = 4,
                                          .entries = 64,
                                          .containers = 64,
                                          .calls = 64,
                                          .payloads = 64,
                                          .effects = 600,
                                          .parked = 8,
                                          .parked_container = 8,
                                          .parked_bytes = 1024,
                                          .parked_container_bytes = 1024,
                                          .dedup = 64,
                                          .dedup_container = 64,
                                          .dedup_bytes = 1024,
                                          .dedup_container_bytes = 1024,
                                          .retries = 8,
                                          .retry_bytes = 1024,
                                          .peers = 8,
                                          .peer_calls = 8,
                                          .peer_bytes = 1024};

    assert_int_equal(cluster_core_create(&limits, OWN, 5, &core), 0);
    memset(links.up, 0, sizeof links.up);
    links_clear();
    record_revision = 0;
}

static inline void core_end(void)
{
    links_clear();
    cluster_core_release(&core);
}

static inline void core_put_holders(uint32_t joining, const uint32_t *nodes, uint32_t count)
{
    struct cluster_record record = {.holders = {joining, {.of = nodes, .count = count}}};
    struct cluster_holders_put put = {.pool = POOL, .container = CONTAINER};
    uint8_t bytes[128];
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_HOLD, &record), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_HOLD, (struct rapahub_bytes){bytes, writer.size}, &record),
        0);
    put.revision = ++record_revision;
    put.record = &record.holders;
    assert_int_equal(cluster_holders_put(cluster_core_parts(core)->holders, &put), 0);
}
#define HOLDERS(joining, ...)                                    \
    core_put_holders((joining), (const uint32_t[]){__VA_ARGS__}, \
                     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline void core_put_entry(uint32_t owner, uint64_t epoch)
{
    struct cluster_address *address =
        cluster_address_map_add(cluster_core_parts(core)->map, POOL, CONTAINER);

    address->entry = (struct cluster_entry){
        .state = CLUSTER_ENTRY_ACTIVE, .owner = owner, .session = 100 + owner, .epoch = epoch};
}

#endif
