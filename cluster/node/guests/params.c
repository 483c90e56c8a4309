/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

/* Says whether the text goes on with the word in braces. */
static bool is_word(struct rapahub_string text, size_t at, const char *word)
{
    size_t size = strlen(word);

    return text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

/* Finds what stands for the text at a place: `size` bytes of it are replaced by the result. */
static const char *replaced(struct rapahub_string text, size_t at,
                            const struct cluster_params *with, char number[16], size_t *size)
{
    static const char container[] = "{container}", node[] = "{node}", folder[] = "{folder}";

    if (is_word(text, at, container)) {
        *size = strlen(container);
        snprintf(number, 16, "%" PRIu32, with->container);
        return number;
    }
    if (is_word(text, at, node)) {
        *size = strlen(node);
        snprintf(number, 16, "%" PRIu32, with->node);
        return number;
    }
    *size = strlen(folder);
    return is_word(text, at, folder) ? with->folder : NULL;
}

/* r[impl cluster.node.params] */
int64_t cluster_params_fill(struct rapahub_string text, const struct cluster_params *with,
                            char to[CLUSTER_PARAMS_MAX])
{
    size_t done = 0;

    for (size_t at = 0; at < text.size;) {
        char number[16];
        size_t size, length;
        const char *word = replaced(text, at, with, number, &size);

        if (!word) {
            word = text.data + at;
            size = 1;
        }
        length = size == 1 ? 1 : strlen(word);
        if (length > CLUSTER_PARAMS_MAX - done)
            return rapahub_fail(RAPAHUB_EMSGSIZE, "", "params of more than %zu bytes",
                                CLUSTER_PARAMS_MAX);
        memcpy(to + done, word, length);
        done += length;
        at += size;
    }
    return (int64_t)done;
}
