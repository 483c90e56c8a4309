/* SPDX-License-Identifier: Apache-2.0 */
/* streaming: what tests of streams do: bytes of a pattern in, and compared on their way out. */
#ifndef TESTS_INTEGRATION_STREAMING_H
#define TESTS_INTEGRATION_STREAMING_H

#include <rapahub/stream.h>

#include "tests/integration/hosting.h"

#define FLOW MODULE("flow")

UNUSED static const struct rapahub_container_id there = {.pool = {2, 0}};

UNUSED static unsigned char pattern(uint64_t at)
{
    return (unsigned char)(at * 31 + at / 251);
}

/* A small hub: every limit is met. */
UNUSED static const struct rapahub_host_options small = {
    .ring_size = 4, .slot_count = 2, .slot_size = 4096, .payload_max = 4000, .credit_size = 4096};

UNUSED static void open_flow(struct hosting *on, struct rapahub_host_options options)
{
    open_host(on, options);
    assert_done(start(on, FLOW, here, NULL));
}

UNUSED static struct rapahub_source *pattern_source(size_t size, unsigned char **memory)
{
    struct rapahub_source *source;

    *memory = malloc(size + 1);
    assert_non_null(*memory);
    for (size_t i = 0; i < size; i++)
        (*memory)[i] = pattern(i);
    assert_done(rapahub_source_of_memory(*memory, size, &source));
    return source;
}

/* r[verify flow.channel.initial-credit] r[verify flow.channel.credit-grant]
 * r[verify channeling.data] r[verify channeling.close] */
UNUSED static int try_drain(struct hosting *on, size_t size)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(size, &memory);
    uint64_t count = 1;
    int r = ask(on, "drain(source) -> u64", (const void *const[]){&source, NULL}, &count);

    if (r == 0)
        assert_int_equal(count, size);
    rapahub_source_destroy(source);
    free(memory);
    return r;
}

UNUSED static void drain(struct hosting *on, size_t size)
{
    assert_done(try_drain(on, size));
}

/* In and out at once, through the small hub. */
UNUSED static int copy(struct hosting *on, const char *method, size_t size)
{
    unsigned char *memory;
    struct rapahub_source *source = pattern_source(size, &memory);
    const uint32_t pool = 2;
    struct rapahub_sink *sink;
    const void *data;
    uint64_t count;
    size_t got;
    int r;

    assert_done(rapahub_sink_of_memory(size + 1, &sink));
    r = ask(on, method, (const void *const[]){&source, &sink, &pool, NULL}, &count);
    data = rapahub_sink_data(sink, &got);
    if (r == 0) {
        assert_int_equal(count, size);
        assert_int_equal(got, size);
        assert_memory_equal(data, memory, size);
    }
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    free(memory);
    return r;
}

#endif
