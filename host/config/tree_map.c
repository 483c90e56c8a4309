/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_map.h"

#include <stdio.h>
#include <string.h>

#include "host/config/tree_keys.h"
#include "host/config/tree_values.h"

#define KEY_SIZE 32

/* Fails at a node of the file, by no rule of the specification. */
#define FAIL(reading, at, ...) config_yaml_fail((reading)->yaml, at, "", __VA_ARGS__)

/* A map being read: of a node, or a group of its keys, as "backoff.". */
struct reading {
    struct config_yaml *yaml;
    struct config_tree_node *to;
    unsigned of;
    const char *before;
};

const char *config_tree_map_shape(struct fy_node *value)
{
    switch (config_yaml_kind(value)) {
    case CONFIG_YAML_LIST:
        return "a list";
    case CONFIG_YAML_MAP:
        return "a map";
    default:
        return config_yaml_text(value)[0] ? "a text" : "nothing";
    }
}

static const char *of_whom(unsigned of)
{
    if (of & (CONFIG_TREE_OF_FILE | CONFIG_TREE_OF_ITEM))
        return "neither";
    if (of == (CONFIG_TREE_OF_GUEST | CONFIG_TREE_OF_SUPERVISOR))
        return "a guest or a supervisor";
    if (of & (CONFIG_TREE_OF_REGION | CONFIG_TREE_OF_ROLE))
        return of == CONFIG_TREE_OF_ROLE ? "a role" : "a region";
    return of == CONFIG_TREE_OF_GUEST ? "a guest" : "a supervisor";
}

static int refuse_key(const struct reading *reading, struct fy_node *key)
{
    const char *word = config_yaml_text(key);
    unsigned others = (CONFIG_TREE_OF_GUEST | CONFIG_TREE_OF_SUPERVISOR) & ~reading->of;
    char near[KEY_SIZE];
    const char *nearest = config_tree_keys_suggest(reading->before, word, reading->of, near);

    if (nearest)
        return FAIL(reading, key, "unknown key '%.100s', did you mean '%s'?", word, nearest);
    if (!reading->before[0] && config_tree_keys_find(word, others, CONFIG_YAML_TEXT))
        return FAIL(reading, key, "'%.100s' is a key of %s, and this is %s; move it", word,
                    of_whom(others), of_whom(reading->of));
    return FAIL(reading, key, "unknown key '%.100s'; man rapahub-tree has those there are", word);
}

/* Finds an earlier use of the same key. r[impl exp.config.limits] */
static int check_duplicate(const struct reading *reading, struct fy_node *map, struct fy_node *key)
{
    struct config_yaml *yaml = reading->yaml;
    struct config_yaml_pair first = config_yaml_find(map, config_yaml_text(key));

    if (first.key == key)
        return 0;
    return config_yaml_fail(yaml, key, "", "'%.100s' is said in line %u already; take one away",
                            config_yaml_text(key), config_yaml_line(yaml, first.key));
}

static int read_map(const struct reading *reading, struct fy_node *map);

static int read_pair(const struct reading *reading, const struct config_yaml_pair *pair)
{
    enum config_yaml_kind shape = config_yaml_kind(pair->value);
    struct config_yaml *yaml = reading->yaml;
    char path[2 * KEY_SIZE], before[2 * KEY_SIZE + 1];
    const struct config_tree_key *key;
    bool group;

    if ((size_t)snprintf(path, sizeof path, "%s%s", reading->before, config_yaml_text(pair->key)) >=
        sizeof path)
        return refuse_key(reading, pair->key);
    key = config_tree_keys_find(path, reading->of, shape);
    group = config_tree_keys_is_group(path, reading->of);
    if (!key && !group)
        return refuse_key(reading, pair->key);
    if (group && shape == CONFIG_YAML_MAP) {
        snprintf(before, sizeof before, "%s.", path);
        return read_map(&(struct reading){yaml, reading->to, reading->of, before}, pair->value);
    }
    if (!key || !config_tree_keys_fits(key->type, shape))
        return config_yaml_fail(yaml, pair->value ? pair->value : pair->key, "",
                                "%s: %s, where %s belongs", path,
                                config_tree_map_shape(pair->value),
                                key ? config_tree_keys_example(key->type) : "a map of its keys");
    return config_tree_values_set(yaml, reading->to, key, pair->value ? pair->value : pair->key);
}

static int read_map(const struct reading *reading, struct fy_node *map)
{
    struct config_yaml_pair pair;
    void *at = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(map, &at, &pair)) {
        r = check_duplicate(reading, map, pair.key);
        if (r == 0)
            r = read_pair(reading, &pair);
    }
    return r;
}

int config_tree_map_read(struct config_yaml *yaml, struct config_tree_node *to, unsigned of,
                         const char *before, struct fy_node *map)
{
    return read_map(&(struct reading){yaml, to, of, before}, map);
}
