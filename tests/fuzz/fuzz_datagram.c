/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a datagram between nodes: its clear header, and its payload as if it had been
 * proven. What is read is written as the same bytes, but for what a header leaves out. */
#include <string.h>

#include "cluster/wire/datagram.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[CLUSTER_DATAGRAM_PAYLOAD_MAX], *copy = malloc(size + 1);
    struct cluster_datagram_clear clear;
    struct cluster_datagram datagram;

    FUZZ_HOLDS(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    if (cluster_datagram_read_clear(copy, size, &clear) == 0) {
        cluster_datagram_write_clear(&clear, bytes);
        FUZZ_HOLDS(memcmp(bytes, copy, CLUSTER_DATAGRAM_CLEAR) == 0);
    }
    if (cluster_datagram_read(copy, size, &datagram) == 0) {
        FUZZ_HOLDS(datagram.updates_count <= CLUSTER_DATAGRAM_UPDATES_MAX);
        FUZZ_HOLDS(cluster_datagram_write(&datagram, bytes) == size);
        FUZZ_HOLDS(memcmp(bytes, copy, size) == 0);
    }
    free(copy);
    return 0;
}
