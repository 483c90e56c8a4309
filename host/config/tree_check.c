/* SPDX-License-Identifier: Apache-2.0 */
/* tree_check: asks the pure core of supervision, in the order in which the children will be added,
 * so that it accepts there what it accepts here. */
#include "host/config/tree_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/suggest.h"
#include "host/config/tree_keys.h"
#include "host/config/tree_words.h"
#include "host/supervise/tree.h"

static struct fy_node *name_at(const struct config_tree_node *node)
{
    struct fy_node *given = config_yaml_find(node->at, "name").value;

    return given ? given : node->at;
}

/* ---- names ---- */

/* Names are unique in the whole file, because other commands know a child by its name alone. */
static int check_name(struct config_tree *tree, unsigned index)
{
    const struct config_tree_node *node = tree->nodes[index];

    for (unsigned i = 0; i < index; i++)
        if (strcmp(tree->nodes[i]->name, node->name) == 0)
            return config_yaml_fail(&tree->yaml, name_at(node), "supervise.lint.name",
                                    "'%s' is the name of another child, in line %u; choose another",
                                    node->name,
                                    config_yaml_line(&tree->yaml, name_at(tree->nodes[i])));
    return 0;
}

/* ---- dependencies ---- */

static int check_dependency(struct config_tree *tree, const struct config_tree_node *node,
                            unsigned index)
{
    const char *on = node->dependencies[index].on;
    struct config_suggest suggest = {on, NULL, CONFIG_SUGGEST_FAR};
    bool elsewhere = false;

    if (strcmp(on, node->name) == 0)
        return config_yaml_fail(&tree->yaml, node->named_at[index], "supervise.lint.circle",
                                "'%s' names itself; take it away", on);
    for (unsigned i = 0; i < tree->count; i++) {
        const struct config_tree_node *other = tree->nodes[i];

        if (other->parent == node->parent && strcmp(other->name, on) == 0)
            return 0;
        elsewhere = elsewhere || strcmp(other->name, on) == 0;
        if (other->parent == node->parent && other != node)
            config_suggest_consider(&suggest, other->name);
    }
    if (elsewhere)
        return config_yaml_fail(&tree->yaml, node->named_at[index], "",
                                "'%s' is a child of another supervisor; name one of the same", on);
    return config_yaml_fail(&tree->yaml, node->named_at[index], "",
                            "there is no child '%.100s' beside '%s'%s%s%s", on, node->name,
                            suggest.nearest ? ", did you mean '" : "; name one that is",
                            suggest.nearest ? suggest.nearest : "", suggest.nearest ? "'?" : "");
}

/* ---- findings of host/supervise ---- */

/* The key of each rule. */
static const struct {
    const char *rule, *keys[3];
} suspects[] = {
    {"supervise.lint.backoff", {"backoff.max", "backoff.initial", "backoff"}},
    {"supervise.lint.factor", {"backoff.factor", "backoff", NULL}},
    {"supervise.lint.budget", {"intensity", "itself", "backoff"}},
    {"supervise.lint.lazy", {"when_down", "start", NULL}},
    {"supervise.lint.stop", {"stop", NULL, NULL}},
    {"supervise.lint.significant", {"significant", NULL, NULL}},
};

/* "backoff.max" in the map of a child; NULL: it is not said. */
static struct fy_node *find_path(struct fy_node *map, const char *path)
{
    const char *dot = strchr(path, '.');
    char key[32];

    if (!dot)
        return config_yaml_find(map, path).value;
    snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
    return find_path(config_yaml_find(map, key).value, dot + 1);
}

/* The first of the keys that the text names and the file gives; else that of a part of its path. */
static struct fy_node *find_named(const struct config_tree_node *node,
                                  const struct config_tree_words *words)
{
    struct fy_node *found = NULL;
    char part[64];

    for (unsigned i = 0; i < words->count && !found; i++)
        found = find_path(node->at, words->paths[i]);
    for (unsigned i = 0; i < words->count && !found; i++) {
        snprintf(part, sizeof part, "%s", words->paths[i]);
        for (char *dot; !found && (dot = strrchr(part, '.'));) {
            *dot = '\0';
            found = find_path(node->at, part);
        }
    }
    return found;
}

