/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_file.h"

#include <rapahub/error.h>

#ifdef RAPAHUB_WITH_YAML

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cli/pool/pool_complete.h"
#include "cluster/cli/pool/pool_keys.h"
#include "host/config/tree_map.h"
#include "hub/wire/arena.h"

/* Fails at a node of the file, by no rule of the specification. */
#define FAIL(file, at, ...) config_yaml_fail(&(file)->yaml, at, "", __VA_ARGS__)

static int no_memory(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a pool file");
}

/* ---- a pool ---- */

/* A relative path begins at the folder of the file. */
static int resolve(const struct cluster_pool_file *file, struct cluster_pool_file_pool *pool)
{
    const char *module = pool->draft->module, *slash = strrchr(file->yaml.path, '/');
    int folder = slash && module[0] != '/' ? (int)(slash + 1 - file->yaml.path) : 0;

    if (asprintf(&pool->path, "%.*s%s", folder, file->yaml.path, module) >= 0)
        return 0;
    pool->path = NULL;
    return no_memory();
}

static int complete_by_file(struct cluster_pool_file *file, unsigned index)
{
    struct cluster_pool_file_pool *pool = &file->pools[index];
    struct cluster_pool_module module = {.name = ""};
    char text[512];
    int r = resolve(file, pool);

    if (r < 0)
        return r;
    r = cluster_pool_module_read(pool->path, &module);
    if (r < 0 && r != RAPAHUB_ENOMEM) {
        snprintf(text, sizeof text, "%s%s%s%s", rapahub_last_error()->text,
                 r > RAPAHUB_EFORMAT ? " (" : "", r > RAPAHUB_EFORMAT ? strerror(-r) : "",
                 r > RAPAHUB_EFORMAT ? ")" : "");
        r = FAIL(file, pool->draft->said[CLUSTER_POOL_MODULE],
                 "module: %s; paths begin in the file's folder", text);
    }
    if (r == 0)
        r = cluster_pool_file_complete(file, index, &module);
    cluster_pool_module_fini(&module);
    return r;
}

/* Keys of files for another program, whose place a node decides by itself. */
static void note(struct cluster_pool_file *file, const struct cluster_pool_draft *draft)
{
    static const enum cluster_pool_draft_key unkept[] = {CLUSTER_POOL_ID, CLUSTER_POOL_QUERY};

    for (unsigned i = 0; i < sizeof unkept / sizeof *unkept; i++)
        if (draft->said[unkept[i]])
            cli_texts_print(&file->notes, "%s:%u: %s is not kept: %s", file->yaml.path,
                            config_yaml_line(&file->yaml, draft->said[unkept[i]]),
                            cluster_pool_keys_name(unkept[i]),
                            unkept[i] == CLUSTER_POOL_ID ? "the node gives a pool its number"
                                                         : "placement says where containers are");
}

static int check_name(struct cluster_pool_file *file, const struct cluster_pool_draft *draft)
{
    for (unsigned i = 0; i < file->count; i++) {
        const struct cluster_pool_draft *other = file->pools[i].draft;

        if (strcmp(other->spec.name.data, draft->spec.name.data) == 0)
            return FAIL(file, draft->said[CLUSTER_POOL_NAME],
                        "pool_name: '%s' is the name of another pool, in line %u; choose another",
                        draft->spec.name.data,
                        config_yaml_line(&file->yaml, other->said[CLUSTER_POOL_NAME]));
    }
    return 0;
}

static int add_pool(struct cluster_pool_file *file, struct cluster_pool_draft *draft)
{
    int r = cluster_pool_keys_read(draft);

    if (r == 0)
        r = check_name(file, draft);
    if (r < 0)
        return r;
    note(file, draft);
    file->pools[file->count] = (struct cluster_pool_file_pool){.draft = draft, .spec = draft->spec};
    return cluster_pool_module_is_path(draft->module) ? complete_by_file(file, file->count) : 0;
}

