/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/defaults.h"

#include <stdlib.h>
#include <unistd.h>

#define SYSTEM_CONFIG "/etc/rapahub/rapahub.yaml"

struct daemon_folders_user daemon_defaults_user(void)
{
    return (struct daemon_folders_user){.uid = geteuid(),
                                        .home = getenv("HOME"),
                                        .state_home = getenv("XDG_STATE_HOME"),
                                        .runtime = getenv("XDG_RUNTIME_DIR")};
}

int daemon_defaults_config(const char *option, struct daemon_settings *settings,
                           char path[DAEMON_CONFIG_PATH], char quote[DAEMON_CONFIG_QUOTE])
{
    const bool is_root = geteuid() == 0;
    const struct daemon_config_places places = {.option = option,
                                                .variable = getenv("RAPAHUB_CONFIG"),
                                                .config_home =
                                                    is_root ? NULL : getenv("XDG_CONFIG_HOME"),
                                                .home = is_root ? NULL : getenv("HOME"),
                                                .system = SYSTEM_CONFIG};

    if (daemon_config_find(&places, path))
        return daemon_config_read(path, settings, quote);
    path[0] = '\0';
    return 0;
}

static int set_folder(struct daemon_settings *settings, const char *key, int r, const char *path)
{
    return r < 0 ? r : daemon_settings_set(settings, (unsigned)daemon_settings_find(key), path);
}

int daemon_defaults_folders(const struct daemon_folders_user *user,
                            struct daemon_settings *settings)
{
    char path[DAEMON_FOLDERS_PATH];
    int r = 0;

    if (!settings->data)
        r = set_folder(settings, "data", daemon_folders_data(user, path), path);
    if (r == 0 && !settings->run)
        r = set_folder(settings, "run", daemon_folders_run(user, settings->group != NULL, path),
                       path);
    return r;
}
