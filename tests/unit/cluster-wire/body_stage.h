/* SPDX-License-Identifier: Apache-2.0 */
/* body_stage: bodies that a test writes, and what is in many of them. */
#ifndef TESTS_UNIT_CLUSTER_WIRE_BODY_STAGE_H
#define TESTS_UNIT_CLUSTER_WIRE_BODY_STAGE_H

#include "cluster/wire/body.h"
#include "tests/unit/cluster-wire/written.h"

#define POOL (UINT64_C(256) << 32)

#define CLIENT (UINT64_C(1) << 63 | 5)
#define DIGEST TEXT("0123456789abcdef0123456789abcdef")
#define TEXT(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static inline struct written write_body(uint8_t type, const struct cluster_body *body)
{
    static uint8_t to[WRITTEN_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_body_put(&writer, type, body), 0);
    return written_by(&writer);
}

/* The code of a body that is refused when it is written; a reader asks the same. */
static inline int put(uint8_t type, const struct cluster_body *body)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_body_put(&writer, type, body);
}

#endif
