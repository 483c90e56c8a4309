/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/strategy.h"

#include <string.h>

#define BINDING (1u << RAPAHUB_REQUIRES | 1u << RAPAHUB_PART_OF)
#define ANY     (BINDING | 1u << RAPAHUB_WANTS | 1u << RAPAHUB_AFTER)

static void clear(struct host_tree *tree)
{
    for (uint32_t i = 0; i < tree->max; i++)
        tree->children[i].marked = false;
}

/* Says whether the child depends, in one of these ways, on a marked one. */
static bool follows(const struct host_tree *tree, const struct host_child *child, unsigned kinds)
{
    for (uint32_t i = 0; i < child->dependencies_count; i++) {
        uint32_t on = host_tree_named(tree, child->parent, child->dependencies[i].on);

        if ((kinds >> child->dependencies[i].kind & 1) != 0 && on != HOST_TREE_NONE &&
            tree->children[on].marked)
            return true;
    }
    return false;
}

/* Repeats until no more children follow. */
static void mark_followers(struct host_tree *tree, uint32_t supervisor, unsigned kinds)
{
    bool more = tree->children[supervisor].has_graph;

    while (more) {
        more = false;
        HOST_TREE_EACH_CHILD(tree, supervisor, i)
        {
            struct host_child *child = &tree->children[i];

            if (child->marked || !follows(tree, child, kinds))
                continue;
            child->marked = true;
            more = true;
        }
    }
}

void host_strategy_mark_dependants(struct host_tree *tree, uint32_t place)
{
    clear(tree);
    tree->children[place].marked = true;
    if (tree->children[place].parent != HOST_TREE_NONE)
        mark_followers(tree, tree->children[place].parent, BINDING);
}

static bool goes_too(const struct host_tree *tree, uint32_t place, uint32_t other)
{
    const struct host_child *above = &tree->children[tree->children[place].parent];

    if (above->group.strategy == RAPAHUB_ONE_FOR_ALL)
        return true;
    return above->group.strategy == RAPAHUB_REST_FOR_ONE && !above->has_graph &&
           tree->children[other].number > tree->children[place].number;
}

void host_strategy_mark(struct host_tree *tree, uint32_t place)
{
    uint32_t supervisor = tree->children[place].parent;
    unsigned kinds = BINDING;

    clear(tree);
    tree->children[place].marked = true;
    if (supervisor == HOST_TREE_NONE)
        return;
    HOST_TREE_EACH_CHILD(tree, supervisor, i)
    if (goes_too(tree, place, i))
        tree->children[i].marked = true;
    if (tree->children[supervisor].group.strategy == RAPAHUB_REST_FOR_ONE)
        kinds = ANY;
    mark_followers(tree, supervisor, kinds);
}
