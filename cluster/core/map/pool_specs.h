/* SPDX-License-Identifier: Apache-2.0 */
/* pool_specs: the spec of each pool, the manifest of its module and its slots, as its record has
 * them: who writes the record anew needs them, and who compares a spec with another one. All of
 * them share a bounded memory.
 */
#ifndef CLUSTER_CORE_MAP_POOL_SPECS_H
#define CLUSTER_CORE_MAP_POOL_SPECS_H

#include <stdint.h>

#include "cluster/wire/record.h"

#define CLUSTER_POOL_SPECS_BYTES_MAX (UINT32_C(64) << 20) /* for all pools */

struct cluster_pool_specs;

/* Makes memory for the specs of at most `max` pools. -ENOMEM. */
int cluster_pool_specs_create(uint32_t max, struct cluster_pool_specs **out);
void cluster_pool_specs_release(struct cluster_pool_specs **specs);

/* Keeps what a record says, which was read, for the pool at this place, instead of what was kept
 * for it before. RAPAHUB_EFULL: there is no memory for it; then nothing has changed. No view of the
 * record is of memory that is kept here. */
int cluster_pool_specs_set(struct cluster_pool_specs *specs, uint32_t place,
                           const struct cluster_record_pool *record);

/* Forgets what is kept for a place, if there is something. */
void cluster_pool_specs_clear(struct cluster_pool_specs *specs, uint32_t place);

/* Returns what was kept for a place. Its views are good until the next change of any place. */
struct cluster_record_pool cluster_pool_specs_of(const struct cluster_pool_specs *specs,
                                                 uint32_t place);

#endif
