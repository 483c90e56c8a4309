/* SPDX-License-Identifier: Apache-2.0 */
/* known_lives: in which lineage the containers of other nodes admit calls, as those nodes said. The
 * map has only the lineage with which an epoch begins. That may be wrong or missing: then a
 * call is refused, and the refusal has the right one.
 */
#ifndef CLUSTER_CORE_MAP_KNOWN_LIVES_H
#define CLUSTER_CORE_MAP_KNOWN_LIVES_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_known_lives;

/* Makes a cache for as many containers as a power of two from `max` on; one that is put may take
 * the place of another one. -ENOMEM. */
int cluster_known_lives_create(uint32_t max, uint64_t secret, struct cluster_known_lives **out);
void cluster_known_lives_release(struct cluster_known_lives **lives);

/* Notes the lineage of a container in an epoch, unless a later epoch is known. Returns whether that
 * is new. */
bool cluster_known_lives_put(struct cluster_known_lives *lives, uint64_t pool, uint32_t container,
                             uint64_t epoch, uint64_t lineage);

/* Returns the lineage of a container in an epoch, or 0. */
uint64_t cluster_known_lives_get(const struct cluster_known_lives *lives, uint64_t pool,
                                 uint32_t container, uint64_t epoch);

#endif
