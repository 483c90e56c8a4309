/* SPDX-License-Identifier: Apache-2.0 */
/* listener: a socket in the file system that only its own user can reach, with at most one
 * listener. */
#ifndef HOST_CONTROL_LISTENER_H
#define HOST_CONTROL_LISTENER_H

struct hub_closer;

/* Listens at `path`, mode 0600, and replaces a socket without a listener. -EEXIST: there is a
 * listener; -EAGAIN: another host holds the lock of the folder; -EINVAL: the path is too long;
 * -errno. */
int host_listener_open(const char *path, int *out);

/* Accepts the next client, CLOEXEC and non-blocking: 1; 0 if none waits; -errno. A client of
 * another user goes to the closer, because it may have sent descriptors, and does not count. */
int host_listener_accept(int listener, struct hub_closer *closer, int *out);

/* Connects to such a socket, without waiting. -ENOENT: there is no listener; -EACCES: it is another
 * user's. */
int host_listener_connect(const char *path, int *out);

#endif
