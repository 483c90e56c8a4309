/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree.h"

#include <string.h>

#include <rapahub/error.h>

bool config_tree_is_file(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

#ifdef RAPAHUB_WITH_YAML

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/config/module.h"
#include "host/config/tree_check.h"
#include "host/config/tree_keys.h"
#include "host/config/tree_map.h"
#include "host/config/tree_regions.h"
#include "host/config/tree_roles.h"

/* Fails at a node of the file, by no rule of the specification. */
#define FAIL(tree, at, ...) config_yaml_fail(&(tree)->yaml, at, "", __VA_ARGS__)

/* ---- guests and supervisors ---- */

static int add_node(struct config_tree *tree, struct config_tree_node *parent, struct fy_node *at,
                    bool is_supervisor, struct config_tree_node **out)
{
    unsigned *count = is_supervisor ? &tree->supervisors : &tree->guests;
    unsigned max = is_supervisor ? CONFIG_TREE_SUPERVISORS : CONFIG_TREE_GUESTS;
    struct config_tree_node *node;

    if (*count == max)
        return FAIL(tree, at, "more than %u %s; a host has no more", max,
                    is_supervisor ? "supervisors" : "guests");
    node = calloc(1, sizeof *node);
    if (!node)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a child");
    ++*count;
    node->index = tree->count;
    tree->nodes[tree->count++] = node;
    node->at = at;
    node->parent = parent;
    node->is_supervisor = is_supervisor;
    node->trust = tree->trust;
    *out = node;
    return 0;
}

/* Sets the pointers of the options. */
static void connect(struct config_tree_node *node)
{
    node->how.dependencies = node->dependencies_count ? node->dependencies : NULL;
    node->how.success_exit = node->success[0] ? node->success : NULL;
    node->how.prevent_exit = node->prevent[0] ? node->prevent : NULL;
    node->how.force_exit = node->force[0] ? node->force : NULL;
    node->how.finish = node->finish[0] ? node->finish : NULL;
    node->how.keep_fds = node->keep_fds[0] ? node->keep_fds : NULL;
    node->group.name = node->name;
    node->group.supervision = &node->how;
}

/* A relative path begins at the folder of the file. */
static int resolve(const struct config_tree *tree, struct config_tree_node *node)
{
    const char *slash = strrchr(tree->yaml.path, '/');
    int folder = slash && node->module[0] != '/' ? (int)(slash + 1 - tree->yaml.path) : 0;

    if (asprintf(&node->path, "%.*s%s", folder, tree->yaml.path, node->module) >= 0)
        return 0;
    node->path = NULL;
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a path");
}

static int check_module(struct config_tree *tree, const struct config_tree_node *node)
{
    struct fy_node *where = config_yaml_find(node->at, "module").value;
    struct stat status;

    if (stat(node->path, &status) < 0)
        return FAIL(tree, where, "module: cannot find '%s' (%s); paths begin in the file's folder",
                    node->path, strerror(errno));
    if (!S_ISREG(status.st_mode) || access(node->path, R_OK) < 0 ||
        config_module_is_chimod(node->path) < 0)
        return FAIL(tree, where, "module: '%s' is no shared object that can be read; name one",
                    node->path);
    return 0;
}

static int read_guest(struct config_tree *tree, struct config_tree_node *parent,
                      struct fy_node *map)
{
    struct config_tree_node *node;
    int r = add_node(tree, parent, map, false, &node);

    if (r == 0)
        r = config_tree_map_read(&tree->yaml, node, CONFIG_TREE_OF_GUEST, "", map);
    if (r == 0 && !node->module)
        r = FAIL(tree, map,
                 "a guest without a module; write module: FILE.so, or make it a "
                 "supervisor with the key supervisor");
    if (r == 0)
        r = resolve(tree, node);
    if (r == 0)
        r = check_module(tree, node);
    if (r == 0)
        r = config_tree_roles_read(&tree->yaml, node);
    if (r < 0)
        return r;
    if (!node->name) {
        config_module_name(node->path, node->own_name, sizeof node->own_name);
        node->name = node->own_name;
    }
    connect(node);
    return 0;
}

static int read_supervisor(struct config_tree *tree, struct config_tree_node *parent,
                           struct fy_node *map);

static int read_child(struct config_tree *tree, struct config_tree_node *parent,
                      struct fy_node *item)
{
    struct config_tree_node inner = {0};
    int r;

    if (config_yaml_kind(item) != CONFIG_YAML_MAP)
        return FAIL(tree, item, "children: %s, where a map with the keys of a guest belongs",
                    config_tree_map_shape(item));
    if (!config_yaml_find(item, "supervisor").key)
        return read_guest(tree, parent, item);
    r = config_tree_map_read(&tree->yaml, &inner, CONFIG_TREE_OF_ITEM, "", item);
    return r == 0 ? read_supervisor(tree, parent, inner.children) : r;
}

/* The supervisor at the top ends with its children. If it fails, it is not restarted: then the
 * command ends. */
static void complete_top(struct config_tree *tree, struct config_tree_node *node)
{
    const char *slash = strrchr(tree->yaml.path, '/');
    const char *stem = slash ? slash + 1 : tree->yaml.path;

    snprintf(node->own_name, sizeof node->own_name, "%.*s", (int)strcspn(stem, "."), stem);
    if (!node->name)
        node->name = node->own_name;
    if (!config_yaml_find(node->at, "restart").key)
        node->how.restart = RAPAHUB_RESTART_TRANSIENT;
    if (node->how.restarts_max == 0)
        node->how.restarts_max = -1;
}

static int read_supervisor(struct config_tree *tree, struct config_tree_node *parent,
                           struct fy_node *map)
{
    struct config_tree_node *node;
    struct fy_node *item;
    void *at = NULL;
    int r = add_node(tree, parent, map, true, &node);

    if (r == 0)
        r = config_tree_map_read(&tree->yaml, node, CONFIG_TREE_OF_SUPERVISOR, "", map);
    if (r < 0)
        return r;
    if (!node->children)
        return FAIL(tree, map, "a supervisor without children; add the list");
    if (!node->name && parent)
        return FAIL(tree, map, "a supervisor without a name; add the key name");
    if (!parent)
        complete_top(tree, node);
    connect(node);
    while (r == 0 && (item = config_yaml_item(node->children, &at)))
        r = read_child(tree, node, item);
    return r;
}

/* ---- the file ---- */

static int read_tree(struct config_tree *tree)
{
    struct fy_node *root = tree->yaml.root;
    int r;

    if (config_yaml_kind(root) != CONFIG_YAML_MAP)
        return FAIL(tree, root, "%s, where a map with the key supervisor belongs",
                    config_tree_map_shape(root));
    r = config_tree_map_read(&tree->yaml, &tree->file, CONFIG_TREE_OF_FILE, "", root);
    if (r == 0)
        r = config_tree_regions_read(tree);
    if (r == 0 && !tree->file.children)
        r = FAIL(tree, root, "there is no supervisor; add the key supervisor");
    return r == 0 ? read_supervisor(tree, NULL, tree->file.children) : r;
}

int config_tree_open(const char *path, enum rapahub_trust trust, struct config_tree *out)
{
    int r;

    *out = (struct config_tree){.trust = trust};
    r = config_yaml_open(path, &out->yaml);
    if (r == 0)
        r = read_tree(out);
    if (r == 0)
        r = config_tree_check(out);
    return r == 0 ? config_tree_roles_check(out) : r;
}

void config_tree_close(struct config_tree *tree)
{
    for (unsigned i = 0; i < tree->count; i++) {
        free(tree->nodes[i]->path);
        free(tree->nodes[i]);
    }
    config_tree_regions_close(tree);
    config_yaml_close(&tree->yaml);
    *tree = (struct config_tree){0};
}

#else

int config_tree_open(const char *path, enum rapahub_trust trust, struct config_tree *out)
{
    *out = (struct config_tree){.trust = trust, .yaml.path = path};
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "%s: this rapahub was built without libfyaml and reads no YAML; build it "
                        "with libfyaml-dev, or name the modules on the command line",
                        path);
}

void config_tree_close(struct config_tree *tree)
{
    *tree = (struct config_tree){.guests = 0};
}

#endif
