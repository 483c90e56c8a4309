/* SPDX-License-Identifier: Apache-2.0 */
/* listener: a socket in the file system that only its own user reaches, and never two at once. */
#ifndef HOST_CONTROL_LISTENER_H
#define HOST_CONTROL_LISTENER_H

struct hub_closer;

/* Listens at `path`, mode 0600. A socket that nobody listens at is replaced; -EEXIST where somebody
 * does, -EAGAIN while somebody else is at it, -EINVAL where the path is too long, -errno. */
int host_listener_open(const char *path, int *out);

/* The next client, CLOEXEC and non-blocking: 1; 0 where none waits; -errno. One of another user is
 * the closer's, for it may have sent descriptors, and counts as none. */
int host_listener_accept(int listener, struct hub_closer *closer, int *out);

/* Connects to such a socket, without waiting: -ENOENT where nobody listens; -EACCES where it is
 * another user's. */
int host_listener_connect(const char *path, int *out);

#endif
