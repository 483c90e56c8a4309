/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/run_events.h"
#include "host/cli/text/json.h"
#include "host/supervise/defaults.h"
#include "host/supervise/lint.h"
#include "hub/base/clock.h"

#define STOP_NS (10 * HUB_SECOND) /* for the whole tree, where the file says nothing */

/* ---- the file ---- */

static int check_options(struct cli *cli)
{
    static const char *const keys[] = {"restart", "budget", "plain", "params", "role"};

    if (cli->arguments.count > 1)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "a tree is a file alone; add the modules to it");
    if (cli_arguments_flag(&cli->arguments, "anonymous"))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--anonymous does not go with a tree");
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
        if (cli_arguments_flag(&cli->arguments, keys[i]))
            return rapahub_fail(RAPAHUB_ECONFIG, "", "--%s is said in the file, of each guest",
                                keys[i]);
    return 0;
}

int cli_run_tree_open(struct cli *cli, const char *path, enum rapahub_trust trust,
                      struct cli_run_tree *out)
{
    int r;

    *out = (struct cli_run_tree){.stop_ns = STOP_NS};
    r = check_options(cli);
    if (r == 0)
        r = config_tree_open(path, trust, &out->tree);
    if (r == RAPAHUB_ECONFIG)
        cli_failure_hint(cli, "man rapahub-tree; rapahub run --check %s", path);
    if (r < 0)
        snprintf(cli->quote, sizeof cli->quote, "%s", out->tree.yaml.quote);
    if (r == 0 && host_lint_stop_ns(&out->tree.nodes[0]->how) > 0)
        out->stop_ns = host_lint_stop_ns(&out->tree.nodes[0]->how);
    return r;
}

const char *cli_run_tree_name(const struct cli_run_tree *tree)
{
    return tree->tree.nodes[0]->name;
}

int cli_run_tree_report(const struct cli *cli, const struct cli_run_tree *tree)
{
    unsigned guests = tree->tree.guests, supervisors = tree->tree.supervisors;

    if (!cli_json_wanted(cli)) {
        printf("%s: %u guest%s, %u supervisor%s, no fault found\n", tree->tree.yaml.path, guests,
               guests == 1 ? "" : "s", supervisors, supervisors == 1 ? "" : "s");
        return 0;
    }
    return cli_json_print(stdout, "rapahub.run/1", MEMBER("event", "checked"),
                          MEMBER("file", tree->tree.yaml.path), MEMBER("guests", guests),
                          MEMBER("supervisors", supervisors));
}

static void take(uint32_t *to, uint32_t from)
{
    *to = *to ? *to : from;
}

void cli_run_tree_limit(const struct cli_run_tree *tree, struct rapahub_host_options *out)
{
    const struct rapahub_host_options *file = &tree->tree.file.host;

    take(&out->guests_max, file->guests_max);
    take(&out->payload_max, file->payload_max);
    take(&out->slot_size, file->slot_size);
    take(&out->slot_count, file->slot_count);
    take(&out->ring_size, file->ring_size);
    out->var_bytes_max = out->var_bytes_max ? out->var_bytes_max : file->var_bytes_max;
    out->cgroup = out->cgroup ? out->cgroup : file->cgroup;
    if (tree->tree.guests > HOST_DEFAULT_GUESTS)
        take(&out->guests_max, tree->tree.guests);
}

/* ---- in a host ---- */

int cli_run_tree_regions(struct cli *cli, const struct cli_run_tree *tree,
                         struct rapahub_host *host)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < tree->tree.region_count; i++) {
        const struct config_tree_region *region = &tree->tree.regions[i];

        cli_failure_about(cli, "region %s", region->name);
        r = rapahub_host_region(host, region->name,
                                region->options.region.kind ? &region->options : NULL, NULL);
    }
    if (r == 0)
        cli_failure_about(cli, "%s", "");
    return r;
}

/* State of a start, besides the tree. */
struct planting {
    struct cli_run_tree *to;
    struct rapahub_control *control;
    struct cli_run_events *events;
    struct rapahub_supervisor *root, *of[CONFIG_TREE_GUESTS + CONFIG_TREE_SUPERVISORS];
};

