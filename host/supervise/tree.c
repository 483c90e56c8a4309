/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/tree.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/lint.h"

#define TO(state) HUB_TO(HOST_CHILD_##state)
#define DEATHS    (TO(STOPPING) | TO(EXITED))
#define PATH_SIZE 400 /* bytes of a circle as text */

const struct hub_states host_tree_states = {
    .name = "guest",
    .of = {[HOST_CHILD_STOPPED] = {"stopped", TO(STARTING) | TO(CLOSED)},
           [HOST_CHILD_STARTING] = {"starting", TO(ATTACHED) | DEATHS},
           [HOST_CHILD_ATTACHED] = {"attached", TO(READY) | DEATHS},
           [HOST_CHILD_READY] = {"ready", TO(DEGRADED) | DEATHS},
           [HOST_CHILD_DEGRADED] = {"degraded", TO(READY) | DEATHS},
           [HOST_CHILD_STOPPING] = {"stopping", TO(EXITED)},
           [HOST_CHILD_EXITED] = {"exited", TO(BACKOFF) | TO(STOPPED) | TO(FAILED) | TO(CLOSED)},
           [HOST_CHILD_BACKOFF] = {"backoff", TO(STARTING) | TO(STOPPED) | TO(FAILED) | TO(CLOSED)},
           [HOST_CHILD_FAILED] = {"failed", TO(STARTING) | TO(STOPPED) | TO(CLOSED)},
           [HOST_CHILD_CLOSED] = {"closed", 0}},
};

int host_tree_init(struct host_tree *tree, uint32_t max)
{
    *tree = (struct host_tree){.max = max, .children = calloc(max, sizeof *tree->children)};
    if (!tree->children)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u supervised children", max);
    return 0;
}

void host_tree_fini(struct host_tree *tree)
{
    free(tree->children);
    *tree = (struct host_tree){0};
}

/* ---- queries ---- */

uint32_t host_tree_find(const struct host_tree *tree, uint32_t number)
{
    for (uint32_t i = 0; number != 0 && i < tree->max; i++)
        if (tree->children[i].number == number)
            return i;
    return HOST_TREE_NONE;
}

uint32_t host_tree_child_of(const struct host_tree *tree, uint32_t parent, uint32_t from)
{
    for (uint32_t i = from; i < tree->max; i++) {
        const struct host_child *child = &tree->children[i];

        if (child->number != 0 && child->parent == parent && child->state != HOST_CHILD_CLOSED)
            return i;
    }
    return HOST_TREE_NONE;
}

uint32_t host_tree_named(const struct host_tree *tree, uint32_t parent, const char *name)
{
    HOST_TREE_EACH_CHILD(tree, parent, i)
    if (strcmp(tree->children[i].name, name) == 0)
        return i;
    return HOST_TREE_NONE;
}

bool host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor)
{
    const struct host_child *above = &tree->children[supervisor];

    return !above->has_graph && (above->group.strategy == RAPAHUB_ONE_FOR_ALL ||
                                 above->group.strategy == RAPAHUB_REST_FOR_ONE);
}

static bool depends_on(const struct host_child *child, const char *name)
{
    for (uint32_t i = 0; i < child->dependencies_count; i++)
        if (strcmp(child->dependencies[i].on, name) == 0)
            return true;
    return false;
}

/* r[impl supervise.order] */
bool host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b)
{
    const struct host_child *first = &tree->children[a], *second = &tree->children[b];

    if (first->parent != second->parent || first->parent == HOST_TREE_NONE)
        return false;
    if (host_tree_is_linear(tree, first->parent))
        return first->number < second->number;
    return depends_on(second, first->name);
}

bool host_tree_is_down(const struct host_child *child)
{
    return child->state == HOST_CHILD_STOPPED || child->state == HOST_CHILD_BACKOFF ||
           child->state == HOST_CHILD_FAILED || child->state == HOST_CHILD_CLOSED;
}

bool host_tree_is_up(const struct host_child *child)
{
    return child->state == HOST_CHILD_READY || child->state == HOST_CHILD_DEGRADED;
}

/* ---- checks of a new child ---- */

struct circle {
    const struct host_tree *tree;
    const struct host_child *start;
    char path[PATH_SIZE];
};

static void append(struct circle *circle, const char *text)
{
    size_t size = strlen(circle->path);

    strncat(circle->path, text, sizeof circle->path - size - 1);
}

