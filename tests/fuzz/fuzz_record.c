/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a value of the metastore: a byte says of which kind, with four more that are no
 * records: a delta, the spec of a pool, the arguments of an operation, and none. A value that is
 * read is written such that it reads as the same bytes again. */
#include <string.h>

#include "cluster/wire/delta.h"
#include "cluster/wire/operation.h"
#include "cluster/wire/pool_spec.h"
#include "cluster/wire/record.h"
#include "tests/fuzz/fuzz.h"

#define DELTA     CLUSTER_KEY_KINDS
#define SPEC      (CLUSTER_KEY_KINDS + 1)
#define ARGUMENTS (CLUSTER_KEY_KINDS + 2)
#define KINDS     (CLUSTER_KEY_KINDS + 3)

union value {
    struct cluster_record record;
    struct cluster_delta delta;
    struct cluster_pool_spec spec;
    struct cluster_operation_arguments arguments;
};

static int read_value(int kind, struct rapahub_bytes from, union value *out)
{
    if (kind == DELTA)
        return cluster_delta_read(from, &out->delta);
    if (kind == SPEC)
        return cluster_pool_spec_read(from, &out->spec);
    if (kind == ARGUMENTS)
        return cluster_operation_read(from, &out->arguments);
    return cluster_record_read((enum cluster_keys_kind)kind, from, &out->record);
}

static int put_value(struct hub_writer *writer, int kind, const union value *value)
{
    if (kind == DELTA)
        return cluster_delta_put(writer, &value->delta);
    if (kind == SPEC)
        return cluster_pool_spec_put(writer, &value->spec);
    if (kind == ARGUMENTS)
        return cluster_operation_put(writer, &value->arguments);
    return cluster_record_put(writer, (enum cluster_keys_kind)kind, &value->record);
}

static struct rapahub_bytes write_value(int kind, const union value *value)
{
    struct hub_writer writer;
    uint8_t *data;

    hub_writer_count(&writer);
    FUZZ_HOLDS(put_value(&writer, kind, value) == 0);
    data = malloc(writer.size + 1);
    FUZZ_HOLDS(data != NULL);
    hub_writer_init(&writer, data, writer.size);
    FUZZ_HOLDS(put_value(&writer, kind, value) == 0);
    return (struct rapahub_bytes){data, writer.size};
}

/* Walks the lists of a spec, and compares it with itself. */
static void check_spec(struct cluster_pool_spec spec)
{
    const char *keys[CLUSTER_POOL_SPEC_KEYS];
    struct cluster_pool_option option;
    struct cluster_pool_method method;
    uint32_t node;

    FUZZ_HOLDS(cluster_pool_spec_differ(&spec, &spec, keys) == 0);
    while (cluster_pool_spec_next_method(&spec.methods, &method))
        FUZZ_HOLDS(method.repeat || method.outside);
    while (cluster_pool_spec_next_node(&spec.nodes, &node))
        FUZZ_HOLDS(node > 0);
    while (cluster_pool_spec_next_option(&spec.options, &option))
        FUZZ_HOLDS(option.key.size > 0);
}

static void check_delta(struct cluster_delta delta)
{
    struct cluster_delta_change change;

    while (cluster_delta_next(&delta.changes, &change))
        FUZZ_HOLDS(cluster_delta_is_sound(&change));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rapahub_bytes first, second;
    union value value, again;
    int kind;

    if (size == 0)
        return 0;
    kind = data[0] % KINDS;
    if (read_value(kind, (struct rapahub_bytes){data + 1, size - 1}, &value) < 0)
        return 0;
    if (kind == SPEC)
        check_spec(value.spec);
    if (kind == DELTA)
        check_delta(value.delta);
    first = write_value(kind, &value);
    FUZZ_HOLDS(read_value(kind, first, &again) == 0);
    second = write_value(kind, &again);
    FUZZ_HOLDS(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    free((void *)(uintptr_t)first.data);
    free((void *)(uintptr_t)second.data);
    return 0;
}