static struct fy_node *place_of(const struct config_tree_node *node, int code, const char *rule,
                                const struct config_tree_words *words)
{
    struct fy_node *found = NULL;

    if (code == RAPAHUB_EFULL && node->parent)
        found = config_yaml_find(node->parent->at, "children_max").value;
    if (strcmp(rule, "supervise.lint.circle") == 0 || strcmp(rule, "supervise.lint.simple") == 0)
        found = node->named_at[0];
    for (unsigned i = 0; i < sizeof suspects / sizeof *suspects; i++)
        for (unsigned k = 0; k < 3 && !found && suspects[i].keys[k]; k++)
            if (strcmp(suspects[i].rule, rule) == 0)
                found = find_path(node->at, suspects[i].keys[k]);
    found = found ? found : find_named(node, words);
    return found ? found : name_at(node);
}

/* A cycle is reported by the names of its children. */
static int show_refusal(struct config_yaml *yaml, const struct config_tree_node *node, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    unsigned of = node->is_supervisor ? CONFIG_TREE_OF_SUPERVISOR : CONFIG_TREE_OF_GUEST;
    const char *rule = last->rule;
    struct config_tree_words words = {.count = 0};

    if (strcmp(rule, "supervise.lint.circle") == 0)
        snprintf(words.text, sizeof words.text, "%s", last->text);
    else
        config_tree_words_take(last->text, of, &words);
    return config_yaml_fail(yaml, place_of(node, code, rule, &words), rule, "%s", words.text);
}

/* The host's own root stands above that of the file. */
static int plant(struct config_tree *tree, struct host_tree *planted, uint32_t *places)
{
    const struct rapahub_supervisor_options options = {0};
    const struct host_tree_plan top = {.name = "", .parent = HOST_TREE_NONE, .group = &options};
    uint32_t root;
    int r = host_tree_add(planted, &top, &root);

    for (unsigned i = 0; r == 0 && i < tree->count; i++) {
        const struct config_tree_node *node = tree->nodes[i];
        const struct host_tree_plan plan = {.name = node->name,
                                            .parent =
                                                node->parent ? places[node->parent->index] : root,
                                            .how = node->is_supervisor ? NULL : &node->how,
                                            .group = node->is_supervisor ? &node->group : NULL};

        r = host_tree_add(planted, &plan, &places[i]);
        if (r < 0)
            r = show_refusal(&tree->yaml, node, r);
    }
    return r;
}

/* r[impl supervise.lint] */
static int lint(struct config_tree *tree)
{
    uint32_t *places = calloc(tree->count, sizeof *places);
    struct host_tree planted = {0};
    int r = places ? host_tree_init(&planted, tree->count + 1)
                   : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to check a tree");

    if (r == 0)
        r = plant(tree, &planted, places);
    if (planted.children)
        host_tree_fini(&planted);
    free(places);
    return r;
}

/* The pure core asks nothing of a parent that restarts each child by itself. */
static int plant_alone(struct host_tree *planted, const struct config_tree_node *guest)
{
    const struct rapahub_supervisor_options options = {.strategy = RAPAHUB_SIMPLE};
    const struct host_tree_plan top = {.name = "", .parent = HOST_TREE_NONE, .group = &options};
    struct host_tree_plan plan = {.name = guest->name, .how = &guest->how};
    uint32_t place;
    int r = host_tree_add(planted, &top, &plan.parent);

    return r == 0 ? host_tree_add(planted, &plan, &place) : r;
}

int config_tree_check_guest(struct config_yaml *yaml, const struct config_tree_node *guest)
{
    struct host_tree planted = {0};
    int r = host_tree_init(&planted, 2);

    if (r < 0)
        return r;
    r = plant_alone(&planted, guest);
    if (r < 0)
        r = show_refusal(yaml, guest, r);
    host_tree_fini(&planted);
    return r;
}

int config_tree_check(struct config_tree *tree)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < tree->count; i++)
        r = check_name(tree, i);
    for (unsigned i = 0; r == 0 && i < tree->count; i++)
        for (unsigned k = 0; r == 0 && k < tree->nodes[i]->dependencies_count; k++)
            r = check_dependency(tree, tree->nodes[i], k);
    return r == 0 ? lint(tree) : r;
}
