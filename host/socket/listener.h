/* SPDX-License-Identifier: Apache-2.0 */
/* listener: a socket in the file system that only its own user, root and the members of one group
 * can reach, with at most one listener. */
#ifndef HOST_SOCKET_LISTENER_H
#define HOST_SOCKET_LISTENER_H

#include <sys/types.h>

/* Listens at `path`, mode 0600, or 0660 for the group `*group` unless that is NULL, and replaces a
 * socket without a listener. -EEXIST: there is a listener; -EAGAIN: another host holds the lock of
 * the folder; -EINVAL: the path is too long; -EPERM: this user is not in the group; -errno. */
int host_listener_open(const char *path, const gid_t *group, int *out);

/* Accepts the next client, CLOEXEC and non-blocking, of any user: 1; 0 if none waits; -errno. */
int host_listener_accept(int listener, int *out);

/* Connects to such a socket, without waiting. -ENOENT: there is no listener; -EACCES: it is not for
 * this user, or its listener is neither this user, nor root, nor the owner of the folder, in which
 * then no other user may write. */
int host_listener_connect(const char *path, int *out);

#endif
