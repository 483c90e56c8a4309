/* SPDX-License-Identifier: Apache-2.0 */
/* config: reads rapahub.yaml into the settings. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include "cluster/daemon/settings.h"

#define DAEMON_CONFIG_PATH  4096
#define DAEMON_CONFIG_QUOTE 512

/* Where a file may be, from the environment of the program. */
struct daemon_config_places {
    const char *option, *variable;  /* --config, RAPAHUB_CONFIG; NULL or "": not there */
    const char *config_home, *home; /* XDG_CONFIG_HOME, HOME; NULL of root */
    const char *system;             /* /etc/rapahub/rapahub.yaml */
};

/* Finds the file to read: the first that is named, else the first that is there. Says whether there
 * is one. */
bool daemon_config_find(const struct daemon_config_places *places, char to[DAEMON_CONFIG_PATH]);

/* Sets each key of the file that is not given yet: an option goes before it. RAPAHUB_ECONFIG says
 * what is wrong, with line and column, and `quote` shows the line; "" where there is none to show.
 * RAPAHUB_ENOTSUP: this program was built without libfyaml. r[impl exp.config] */
int daemon_config_read(const char *path, struct daemon_settings *settings,
                       char quote[DAEMON_CONFIG_QUOTE]);

#endif
