/* SPDX-License-Identifier: Apache-2.0 */
/* params: the parameters of a container, from the text of its pool: {container}, {node} and
 * {folder} in it are replaced. Any thread.
 */
#ifndef CLUSTER_NODE_GUESTS_PARAMS_H
#define CLUSTER_NODE_GUESTS_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_PARAMS_MAX ((size_t)32 << 10) /* bytes that a container takes */

struct cluster_params {
    uint32_t container, node;
    const char *folder;
};

/* Writes them. Returns their size; -EMSGSIZE: more than CLUSTER_PARAMS_MAX bytes. */
int64_t cluster_params_fill(struct rapahub_string text, const struct cluster_params *with,
                            char to[CLUSTER_PARAMS_MAX]);

#endif
