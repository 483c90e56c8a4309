/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_group.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/run_tree.h"
#include "host/cli/target/sockets.h"
#include "host/socket/role.h"

static int find_role(const char *word, enum rapahub_control_role *out)
{
    return host_role_of_word(word, out)
               ? 0
               : rapahub_fail(RAPAHUB_ECONFIG, "",
                              "'%s' is no role: --control-group GROUP:viewer, :operator or :admin",
                              word);
}

static int take_name(const char *text, size_t size, struct cli_run_group *out)
{
    if (size == 0 || size >= sizeof out->name)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.*s' is no name of a group", (int)size, text);
    snprintf(out->name, sizeof out->name, "%.*s", (int)size, text);
    return 0;
}

static int parse(const char *text, struct cli_run_group *out)
{
    const char *colon = strchr(text, ':');
    int r = take_name(text, colon ? (size_t)(colon - text) : strlen(text), out);

    return r == 0 && colon ? find_role(colon + 1, &out->role) : r;
}

int cli_run_group_take(const struct cli *cli, struct cli_run_group *out)
{
    const char *text = cli_arguments_text(&cli->arguments, "control-group");

    *out = (struct cli_run_group){.role = RAPAHUB_CONTROL_VIEWER};
    return text ? parse(text, out) : 0;
}

int cli_run_group_of_tree(const struct cli_run_tree *tree, struct cli_run_group *out)
{
    const struct config_tree_node *file = &tree->tree.file;

    if (out->name[0] || !file->control_group)
        return 0;
    out->role = file->control_role;
    return take_name(file->control_group, strlen(file->control_group), out);
}

void cli_run_group_add(const struct cli_run_group *group, struct rapahub_control_options *to)
{
    to->group = group->name[0] ? group->name : NULL;
    to->group_role = group->role;
}

void cli_run_group_hint(struct cli *cli, const struct cli_run_group *group, int r)
{
    if (!group->name[0])
        return;
    if (r == RAPAHUB_EACCES || r == RAPAHUB_ENOENT)
        cli_failure_hint(cli, "as root: install -d -m 755 -o %u " HOST_FOLDERS_SYSTEM,
                         (unsigned)geteuid());
    else if (r == RAPAHUB_EPERM)
        cli_failure_hint(cli, "a group that `id` shows, or become a member of %s", group->name);
}
