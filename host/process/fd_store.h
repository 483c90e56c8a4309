/* SPDX-License-Identifier: Apache-2.0 */
/* fd_store: descriptors that a trusted guest gives away under the names of its option `keep_fds`,
 * so that the next life of the child has them. Never more of them than names. Owner. */
#ifndef HOST_PROCESS_FD_STORE_H
#define HOST_PROCESS_FD_STORE_H

#include <stddef.h>

struct host_guest;
struct host_fd_store;
struct host_life;
struct hub_closer;
struct rapahub_guest_options;
struct rapahub_supervision;

/* Are the names good, and may the guest have them? -EINVAL with the rule supervise.lint.keep. */
int host_fd_store_check(const struct rapahub_guest_options *options);

/* A copy of the names, which need not be checked yet; *out stays NULL where there are none. What is
 * kept is closed by `closer`: a guest chose it. */
int host_fd_store_create(const struct rapahub_supervision *how, struct hub_closer *closer,
                         struct host_fd_store **out);

/* For the next version of a guest: the same names, and descriptors of its own. `of` may be NULL. */
int host_fd_store_copy(const struct host_fd_store *of, struct host_fd_store **out);

/* Closes what is kept. Accepts NULL. */
void host_fd_store_release(struct host_fd_store **keep);

/* The child rests: closes what is kept, the names stay. Accepts NULL. r[impl supervise.keep.end] */
void host_fd_store_drop(struct host_fd_store *keep);

/* What a new life is told: the arguments, at most HOST_FD_STORE_ARGUMENTS, each from malloc, and
 * the descriptors, which stay here, for its numbers from `first` on: how many in *count. `channel`
 * is the number of its end of the socket. Accepts NULL. */
#define HOST_FD_STORE_ARGUMENTS 17
struct host_fd_store_numbers {
    int channel, first;
};
int host_fd_store_arguments(const struct host_fd_store *keep, struct host_fd_store_numbers numbers,
                            char **arguments);
size_t host_fd_store_descriptors(const struct host_fd_store *keep, int *out);

/* Makes the socket of a life; the guest's end is in *end. Only where its guest has names. */
int host_fd_store_open(struct host_life *life, int *end);
int host_fd_store_watch(struct host_life *life);
void host_fd_store_close(struct host_life *life);

/* All that the life has sent, now that it is dead or is being replaced. */
void host_fd_store_hear(struct host_life *life);

/* The successor takes over: what it gave away itself counts from now on, also where the guest has
 * given something under the same name meanwhile. r[impl supervise.keep.upgrade] */
void host_fd_store_change_over(struct host_guest *guest, struct host_guest *successor);

#endif
