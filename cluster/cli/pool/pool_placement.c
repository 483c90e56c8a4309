/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_placement.h"

#include <string.h>

#include "cluster/cli/pool/pool_words.h"
#include "host/config/suggest.h"
#include "host/config/tree_map.h"

#define FAIL CLUSTER_POOL_FAIL

static int read_zones(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"spread", NULL};
    unsigned choice;

    draft->spec.spread_zones = true;
    return cluster_pool_words_choose(draft, "placement.zones", value, words, &choice);
}

static bool has(const struct cluster_list *list, uint32_t node)
{
    const uint32_t *nodes = list->of;

    for (uint32_t i = 0; i < list->count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static int read_node(struct cluster_pool_draft *draft, const char *key, struct fy_node *item,
                     uint32_t *to)
{
    int r = cluster_pool_words_count(draft, key, item, UINT32_MAX, to);

    if (r < 0)
        return r;
    if (has(&draft->spec.nodes, *to) || has(&draft->spec.not_on, *to))
        return FAIL(draft, item, "%s: node %u is named twice; take one away", key, *to);
    return 0;
}

static int read_nodes(struct cluster_pool_draft *draft, const char *key, struct fy_node *value,
                      struct cluster_list *list)
{
    uint32_t *nodes = list == &draft->spec.nodes ? draft->nodes : draft->not_on;
    struct fy_node *item;
    void *at = NULL;
    int r = 0;

    if (config_yaml_kind(value) != CONFIG_YAML_LIST)
        return FAIL(draft, value, "%s: %s, where a list of numbers of nodes belongs", key,
                    config_tree_map_shape(value));
    list->of = nodes;
    while (r == 0 && (item = config_yaml_item(value, &at))) {
        if (list->count == CLUSTER_POOL_SPEC_NODES_MAX)
            return FAIL(draft, item, "%s: more than %u nodes; name fewer", key,
                        CLUSTER_POOL_SPEC_NODES_MAX);
        r = read_node(draft, key, item, &nodes[list->count]);
        if (r == 0)
            list->count++;
    }
    return r;
}

static int read_pair(struct cluster_pool_draft *draft, const struct config_yaml_pair *pair)
{
    const char *word = config_yaml_text(pair->key);
    struct config_suggest suggest = {word, NULL, CONFIG_SUGGEST_FAR};
    struct fy_node *value = pair->value ? pair->value : pair->key;

    if (strcmp(word, "zones") == 0)
        return read_zones(draft, value);
    if (strcmp(word, "nodes") == 0)
        return read_nodes(draft, "placement.nodes", value, &draft->spec.nodes);
    if (strcmp(word, "not") == 0)
        return read_nodes(draft, "placement.not", value, &draft->spec.not_on);
    config_suggest_consider(&suggest, "zones");
    config_suggest_consider(&suggest, "nodes");
    config_suggest_consider(&suggest, "not");
    return FAIL(draft, pair->key, "placement: unknown key '%.100s'%s%s%s", word,
                suggest.nearest ? ", did you mean '" : "; there are zones, nodes and not",
                suggest.nearest ? suggest.nearest : "", suggest.nearest ? "'?" : "");
}

int cluster_pool_placement_read(struct cluster_pool_draft *draft, struct fy_node *value)
{
    struct config_yaml_pair pair;
    void *at = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(value, &at, &pair)) {
        if (config_yaml_find(value, config_yaml_text(pair.key)).key != pair.key)
            return FAIL(draft, pair.key, "placement: '%.100s' is said twice; take one away",
                        config_yaml_text(pair.key));
        r = read_pair(draft, &pair);
    }
    return r;
}
