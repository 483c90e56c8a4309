/* SPDX-License-Identifier: Apache-2.0 */
/* role: what a program that has connected to a socket of this process may ask for. It is judged
 * once, when it has connected, by what the kernel says of it and never by what it says of itself.
 */
#ifndef HOST_SOCKET_ROLE_H
#define HOST_SOCKET_ROLE_H

#include <stdbool.h>
#include <sys/types.h>

#include <rapahub/control.h>

/* The group whose members may connect. */
struct host_role_group {
    bool set; /* else only the user of the host, and root */
    gid_t gid;
    enum rapahub_control_role role;
};

struct host_role_peer {
    uid_t uid;
    enum rapahub_control_role role;
};

/* Finds a group by its name or its number. -ENOENT: there is none; -EINVAL: it is the one that
 * stands for all groups that are unknown here. */
int host_role_find_group(const char *name, gid_t *out);

/* Finds a role by its word: viewer, operator or admin. False: it is none. */
bool host_role_of_word(const char *word, enum rapahub_control_role *out);

/* Judges the process that has connected this socket. RAPAHUB_EACCES: it has no role. */
int host_role_judge(int fd, const struct host_role_group *group, struct host_role_peer *out);

#endif
