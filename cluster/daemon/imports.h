/* SPDX-License-Identifier: Apache-2.0 */
/* imports: pool files in the folder `restart` of the data folder, which are applied once each when
 * the node serves. A process of its own reads each of them, `rapahub apply --once`: so the daemon
 * neither waits for a disk nor reads what a person wrote. That process gives a file another name
 * when the node has taken its pools; any other file stays, is told in the log by a line, and is
 * tried again by the next daemon. For the thread of the daemon's loop.
 */
#ifndef DAEMON_IMPORTS_H
#define DAEMON_IMPORTS_H

#include <stdint.h>
#include <sys/types.h>

#define DAEMON_IMPORTS_FILES  256 /* at a start */
#define DAEMON_IMPORTS_FOLDER 4096
#define DAEMON_IMPORTS_NODE   160

/* The one that is applied, and those that wait, in the order of their names. */
struct daemon_imports {
    char folder[DAEMON_IMPORTS_FOLDER], node[DAEMON_IMPORTS_NODE];
    char **names;
    unsigned count, at;
    pid_t pid;
    int pidfd, output; /* the process's; -1: there is none */
    uint64_t deadline_ns;
};

/* Lists the folder, once, and begins with the first file. `data` is the data folder, `node` the
 * socket of the node. A folder that is not there has no files. */
void daemon_imports_begin(struct daemon_imports *imports, const char *data, const char *node);

/* To be polled for input, and asked again after each turn; -1: all is done. */
int daemon_imports_fd(const struct daemon_imports *imports);

/* Goes on where a process has ended, or has taken too long. Never waits. */
void daemon_imports_step(struct daemon_imports *imports);

/* Ends the process, if there is one. Also for a struct that daemon_imports_begin did not see, if
 * its descriptors are -1. */
void daemon_imports_end(struct daemon_imports *imports);

#endif