/* Appends the names on the path from `at` back to the start; each child is visited once. */
static bool leads_back(struct circle *circle, const struct host_child *at)
{
    size_t size = strlen(circle->path);

    append(circle, at == circle->start ? "" : " -> ");
    append(circle, at->name);
    for (uint32_t i = 0; i < at->dependencies_count; i++) {
        const char *on = at->dependencies[i].on;
        uint32_t next = host_tree_named(circle->tree, circle->start->parent, on);

        if (strcmp(on, circle->start->name) == 0)
            return true;
        if (next == HOST_TREE_NONE || circle->tree->children[next].marked)
            continue;
        circle->tree->children[next].marked = true;
        if (leads_back(circle, &circle->tree->children[next]))
            return true;
    }
    circle->path[size] = '\0';
    return false;
}

/* r[impl supervise.lint.circle] */
static int check_circle(const struct host_tree *tree, const struct host_child *child)
{
    struct circle circle = {.tree = tree, .start = child};

    for (uint32_t i = 0; i < tree->max; i++)
        tree->children[i].marked = false;
    if (!leads_back(&circle, child))
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.circle",
                        "%s: its dependencies are a circle, %s -> %s; take one of them away",
                        child->name, circle.path, child->name);
}

static int take_dependencies(const struct rapahub_dependency *list, struct host_child *child)
{
    for (uint32_t i = 0; list && list[i].on; i++) {
        size_t size = strlen(list[i].on);

        if (i == RAPAHUB_DEPENDENCIES_MAX)
            return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                                "%s: has more than %d dependencies; name fewer", child->name,
                                RAPAHUB_DEPENDENCIES_MAX);
        if (size == 0 || size > HOST_TREE_NAME_MAX || (unsigned)list[i].kind > RAPAHUB_PART_OF)
            return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                                "%s: dependency %u is not valid; give it a kind and a name of 1 to "
                                "%d bytes",
                                child->name, i, HOST_TREE_NAME_MAX);
        child->dependencies[i].kind = list[i].kind;
        memcpy(child->dependencies[i].on, list[i].on, size + 1);
        child->dependencies_count = i + 1;
    }
    return 0;
}

/* r[impl supervise.lint.name] */
static int take_name(const struct host_tree *tree, const struct host_tree_plan *plan,
                     struct host_child *child)
{
    size_t size = strlen(plan->name);

    if (size > HOST_TREE_NAME_MAX || (size == 0 && plan->parent != HOST_TREE_NONE))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                            "a child's name has %zu bytes; give it one of 1 to %d", size,
                            HOST_TREE_NAME_MAX);
    memcpy(child->name, plan->name, size + 1);
    if (plan->parent != HOST_TREE_NONE &&
        host_tree_named(tree, plan->parent, plan->name) != HOST_TREE_NONE)
        return rapahub_fail(-EEXIST, "supervise.lint.name",
                            "%s: a child of this supervisor bears the name already; choose another",
                            plan->name);
    return 0;
}

/* r[impl supervise.lint.simple] */
static int check_parent(const struct host_tree *tree, const struct host_child *child)
{
    const struct host_child *above = &tree->children[child->parent];
    uint32_t count = 0;

    HOST_TREE_EACH_CHILD(tree, child->parent, i)
    count++;
    if (above->group.children_max > 0 && count >= above->group.children_max)
        return rapahub_fail(
            RAPAHUB_EFULL, "",
            "%s: its supervisor may have %u children, as its children_max says; raise it",
            child->name, above->group.children_max);
    if (above->group.strategy == RAPAHUB_SIMPLE && child->dependencies_count > 0)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.simple",
                            "%s: has dependencies, and children of a SIMPLE supervisor have no "
                            "order; choose another strategy",
                            child->name);
    return check_circle(tree, child);
}

/* ---- add ---- */

static int take_group(const struct host_tree_plan *plan, struct host_child *child)
{
    const struct rapahub_supervision *how = plan->group->supervision;
    int r = host_lint_supervisor(plan->group, &child->group);

    if (r < 0)
        return r;
    child->is_supervisor = true;
    child->limited = child->group.restarts_max != 0;
    if (how && (how->goodbye_ns || how->term_ns || how->brutal))
        child->stop_ns = host_lint_stop_ns(how) > 0 ? host_lint_stop_ns(how) : 1;
    return host_budget_init(&child->intensity,
                            child->group.restarts_max < 0 ? 0 : (uint32_t)child->group.restarts_max,
                            child->group.period_ns == RAPAHUB_FOREVER ? 0 : child->group.period_ns);
}

