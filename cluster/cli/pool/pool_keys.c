/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_keys.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"
#include "cluster/cli/pool/pool_guests.h"
#include "cluster/cli/pool/pool_module.h"
#include "cluster/cli/pool/pool_placement.h"
#include "cluster/cli/pool/pool_words.h"
#include "host/config/suggest.h"
#include "host/config/tree_map.h"
#include "host/config/units.h"

#define FAIL CLUSTER_POOL_FAIL

/* ---- names ---- */

static int set_name(struct cluster_pool_draft *draft, struct fy_node *value)
{
    draft->spec.name = rapahub_string_of(config_yaml_text(value));
    if (cluster_keys_is_name(draft->spec.name))
        return 0;
    return FAIL(draft, value,
                "pool_name: '%.100s' is no name; write letters, digits, '_', '-' and '.', at most "
                "%d, a letter, a digit or '_' first",
                config_yaml_text(value), CLUSTER_KEYS_NAME_MAX);
}

/* Takes NAME or NAME:VERSION. */
static bool take_module_name(struct cluster_pool_draft *draft, const char *text)
{
    size_t size = strcspn(text, ":");

    draft->spec.module = (struct rapahub_string){text, size};
    draft->spec.version = rapahub_string_of(text[size] ? text + size + 1 : "");
    return cluster_keys_is_name(draft->spec.module) &&
           (!text[size] || cluster_keys_is_version(draft->spec.version));
}

static int set_module(struct cluster_pool_draft *draft, struct fy_node *value)
{
    draft->module = config_yaml_text(value);
    if (cluster_pool_module_is_path(draft->module) || take_module_name(draft, draft->module))
        return 0;
    return FAIL(draft, value, "module: '%.100s' is neither NAME, nor NAME:VERSION, nor a path",
                draft->module);
}

static int set_mod_name(struct cluster_pool_draft *draft, struct fy_node *value)
{
    draft->module = config_yaml_text(value);
    return !cluster_pool_module_is_path(draft->module) && take_module_name(draft, draft->module)
               ? 0
               : FAIL(draft, value, "mod_name: '%.100s' is no name of a module", draft->module);
}

/* ---- numbers ---- */

static int set_containers(struct cluster_pool_draft *draft, struct fy_node *value)
{
    if (strcmp(config_yaml_text(value), "each_node") != 0)
        return cluster_pool_words_count(draft, "containers", value, CLUSTER_CONTAINERS_MAX,
                                        &draft->spec.containers);
    draft->spec.containers = 0;
    return 0;
}

static int set_copies(struct cluster_pool_draft *draft, struct fy_node *value)
{
    return cluster_pool_words_count(draft, "copies", value, CLUSTER_POOL_SPEC_COPIES_MAX,
                                    &draft->spec.copies);
}

static int set_min_copies(struct cluster_pool_draft *draft, struct fy_node *value)
{
    return cluster_pool_words_count(draft, "min_copies", value, CLUSTER_POOL_SPEC_COPIES_MAX,
                                    &draft->spec.min_copies);
}

static int set_idle(struct cluster_pool_draft *draft, struct fy_node *value)
{
    const char *text = config_yaml_text(value);
    uint64_t *span = &draft->spec.idle_to_zero_ns;

    if (strcmp(text, "never") == 0)
        return *span = 0, 0;
    if (config_units_span(text, span) == 0 && *span > 0)
        return 0;
    return FAIL(draft, value, "idle_to_zero: '%.100s' is not a duration, as 10m, or never", text);
}

/* ---- words ---- */

static int set_guests(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"shared", "own", NULL};
    unsigned choice = 0;
    int r = cluster_pool_words_choose(draft, "guests", value, words, &choice);

    draft->spec.own_guests = choice == 1;
    return r;
}

static int set_durability(struct cluster_pool_draft *draft, struct fy_node *value)
{
    unsigned choice = 0;
    int r = cluster_pool_words_choose(draft, "durability", value, cluster_pool_spec_durabilities,
                                      &choice);

    draft->spec.durability = (uint8_t)choice;
    return r;
}

