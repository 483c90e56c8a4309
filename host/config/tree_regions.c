/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_regions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/region_options.h"
#include "host/config/tree_keys.h"
#include "host/config/tree_map.h"
#include "hub/bus/region_shape.h"

/* Fails at a node of the file, by no rule of the specification. */
#define FAIL(yaml, at, ...) config_yaml_fail(yaml, at, "", __VA_ARGS__)

#define REASON 400 /* bytes of a text of the library that is told again */

/* ---- options of a new region ---- */

/* The stages of a sequencer, from the keys that are about all of them. `after` is one, or NULL. */
static void set_stages(const struct config_tree_region *region,
                       struct rapahub_region_options *options,
                       struct rapahub_region_stage list[CONFIG_REGION_STAGES])
{
    if (options->kind != RAPAHUB_REGION_SEQUENCER && !region->after && region->on_death == 0 &&
        region->freeze_ns == 0)
        return;
    for (uint32_t i = 0; i < CONFIG_REGION_STAGES; i++)
        list[i] = (struct rapahub_region_stage){.on_death = region->on_death,
                                                .freeze_ns = region->freeze_ns};
    if (region->after)
        (void)config_region_options_after(region->after, list);
    options->stage_list = list;
}

/* Asks the library about the options. */
static int ask(const struct config_tree_region *region, struct hub_region_shape *out)
{
    struct rapahub_region_stage list[CONFIG_REGION_STAGES];
    struct rapahub_region_options options = region->options.region;

    config_region_options_complete(&options);
    set_stages(region, &options, list);
    return hub_region_shape_make(&options, false, out);
}

static size_t size_of(enum config_tree_type type)
{
    switch (type) {
    case CONFIG_TREE_SPAN:
        return sizeof(uint64_t);
    case CONFIG_TREE_TEXT:
    case CONFIG_TREE_LABEL:
        return sizeof(char *);
    case CONFIG_TREE_FLAG:
        return sizeof(bool);
    default:
        return sizeof(uint32_t);
    }
}

/* Says whether the library says something else without an option. */
static bool is_culprit(const struct config_tree_region *region, const char *path, const char *said)
{
    const struct config_tree_key *key =
        config_tree_keys_find(path, CONFIG_TREE_OF_REGION, CONFIG_YAML_TEXT);
    struct config_tree_node without = {.region = *region};
    struct hub_region_shape shape;

    memset((char *)&without + key->offset, 0, size_of(key->type));
    return without.region.options.region.kind != 0 &&
           (ask(&without.region, &shape) == 0 || strcmp(rapahub_last_error()->text, said) != 0);
}

/* The first option that is in the way; the text of stages goes before their number. */
static struct fy_node *find_culprit(const struct config_tree_region *region, const char *said)
{
    struct config_yaml_pair pair;
    void *at = NULL;

    if (is_culprit(region, "after", said))
        return config_yaml_find(region->at, "after").value;
    while (config_yaml_pair(region->at, &at, &pair))
        if (is_culprit(region, config_yaml_text(pair.key), said))
            return pair.value;
    return region->at;
}

/* The text is one, and names no stage that there is not. */
static int check_after(struct config_yaml *yaml, const struct config_tree_region *region)
{
    struct rapahub_region_stage list[CONFIG_REGION_STAGES] = {{0}};
    struct fy_node *at = config_yaml_find(region->at, "after").value;
    uint32_t count = region->options.region.stages ? region->options.region.stages : 1, beyond;

    if (!config_region_options_after(region->after, list))
        return FAIL(yaml, at, "after: '%.100s' " CONFIG_REGION_AFTER, region->after);
    beyond = config_region_options_beyond(list, count);
    if (region->options.region.kind == RAPAHUB_REGION_SEQUENCER && beyond < CONFIG_REGION_STAGES)
        return FAIL(yaml, at,
                    "after: there is no stage %" PRIu32 ", for there are %" PRIu32
                    "; raise stages, or take it away",
                    beyond, count);
    return 0;
}

static int check_options(struct config_yaml *yaml, const struct config_tree_region *region,
                         struct hub_region_shape *out)
{
    char said[REASON];
    int r = region->after ? check_after(yaml, region) : 0;

    if (r < 0 || ask(region, out) == 0)
        return r;
    snprintf(said, sizeof said, "%s", rapahub_last_error()->text);
    return FAIL(yaml, find_culprit(region, said), "region '%s': %s", region->name, said);
}

/* A FANOUT without a name for others can be routed by its host alone. */
static int set_route(struct config_yaml *yaml, struct config_tree_region *region)
{
    struct rapahub_host_region_options *options = &region->options;
    struct config_yaml_pair route = config_yaml_find(region->at, "route");
    bool fanout = options->region.kind == RAPAHUB_REGION_FANOUT;

    if (route.key && options->route && !fanout)
        return FAIL(yaml, route.value,
                    "route: only a region of kind fanout has a router; take it "
                    "away");
    if (route.key && !options->route && fanout && !options->persistent)
        return FAIL(yaml, route.value,
                    "route: nobody else can route '%s', which has no name for other processes; "
                    "write true, or persistent: true",
                    region->name);
    if (!route.key)
        options->route = fanout && !options->persistent;
    return 0;
}

/* ---- a region that stands ---- */

/* No key goes with the name but kind, which makes it a new region. */
static int check_opened(struct config_yaml *yaml, const struct config_tree_region *region)
{
    struct config_yaml_pair pair;
    void *at = NULL;

    while (config_yaml_pair(region->at, &at, &pair))
        if (strcmp(config_yaml_text(pair.key), "name") != 0)
            return FAIL(yaml, pair.key,
                        "%s: without the key kind, '%s' is a region that is there already; add "
                        "kind, or take it away",
                        config_yaml_text(pair.key), region->name);
    return 0;
}

