/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a key of the metastore: a key that can be read is written as the same bytes. */
#include <string.h>

#include "cluster/base/keys.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_key key;

    if (cluster_keys_parse((struct rapahub_bytes){data, size}, &key) == 0) {
        FUZZ_HOLDS(cluster_keys_build(&key, text) == (int)size);
        FUZZ_HOLDS(memcmp(text, data, size) == 0);
    }
    return 0;
}
