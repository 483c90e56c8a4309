/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/known_lives.h"

#include <stdlib.h>

#include <rapahub/error.h>

struct life {
    uint64_t pool, epoch, lineage; /* epoch 0: the place is free */
    uint32_t container;
};

struct cluster_known_lives {
    uint64_t secret;
    uint32_t mask;
    struct life lives[];
};

int cluster_known_lives_create(uint32_t max, uint64_t secret, struct cluster_known_lives **out)
{
    uint32_t places = 1;

    while (places < max)
        places *= 2;
    *out = calloc(1, sizeof **out + places * sizeof(struct life));
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for what is known of %u containers",
                            places);
    (*out)->secret = secret;
    (*out)->mask = places - 1;
    return 0;
}

void cluster_known_lives_release(struct cluster_known_lives **lives)
{
    free(*lives);
    *lives = NULL;
}

static uint32_t place_of(const struct cluster_known_lives *lives, uint64_t pool, uint32_t container)
{
    uint64_t hash = (pool + container + lives->secret) * UINT64_C(0x9E3779B97F4A7C15);

    return (uint32_t)(hash >> 32) & lives->mask;
}

bool cluster_known_lives_put(struct cluster_known_lives *lives, uint64_t pool, uint32_t container,
                             uint64_t epoch, uint64_t lineage)
{
    struct life *life = &lives->lives[place_of(lives, pool, container)];
    bool same = life->pool == pool && life->container == container;

    if (epoch == 0 || lineage == 0 || (same && epoch < life->epoch))
        return false;
    if (same && epoch == life->epoch && lineage == life->lineage)
        return false;
    *life = (struct life){pool, epoch, lineage, container};
    return true;
}

uint64_t cluster_known_lives_get(const struct cluster_known_lives *lives, uint64_t pool,
                                 uint32_t container, uint64_t epoch)
{
    const struct life *life = &lives->lives[place_of(lives, pool, container)];

    return life->pool == pool && life->container == container && life->epoch == epoch
               ? life->lineage
               : 0;
}