static int set_on_daemon_death(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"restart", "recover", NULL};
    unsigned choice = 0;
    int r = cluster_pool_words_choose(draft, "on_daemon_death", value, words, &choice);

    draft->spec.on_daemon_death = (uint8_t)choice;
    return r;
}

static int set_on_fence(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"hold", "kill", NULL};
    unsigned choice = 0;
    int r = cluster_pool_words_choose(draft, "on_fence", value, words, &choice);

    draft->spec.on_fence = (uint8_t)choice;
    return r;
}

static int set_trust(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"standard", "strict", "trusted", NULL};
    unsigned choice = 0;
    int r = cluster_pool_words_choose(draft, "trust", value, words, &choice);

    draft->spec.trust = rapahub_string_of(words[choice]);
    return r;
}

static int set_params(struct cluster_pool_draft *draft, struct fy_node *value)
{
    draft->spec.params = rapahub_string_of(config_yaml_text(value));
    return draft->spec.params.size <= CLUSTER_POOL_SPEC_PARAMS_MAX
               ? 0
               : FAIL(draft, value, "params: more than 64 KiB; give the path of a file instead");
}

/* Methods are looked up once the module is known. */
static int set_later(struct cluster_pool_draft *draft, struct fy_node *value)
{
    (void)draft;
    (void)value;
    return 0;
}

/* ---- keys of another project ---- */

/* Its numbers of pools have two parts. A node gives a pool its number, whatever is said here. */
static int set_pool_id(struct cluster_pool_draft *draft, struct fy_node *value)
{
    const char *text = config_yaml_text(value);
    size_t size = strspn(text, "0123456789");
    size_t rest = text[size] == '.' ? strspn(text + size + 1, "0123456789") : 0;

    if (size > 0 && (text[size] == '\0' || (rest > 0 && text[size + 1 + rest] == '\0')))
        return 0;
    return FAIL(draft, value, "pool_id: '%.100s' is no number of a pool, as 512.0", text);
}

static int set_pool_query(struct cluster_pool_draft *draft, struct fy_node *value)
{
    static const char *const words[] = {"local", "dynamic", "broadcast", NULL};
    unsigned choice;

    return cluster_pool_words_choose(draft, "pool_query", value, words, &choice);
}

static int set_restart(struct cluster_pool_draft *draft, struct fy_node *value)
{
    if (strcmp(config_yaml_text(value), "true") == 0)
        return 0;
    return FAIL(draft, value,
                "restart: '%.100s' cannot be: a node keeps a pool until it is deleted; write true, "
                "or take it away",
                config_yaml_text(value));
}

/* ---- the table ---- */

#define TEXT         (1u << CONFIG_YAML_TEXT)
#define TEXT_OR_LIST (TEXT | 1u << CONFIG_YAML_LIST)
#define MAP          (1u << CONFIG_YAML_MAP)

static const struct {
    const char *name;
    unsigned shapes;
    const char *example;
    int (*set)(struct cluster_pool_draft *draft, struct fy_node *value);
} keys[] = {
    [CLUSTER_POOL_NAME] = {"pool_name", TEXT, "a name", set_name},
    [CLUSTER_POOL_MODULE] = {"module", TEXT, "a name or a path", set_module},
    [CLUSTER_POOL_CONTAINERS] = {"containers", TEXT, "a number, or each_node", set_containers},
    [CLUSTER_POOL_GUESTS] = {"guests", TEXT, "a word", set_guests},
    [CLUSTER_POOL_DURABILITY] = {"durability", TEXT, "a word", set_durability},
    [CLUSTER_POOL_COPIES] = {"copies", TEXT, "a number", set_copies},
    [CLUSTER_POOL_MIN_COPIES] = {"min_copies", TEXT, "a number", set_min_copies},
    [CLUSTER_POOL_REPEAT] = {"repeat", TEXT_OR_LIST, "a list of methods, or all", set_later},
    [CLUSTER_POOL_OUTSIDE] = {"outside", TEXT_OR_LIST, "a list of methods", set_later},
    [CLUSTER_POOL_ON_DAEMON_DEATH] = {"on_daemon_death", TEXT, "a word", set_on_daemon_death},
    [CLUSTER_POOL_ON_FENCE] = {"on_fence", TEXT, "a word", set_on_fence},
    [CLUSTER_POOL_IDLE_TO_ZERO] = {"idle_to_zero", TEXT, "a duration, or never", set_idle},
    [CLUSTER_POOL_PLACEMENT] = {"placement", MAP, "a map with zones, nodes, not",
                                cluster_pool_placement_read},
    [CLUSTER_POOL_SUPERVISE] = {"supervise", MAP, "a map with keys of a guest",
                                cluster_pool_guests_supervise},
    [CLUSTER_POOL_LIMITS] = {"limits", MAP, "a map with limits of a guest",
                             cluster_pool_guests_limits},
    [CLUSTER_POOL_TRUST] = {"trust", TEXT, "a word", set_trust},
    [CLUSTER_POOL_PARAMS] = {"params", TEXT, "a text", set_params},
    [CLUSTER_POOL_MOD_NAME] = {"mod_name", TEXT, "a name", set_mod_name},
    [CLUSTER_POOL_ID] = {"pool_id", TEXT, "a number, as 512.0", set_pool_id},
    [CLUSTER_POOL_QUERY] = {"pool_query", TEXT, "a word", set_pool_query},
    [CLUSTER_POOL_RESTART] = {"restart", TEXT, "true", set_restart},
};