/* Returns the options against which children are checked, with the time that the supervisor itself
 * may need. */
static struct rapahub_supervisor_options above_of(const struct host_child *above,
                                                  struct rapahub_supervision *how)
{
    struct rapahub_supervisor_options options = above->group;

    *how = above->how;
    options.supervision = above->stop_ns ? how : NULL;
    return options;
}

static int take_how(const struct host_tree *tree, const struct host_tree_plan *plan,
                    struct host_child *child)
{
    const struct rapahub_supervision *given = plan->group ? plan->group->supervision : plan->how;
    struct rapahub_supervision above;
    struct rapahub_supervisor_options parent;
    bool has_parent = plan->parent != HOST_TREE_NONE;
    int r;

    if (has_parent)
        parent = above_of(&tree->children[plan->parent], &above);
    r = host_lint_child(child->name, given, has_parent ? &parent : NULL, &child->how);
    if (r == 0)
        r = host_exits_take(child->name, &child->how, &child->rules);
    if (r == 0)
        r = take_dependencies(child->how.dependencies, child);
    if (r == 0)
        r = host_budget_init(&child->budget,
                             child->how.restarts_max < 0 ? 0 : (uint32_t)child->how.restarts_max,
                             child->how.period_ns == RAPAHUB_FOREVER ? 0 : child->how.period_ns);
    if (r < 0)
        return r;
    host_backoff_init(&child->backoff, &child->how, plan->seed);
    child->how.success_exit = child->how.prevent_exit = child->how.force_exit = NULL;
    child->how.dependencies = NULL;
    child->how.finish = child->how.keep_fds = NULL;
    child->group.name = NULL;
    child->group.supervision = NULL;
    return has_parent ? check_parent(tree, child) : 0;
}

/* Returns a free place, or that of the oldest child that is CLOSED and no longer used.
 * r[impl supervise.bounds] */
static int find_place(const struct host_tree *tree, const char *name, uint32_t *out)
{
    uint32_t oldest = HOST_TREE_NONE;

    for (uint32_t i = 0; i < tree->max; i++) {
        const struct host_child *child = &tree->children[i];

        if (child->number == 0) {
            *out = i;
            return 0;
        }
        if (child->state == HOST_CHILD_CLOSED && !child->used &&
            (oldest == HOST_TREE_NONE || child->number < tree->children[oldest].number))
            oldest = i;
    }
    if (oldest == HOST_TREE_NONE)
        return rapahub_fail(RAPAHUB_EFULL, "supervise.bounds",
                            "%s: there are %u supervised children; there may be no more", name,
                            tree->max);
    *out = oldest;
    return 0;
}

/* `child` is too large for a stack, so it is made in place. The place counts as free until it is
 * complete. */
static int make(struct host_tree *tree, const struct host_tree_plan *plan, struct host_child *child)
{
    int r;

    *child = (struct host_child){.parent = plan->parent,
                                 .trial = plan->trial,
                                 .used = plan->used,
                                 .state = HOST_CHILD_STOPPED};
    r = take_name(tree, plan, child);
    if (r == 0 && plan->group)
        r = take_group(plan, child);
    return r == 0 ? take_how(tree, plan, child) : r;
}

int host_tree_add(struct host_tree *tree, const struct host_tree_plan *plan, uint32_t *out)
{
    struct host_child *child;
    uint32_t place = 0;
    int r = find_place(tree, plan->name, &place);

    if (r < 0)
        return r;
    child = &tree->children[place];
    r = make(tree, plan, child);
    if (r < 0) {
        *child = (struct host_child){0};
        return r;
    }
    child->number = ++tree->numbers;
    if (child->dependencies_count > 0 && plan->parent != HOST_TREE_NONE)
        tree->children[plan->parent].has_graph = true;
    *out = place;
    return 0;
}

const char *host_tree_reason(enum host_failed why)
{
    static const char *const words[] = {
        [HOST_FAILED_BUDGET] = "",
        [HOST_FAILED_STATUS] = ", which is one of prevent_exit",
        [HOST_FAILED_OOM] = ", and its oom_policy is to stop",
        [HOST_FAILED_BARRED] = ", and its finish command ended with status 125",
        [HOST_FAILED_ABOVE] = ", and its supervisor has failed",
    };

    return words[why];
}
