/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_complete.h"

#include <rapahub/error.h>

#include "cluster/cli/pool/pool_methods.h"
#include "hub/wire/arena.h"

#define FAIL CLUSTER_POOL_FAIL

/* A node has one copy of a container, its own, as long as it is the only node. */
#define COPIES 1

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a pool file");
}

/* The module is gone before the spec is sent. */
static int copy_module(struct cluster_pool_draft *draft, const struct cluster_pool_module *module)
{
    struct cluster_pool_module *kept = hub_arena_alloc(draft->blocks, sizeof *kept);

    if (!kept)
        return no_memory();
    *kept = *module;
    draft->spec.module = rapahub_string_of(kept->name);
    draft->spec.version = rapahub_string_of(kept->version);
    draft->spec.digest = (struct rapahub_bytes){kept->digest, sizeof kept->digest};
    return 0;
}

static bool needs_save(uint8_t durability)
{
    return durability >= CLUSTER_DURABILITY_CHECKPOINT;
}

static int complete_durability(struct cluster_pool_draft *draft,
                               const struct cluster_pool_module *module)
{
    struct fy_node *said = draft->said[CLUSTER_POOL_DURABILITY];
    uint8_t *durability = &draft->spec.durability;

    if (!said && module->saves_unknown)
        return FAIL(
            draft, draft->at,
            "durability: the node does not tell whether module %s saves; write none, local, "
            "checkpoint or acked",
            module->name);
    if (!said)
        *durability = module->saves ? CLUSTER_DURABILITY_CHECKPOINT : CLUSTER_DURABILITY_NONE;
    if (!needs_save(*durability) || module->saves || module->saves_unknown)
        return 0;
    return FAIL(draft, said,
                "durability: %s needs the callback save, which module %s does not have; write "
                "none, or local",
                cluster_pool_spec_durabilities[*durability], module->name);
}

static int complete_copies(struct cluster_pool_draft *draft)
{
    struct fy_node *copies = draft->said[CLUSTER_POOL_COPIES];
    struct fy_node *min_copies = draft->said[CLUSTER_POOL_MIN_COPIES];
    struct cluster_pool_spec *spec = &draft->spec;

    if (!needs_save(spec->durability)) {
        if (copies || min_copies)
            return FAIL(draft, copies ? copies : min_copies,
                        "%s: a pool of durability %s has no copies; take it away",
                        copies ? "copies" : "min_copies",
                        cluster_pool_spec_durabilities[spec->durability]);
        return 0;
    }
    if (!copies)
        spec->copies = COPIES;
    if (!min_copies)
        spec->min_copies = 1;
    if (spec->min_copies > spec->copies)
        return FAIL(draft, min_copies, "min_copies: %u is more than copies, %u", spec->min_copies,
                    spec->copies);
    return 0;
}

int cluster_pool_complete(struct cluster_pool_draft *draft,
                          const struct cluster_pool_module *module)
{
    int r = copy_module(draft, module);

    if (r == 0)
        r = complete_durability(draft, module);
    if (r == 0)
        r = complete_copies(draft);
    return r == 0 ? cluster_pool_methods_take(draft, module) : r;
}

int cluster_pool_complete_write(struct cluster_pool_draft *draft, struct rapahub_bytes *out)
{
    struct hub_writer writer;
    void *data;
    int r;

    hub_writer_count(&writer);
    r = cluster_pool_spec_put(&writer, &draft->spec);
    if (r < 0)
        return rapahub_fail(r, "", "a pool that cannot be written");
    data = hub_arena_alloc(draft->blocks, writer.size + 1);
    if (!data)
        return no_memory();
    *out = (struct rapahub_bytes){data, writer.size};
    hub_writer_init(&writer, data, writer.size);
    return cluster_pool_spec_put(&writer, &draft->spec);
}