static int read_pool(struct cluster_pool_file *file, struct fy_node *map)
{
    struct cluster_pool_draft *draft;
    int r;

    if (config_yaml_kind(map) != CONFIG_YAML_MAP)
        return FAIL(file, map, "%s, where a map with the keys of a pool belongs",
                    config_tree_map_shape(map));
    if (file->count == CLUSTER_POOL_FILE_POOLS)
        return FAIL(file, map, "more than %d pools; put this one into another file",
                    CLUSTER_POOL_FILE_POOLS);
    draft = calloc(1, sizeof *draft);
    if (!draft)
        return no_memory();
    draft->yaml = &file->yaml;
    draft->blocks = &file->blocks;
    draft->at = map;
    draft->spec.containers = 1;
    draft->spec.trust = rapahub_string_of("standard");
    draft->spec.params = rapahub_string_of("");
    r = add_pool(file, draft);
    /* From here on the file owns it, also where it is wrong. */
    file->pools[file->count].draft = draft;
    file->count++;
    return r;
}

/* ---- the file ---- */

static int read_list(struct cluster_pool_file *file, struct fy_node *list)
{
    struct fy_node *item;
    void *at = NULL;
    int r = 0;

    while (r == 0 && (item = config_yaml_item(list, &at)))
        r = read_pool(file, item);
    return r;
}

/* `pools: [...]`, or `compose: [...]`, as files of another project have it. */
static struct config_yaml_pair find_list(struct fy_node *root)
{
    struct config_yaml_pair pair = config_yaml_find(root, "pools");

    return pair.key ? pair : config_yaml_find(root, "compose");
}

static int read_named_list(struct cluster_pool_file *file, struct fy_node *root,
                           const struct config_yaml_pair *list)
{
    struct config_yaml_pair pair;
    void *at = NULL;

    while (config_yaml_pair(root, &at, &pair))
        if (pair.key != list->key)
            return FAIL(file, pair.key, "'%.100s' beside '%s'; put it into a pool",
                        config_yaml_text(pair.key), config_yaml_text(list->key));
    if (config_yaml_kind(list->value) != CONFIG_YAML_LIST)
        return FAIL(file, list->value ? list->value : list->key,
                    "%s: %s, where a list of pools belongs", config_yaml_text(list->key),
                    config_tree_map_shape(list->value));
    return read_list(file, list->value);
}

static int read_document(struct cluster_pool_file *file, struct fy_node *root)
{
    struct config_yaml_pair list = find_list(root);

    if (list.key)
        return read_named_list(file, root, &list);
    return config_yaml_kind(root) == CONFIG_YAML_LIST ? read_list(file, root)
                                                      : read_pool(file, root);
}

/* r[impl cluster.pool.file] */
int cluster_pool_file_open(const char *path, struct cluster_pool_file *out)
{
    int r;

    *out = (struct cluster_pool_file){.count = 0};
    r = config_yaml_open_all(path, &out->yaml);
    for (unsigned i = 0; r == 0 && (i == 0 || i < out->yaml.count); i++)
        r = read_document(out, config_yaml_root(&out->yaml, i));
    if (r == 0 && out->count == 0)
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "%s: there is no pool in it", path);
    return r;
}

int cluster_pool_file_complete(struct cluster_pool_file *file, unsigned index,
                               const struct cluster_pool_module *module)
{
    struct cluster_pool_file_pool *pool = &file->pools[index];
    int r = cluster_pool_complete(pool->draft, module);

    if (r == 0)
        r = cluster_pool_complete_write(pool->draft, &pool->bytes);
    pool->spec = pool->draft->spec;
    return r;
}

void cluster_pool_file_close(struct cluster_pool_file *file)
{
    for (unsigned i = 0; i < file->count; i++) {
        free(file->pools[i].path);
        free(file->pools[i].draft);
    }
    cli_texts_fini(&file->notes);
    hub_arena_release(&file->blocks);
    config_yaml_close(&file->yaml);
    file->count = 0;
}

#else

int cluster_pool_file_open(const char *path, struct cluster_pool_file *out)
{
    *out = (struct cluster_pool_file){.yaml.path = path};
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "%s: this rapahub was built without libfyaml and reads no YAML; build it "
                        "with libfyaml-dev",
                        path);
}

int cluster_pool_file_complete(struct cluster_pool_file *file, unsigned index,
                               const struct cluster_pool_module *module)
{
    (void)index;
    (void)module;
    return rapahub_fail(RAPAHUB_ESTATE, "", "%s: it was not read", file->yaml.path);
}

void cluster_pool_file_close(struct cluster_pool_file *file)
{
    file->count = 0;
}

#endif
