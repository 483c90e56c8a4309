/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line of rapahubd, which also says which of its processes one is: the program
 * replaces itself by the warden, and the warden starts the daemon, each with all settings as
 * options. So a later life of the daemon has the settings of the first. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdio.h>

#include "cluster/daemon/settings.h"

enum daemon_options_role {
    DAEMON_OPTIONS_PROGRAM, /* the one that people start */
    DAEMON_OPTIONS_WARDEN,
    DAEMON_OPTIONS_DAEMON
};

/* Things that a daemon gets from its warden. */
struct daemon_options_ties {
    int lock, warden, report; /* descriptors: of the locked file, a pidfd, of report.h */
    uint32_t turn_ms;         /* the longest between two reports that its loop turns; 0: none */
};

struct daemon_options {
    struct daemon_settings settings;
    const char *config; /* NULL: not given */
    bool help, version, check;
    enum daemon_options_role role;
    struct daemon_options_ties ties;
};

/* RAPAHUB_ECONFIG: what is wrong, with the nearest option. `out` is to be closed in any case. */
int daemon_options_parse(int argc, char *const *argv, struct daemon_options *out);
void daemon_options_fini(struct daemon_options *options);

/* Makes the arguments of another process of this program, ended by NULL: its name, its role, and
 * each setting that was given. The caller frees them by daemon_options_drop. `ties` of a daemon. */
int daemon_options_arguments(const struct daemon_options *options, enum daemon_options_role role,
                             const struct daemon_options_ties *ties, char ***out);
void daemon_options_drop(char **arguments);

/* Prints how the program is used. */
void daemon_options_help(FILE *to);

#endif