const char *cluster_pool_keys_name(unsigned index)
{
    return index < CLUSTER_POOL_DRAFT_KEYS ? keys[index].name : NULL;
}

static int refuse_key(const struct cluster_pool_draft *draft, struct fy_node *key)
{
    struct config_suggest suggest = {config_yaml_text(key), NULL, CONFIG_SUGGEST_FAR};

    for (unsigned i = 0; i < CLUSTER_POOL_DRAFT_KEYS; i++)
        config_suggest_consider(&suggest, keys[i].name);
    if (suggest.nearest)
        return FAIL(draft, key, "unknown key '%.100s', did you mean '%s'?", suggest.name,
                    suggest.nearest);
    return FAIL(draft, key, "unknown key '%.100s'; man rapahub-pool has those there are",
                suggest.name);
}

static int read_pair(struct cluster_pool_draft *draft, const struct config_yaml_pair *pair)
{
    struct fy_node *value = pair->value ? pair->value : pair->key;
    unsigned i = 0;

    while (i < CLUSTER_POOL_DRAFT_KEYS && strcmp(keys[i].name, config_yaml_text(pair->key)) != 0)
        i++;
    if (i == CLUSTER_POOL_DRAFT_KEYS)
        return refuse_key(draft, pair->key);
    if (draft->said[i])
        return FAIL(draft, pair->key, "'%s' is said in line %u already; take one away",
                    keys[i].name, config_yaml_line(draft->yaml, draft->said[i]));
    draft->said[i] = value;
    if ((keys[i].shapes & 1u << config_yaml_kind(pair->value)) == 0)
        return FAIL(draft, value, "%s: %s, where %s belongs", keys[i].name,
                    config_tree_map_shape(pair->value), keys[i].example);
    if (config_yaml_kind(pair->value) == CONFIG_YAML_TEXT && !config_yaml_text(pair->value)[0])
        return FAIL(draft, value, "%s has no value; write %s", keys[i].name, keys[i].example);
    return keys[i].set(draft, value);
}

int cluster_pool_keys_read(struct cluster_pool_draft *draft)
{
    struct config_yaml_pair pair;
    void *at = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(draft->at, &at, &pair))
        r = read_pair(draft, &pair);
    if (r < 0)
        return r;
    if (draft->said[CLUSTER_POOL_MODULE] && draft->said[CLUSTER_POOL_MOD_NAME])
        return FAIL(draft, draft->said[CLUSTER_POOL_MOD_NAME],
                    "mod_name: module says it already; take one away");
    if (!draft->said[CLUSTER_POOL_NAME])
        return FAIL(draft, draft->at, "a pool without a name; write pool_name: NAME");
    if (!draft->module)
        return FAIL(draft, draft->at, "a pool without a module; write module: NAME, or FILE.so");
    return 0;
}
