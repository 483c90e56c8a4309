/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/cluster_commands.h"

#include <stddef.h>

#define FILE_OPTION VALUE(FOLDER, "file", "FILE", "the pools; required", .letter = 'f')

static const struct cli_option apply_options[] = {
    FILE_OPTION, FLAG("check", "only look whether the file is right; no node is asked"), END};

const struct cli_command cluster_commands[] = {
    {.name = "apply",
     .operands = "-f FILE",
     .summary = "make the pools of a file, or change nothing where they are so",
     .text = "Reads a file with pools, as rapahub-pool(5) says. The whole file is checked before\n"
             "anything else: a key that is unknown or a value that is wrong is told with line and\n"
             "column.",
     .example = "rapahub apply --check -f pool.yaml",
     .schema = "rapahub.apply/1",
     .members = "pools[{name, module, version, containers, guests, durability, copies, trust}]",
     .options = apply_options,
     .run = cluster_apply},
    END};
