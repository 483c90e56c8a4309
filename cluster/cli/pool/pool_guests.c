/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool/pool_guests.h"

#include <string.h>

#include <rapahub/error.h>

#include "host/config/guest_options.h"
#include "host/config/tree_check.h"
#include "hub/wire/arena.h"

#define FAIL CLUSTER_POOL_FAIL

/* Keys of a guest that its pool has, or its node decides. */
static const char *const of_pool[] = {"name", "module", "trust", "params", "limits", NULL};
static const char *const of_node[] = {"plain", "start", "when_down", "ready", "significant", NULL};

static bool is_in(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static int check_keys(const struct cluster_pool_draft *draft, struct fy_node *map)
{
    struct config_yaml_pair pair;
    void *at = NULL;

    while (config_yaml_pair(map, &at, &pair)) {
        const char *word = config_yaml_text(pair.key);

        if (is_in(of_pool, word))
            return FAIL(draft, pair.key, "supervise: '%s' is said of the pool; take it away here",
                        word);
        if (is_in(of_node, word))
            return FAIL(draft, pair.key, "supervise: '%s' is decided by the node; take it away",
                        word);
    }
    return 0;
}

static int copy_text(struct cluster_pool_draft *draft, const char *text, struct rapahub_string *out)
{
    size_t size = strlen(text);

    *out = (struct rapahub_string){hub_arena_copy(draft->blocks, text, size), size};
    return out->data ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a pool file");
}

static int add(void *user, const struct config_guest_option *from)
{
    struct cluster_pool_draft *draft = user;
    struct cluster_list *list = &draft->spec.options;
    struct cluster_pool_option option = {.number = from->number};
    int r = copy_text(draft, from->key, &option.key);

    if (r == 0)
        r = copy_text(draft, from->word, &option.word);
    if (r < 0)
        return r;
    if (list->count == CLUSTER_POOL_SPEC_OPTIONS_MAX)
        return FAIL(draft, draft->at, "more than %u options of its guests; say fewer",
                    CLUSTER_POOL_SPEC_OPTIONS_MAX);
    list->of = draft->options;
    draft->options[list->count++] = option;
    return 0;
}

static int read_options(struct cluster_pool_draft *draft, const char *before, struct fy_node *map)
{
    const struct config_guest_options options = {draft->yaml, &draft->guest, add, draft};

    return config_guest_options_read(&options, before, map);
}

int cluster_pool_guests_supervise(struct cluster_pool_draft *draft, struct fy_node *value)
{
    int r = check_keys(draft, value);

    draft->guest.at = value;
    draft->guest.name = "supervise";
    if (r == 0)
        r = read_options(draft, "", value);
    return r == 0 ? config_tree_check_guest(draft->yaml, &draft->guest) : r;
}

int cluster_pool_guests_limits(struct cluster_pool_draft *draft, struct fy_node *value)
{
    return read_options(draft, "limits.", value);
}
