/* SPDX-License-Identifier: Apache-2.0 */
/* defaults: where settings and folders are that the command line does not name, from the
 * environment of the program. For one thread.
 */
#ifndef DAEMON_DEFAULTS_H
#define DAEMON_DEFAULTS_H

#include "cluster/daemon/config.h"
#include "cluster/daemon/folders.h"

/* The user of this process. The texts are the environment's. */
struct daemon_folders_user daemon_defaults_user(void);

/* Sets each key of the file of settings that is not given yet; `option` names the file, NULL: none
 * does. `path` is the file's, "" where there is none. The failures of daemon_config_read. */
int daemon_defaults_config(const char *option, struct daemon_settings *settings,
                           char path[DAEMON_CONFIG_PATH], char quote[DAEMON_CONFIG_QUOTE]);

/* Sets the folders that are not given. RAPAHUB_ECONFIG: nothing says where they are. */
int daemon_defaults_folders(const struct daemon_folders_user *user,
                            struct daemon_settings *settings);

#endif
