/* SPDX-License-Identifier: Apache-2.0 */
/* pool_words: values of a pool file that are a word of a few, or a number.
 */
#ifndef CLUSTER_CLI_POOL_WORDS_H
#define CLUSTER_CLI_POOL_WORDS_H

#include "cluster/cli/pool/pool_draft.h"

/* Writes the index of the value among the words, which NULL ends. RAPAHUB_ECONFIG names them all,
 * and the nearest. */
int cluster_pool_words_choose(const struct cluster_pool_draft *draft, const char *key,
                              struct fy_node *value, const char *const *words, unsigned *out);

/* Writes a number from 1 to `most`. RAPAHUB_ECONFIG. */
int cluster_pool_words_count(const struct cluster_pool_draft *draft, const char *key,
                             struct fy_node *value, uint32_t most, uint32_t *out);

#endif
