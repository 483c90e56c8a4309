/* SPDX-License-Identifier: Apache-2.0 */
/* run_tree: `rapahub run tree.yaml`: from the file to supervisors and guests of a host. */
#ifndef CLI_RUN_TREE_H
#define CLI_RUN_TREE_H

#include <rapahub/control.h>

#include "host/config/tree.h"

struct cli;
struct cli_run_events;

struct cli_run_tree {
    struct config_tree tree;
    struct rapahub_host *host;
    struct rapahub_supervisor *top; /* NULL: not made yet */
    struct rapahub_child_id top_id;
    uint64_t stop_ns; /* longest time that a stop of the tree takes */
    unsigned downs;   /* number of deaths at the last check */
};

/* Reads and checks the file. RAPAHUB_ECONFIG also for command line options that the file itself
 * has. out->tree must be closed in any case. */
int cli_run_tree_open(struct cli *cli, const char *path, enum rapahub_trust trust,
                      struct cli_run_tree *out);

/* Prints the result of `run --check`. */
int cli_run_tree_report(const struct cli *cli, const struct cli_run_tree *tree);

/* Sets the limits of the file, except those that the command line has. */
void cli_run_tree_limit(const struct cli_run_tree *tree, struct rapahub_host_options *out);

const char *cli_run_tree_name(const struct cli_run_tree *tree);

/* Makes the regions of the file in the host, or opens them, before a guest starts. */
int cli_run_tree_regions(struct cli *cli, const struct cli_run_tree *tree,
                         struct rapahub_host *host);

/* Starts the whole tree, without waiting for it. events->guests must have space for all its guests.
 */
int cli_run_tree_start(struct cli_run_tree *tree, struct rapahub_host *host,
                       struct rapahub_control *control, struct cli_run_events *events);

enum cli_run_tree_state { CLI_RUN_TREE_RUNS, CLI_RUN_TREE_ENDED, CLI_RUN_TREE_FAILED };
enum cli_run_tree_state cli_run_tree_state(const struct cli_run_tree *tree);

/* Reports supervisors that have failed, after the deaths that led to it. */
void cli_run_tree_watch(struct cli_run_tree *tree, const struct cli_run_events *events);

/* Stops the tree in reverse order. Does nothing if it was not started. */
void cli_run_tree_stop(struct cli_run_tree *tree);

#endif