static struct rapahub_supervisor *above(const struct planting *planting,
                                        const struct config_tree_node *node)
{
    return node->parent ? planting->of[node->parent->index] : planting->root;
}

static int add_guest(const struct planting *planting, const struct config_tree_node *node)
{
    const struct rapahub_container_options container = {
        .id.pool = {planting->events->count + 1, 0},
        .pool_name = node->name,
        .params = {node->params, node->params ? strlen(node->params) : 0},
        .roles = node->roles};
    const struct rapahub_guest_options options = {.chimod = node->path,
                                                  .name = node->name,
                                                  .plain = node->plain[0] ? node->plain : NULL,
                                                  .trust = node->trust,
                                                  .supervision = &node->how,
                                                  .limits = &node->limits,
                                                  .container = &container};
    struct rapahub_child_id child;
    int r;

    cli_run_events_add(planting->events, node->name, node->path, node->trust, &node->how);
    r = rapahub_supervisor_add(above(planting, node), &options, &child);
    return r == 0 ? rapahub_control_offer(planting->control, node->name, container.id.pool) : r;
}

static void note_top(void *user, const struct rapahub_child_status *status)
{
    struct cli_run_tree *tree = user;

    if (status->is_supervisor && strcmp(status->name, cli_run_tree_name(tree)) == 0)
        tree->top_id = status->child;
}

static int plant(struct planting *planting)
{
    struct cli_run_tree *to = planting->to;
    int r = rapahub_host_supervisor(to->host, &planting->root);

    for (unsigned i = 0; r == 0 && i < to->tree.count; i++) {
        const struct config_tree_node *node = to->tree.nodes[i];

        r = node->is_supervisor
                ? rapahub_supervisor_create(above(planting, node), &node->group, &planting->of[i])
                : add_guest(planting, node);
    }
    to->top = planting->of[0];
    return r == 0 ? rapahub_host_children(to->host, note_top, to) : r;
}

int cli_run_tree_start(struct cli_run_tree *tree, struct rapahub_host *host,
                       struct rapahub_control *control, struct cli_run_events *events)
{
    struct planting planting = {.to = tree, .control = control, .events = events};

    tree->host = host;
    return plant(&planting);
}

struct watching {
    struct cli_run_tree *tree;
    const struct cli *cli;
};

/* A failure of the supervisor at the top is reported at the end of the command. */
static void look_at_node(void *user, const struct rapahub_child_status *status)
{
    const struct watching *watching = user;
    struct config_tree *tree = &watching->tree->tree;
    bool failed = strcmp(status->state, "failed") == 0;

    for (unsigned i = 1; i < tree->count && status->is_supervisor; i++) {
        struct config_tree_node *node = tree->nodes[i];

        if (!node->is_supervisor || strcmp(node->name, status->name) != 0)
            continue;
        if (failed && !node->failed)
            cli_failure_note(watching->cli,
                             "%s: failed: its children died too often; they stay down until "
                             "rapahub restart %s",
                             node->name, node->name);
        node->failed = failed;
    }
}

void cli_run_tree_watch(struct cli_run_tree *tree, const struct cli_run_events *events)
{
    struct watching watching = {tree, events->cli};

    if (tree->downs == events->downs)
        return;
    tree->downs = events->downs;
    if (rapahub_host_children(tree->host, look_at_node, &watching) < 0)
        rapahub_clear_error();
}

enum cli_run_tree_state cli_run_tree_state(const struct cli_run_tree *tree)
{
    struct rapahub_child_status status;

    if (rapahub_child_status(tree->host, tree->top_id, &status) < 0) {
        rapahub_clear_error();
        return CLI_RUN_TREE_ENDED;
    }
    if (strcmp(status.state, "failed") == 0)
        return CLI_RUN_TREE_FAILED;
    return strcmp(status.state, "stopped") == 0 ? CLI_RUN_TREE_ENDED : CLI_RUN_TREE_RUNS;
}

void cli_run_tree_stop(struct cli_run_tree *tree)
{
    if (tree->top && rapahub_supervisor_stop(tree->top, tree->stop_ns) < 0)
        rapahub_clear_error();
    tree->top = NULL;
}
