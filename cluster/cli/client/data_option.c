/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/client/data_option.h"

#include "cluster/daemon/defaults.h"
#include "host/cli/command/cli.h"

int cluster_data_option_find(struct cli *cli, struct daemon_settings *settings, const char **out)
{
    const struct daemon_folders_user user = daemon_defaults_user();
    char path[DAEMON_CONFIG_PATH];
    int r;

    daemon_settings_init(settings);
    *out = cli_arguments_text(&cli->arguments, "data");
    if (*out)
        return 0;
    r = daemon_defaults_config(NULL, settings, path, cli->quote);
    if (r == 0)
        r = daemon_defaults_folders(&user, settings);
    *out = settings->data;
    return r;
}