static const char *word_of(enum rapahub_region_kind kind)
{
    const struct config_tree_choice *choice =
        config_tree_keys_find("kind", CONFIG_TREE_OF_REGION, CONFIG_YAML_TEXT)->choices;

    while (choice->name && choice->value != (int)kind)
        choice++;
    return choice->name ? choice->name : "another kind";
}

/* Its figures go before those of the file, for it is used as it stands. */
static int look_at(struct config_yaml *yaml, struct config_tree_region *region)
{
    const struct config_yaml_pair name = config_yaml_find(region->at, "name");
    struct rapahub_region_report report;
    char said[REASON];
    int r = rapahub_region_inspect(region->name, false, &report);

    if (r == RAPAHUB_ENOENT && region->options.persistent)
        return 0;
    if (r == RAPAHUB_ENOENT)
        return FAIL(yaml, name.value,
                    "there is no region '%s'; give its kind, or make it: rapahub region create %s",
                    region->name, region->name);
    snprintf(said, sizeof said, "%s", r < 0 ? rapahub_last_error()->text : report.action);
    if (r < 0 || report.verdict < 0)
        return FAIL(yaml, name.value, "the region '%s' cannot be used: %s", region->name, said);
    if (region->kind != 0 && report.kind != region->kind)
        return FAIL(yaml, config_yaml_find(region->at, "kind").value,
                    "there is a region '%s' of kind %s; write that, or rapahub region rm %s",
                    region->name, word_of(report.kind), region->name);
    region->kind = report.kind;
    region->consumers = report.consumers;
    region->producers = report.producers;
    region->shared = report.shared;
    return 0;
}

/* ---- the list ---- */

static int complete(struct config_yaml *yaml, struct config_tree_region *region)
{
    struct rapahub_host_region_options *options = &region->options;
    struct hub_region_shape shape;
    int r;

    if (options->region.kind == 0) {
        r = check_opened(yaml, region);
        return r == 0 ? look_at(yaml, region) : r;
    }
    options->region.profile = RAPAHUB_REGION_HARDENED;
    r = check_options(yaml, region, &shape);
    if (r == 0)
        r = set_route(yaml, region);
    if (r < 0)
        return r;
    region->kind = options->region.kind;
    region->consumers = shape.fanout.consumers;
    region->producers = shape.producers;
    region->shared = hub_region_shape_claims(&shape);
    return options->persistent ? look_at(yaml, region) : 0;
}

static int keep(struct config_tree *tree, const struct config_tree_region *read)
{
    struct config_tree_region *region = &tree->regions[tree->region_count++];
    struct rapahub_region_options *options = &region->options.region;

    *region = *read;
    config_region_options_complete(options);
    if (options->kind != RAPAHUB_REGION_SEQUENCER)
        return 0;
    region->stages = calloc(CONFIG_REGION_STAGES, sizeof *region->stages);
    if (!region->stages)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for stages");
    set_stages(region, options, region->stages);
    return 0;
}

static int read_one(struct config_tree *tree, struct fy_node *map)
{
    struct config_tree_node inner = {.region = {.at = map}};
    const struct config_tree_region *other;
    int r;

    if (config_yaml_kind(map) != CONFIG_YAML_MAP)
        return FAIL(&tree->yaml, map, "regions: %s, where a map with the keys of a region belongs",
                    config_tree_map_shape(map));
    if (tree->region_count == RAPAHUB_REGIONS_MAX)
        return FAIL(&tree->yaml, map, "more than %d regions; a host has no more",
                    RAPAHUB_REGIONS_MAX);
    r = config_tree_map_read(&tree->yaml, &inner, CONFIG_TREE_OF_REGION, "", map);
    if (r < 0)
        return r;
    if (!inner.region.name)
        return FAIL(&tree->yaml, map, "a region without a name; add the key name");
    other = config_tree_regions_find(tree, inner.region.name);
    if (other)
        return FAIL(&tree->yaml, config_yaml_find(map, "name").value,
                    "'%s' is the name of another region, in line %u; choose another", other->name,
                    config_yaml_line(&tree->yaml, other->at));
    r = complete(&tree->yaml, &inner.region);
    return r == 0 ? keep(tree, &inner.region) : r;
}

int config_tree_regions_read(struct config_tree *tree)
{
    struct fy_node *item;
    void *at = NULL;
    int r = 0;

    if (!tree->file.list)
        return 0;
    tree->regions = calloc(RAPAHUB_REGIONS_MAX, sizeof *tree->regions);
    if (!tree->regions)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for regions");
    while (r == 0 && (item = config_yaml_item(tree->file.list, &at)))
        r = read_one(tree, item);
    return r;
}

void config_tree_regions_close(struct config_tree *tree)
{
    for (unsigned i = 0; i < tree->region_count; i++)
        free(tree->regions[i].stages);
    free(tree->regions);
}

const struct config_tree_region *config_tree_regions_find(const struct config_tree *tree,
                                                          const char *name)
{
    for (unsigned i = 0; i < tree->region_count; i++)
        if (strcmp(tree->regions[i].name, name) == 0)
            return &tree->regions[i];
    return NULL;
}

uint32_t config_tree_regions_places(const struct config_tree_region *region,
                                    enum rapahub_region_role role, bool *shared)
{
    const struct hub_region_shape shape = {.kind = (enum hub_region_kind)region->kind,
                                           .producers = region->producers,
                                           .fanout.consumers = region->consumers,
                                           .sequencer.avail_off = region->shared};

    return hub_region_shape_places(&shape, role, shared);
}
