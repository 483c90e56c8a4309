/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the calls that a copy covers: those that are read are written, and read again, as
 * the same. */
#include <string.h>

#include "cluster/wire/copy_calls.h"
#include "tests/fuzz/fuzz.h"

static void write_again(struct cluster_copy_calls history, struct hub_writer *writer)
{
    struct cluster_copy_calls_origin origin;
    struct cluster_copy_calls_call call;

    cluster_copy_calls_begin(writer, history.origins.count);
    while (cluster_copy_calls_next_origin(&history.origins, &origin))
        cluster_copy_calls_put_origin(writer, &origin);
    cluster_copy_calls_begin_calls(writer, history.calls.count);
    while (cluster_copy_calls_next_call(&history.calls, &call)) {
        FUZZ_HOLDS(call.number != 0 && (!call.lost || call.answer.size == 0));
        cluster_copy_calls_put_call(writer, &call);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster_copy_calls history, again;
    struct hub_writer writer;
    uint8_t *written;

    if (cluster_copy_calls_read((struct rapahub_bytes){data, size}, &history) < 0)
        return 0;
    hub_writer_count(&writer);
    write_again(history, &writer);
    FUZZ_HOLDS(writer.failure == 0 && writer.size <= size);
    written = malloc(writer.size);
    FUZZ_HOLDS(written != NULL);
    hub_writer_init(&writer, written, writer.size);
    write_again(history, &writer);
    FUZZ_HOLDS(cluster_copy_calls_read((struct rapahub_bytes){written, writer.size}, &again) == 0);
    FUZZ_HOLDS(again.calls.count == history.calls.count &&
               again.origins.count == history.origins.count);
    free(written);
    return 0;
}
