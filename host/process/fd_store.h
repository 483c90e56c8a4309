/* SPDX-License-Identifier: Apache-2.0 */
/* fd_store: descriptors that a trusted guest stores under the names of its option `keep_fds`, so
 * that the next life of the child gets them. There are never more of them than names. Owner
 * thread. */
#ifndef HOST_PROCESS_FD_STORE_H
#define HOST_PROCESS_FD_STORE_H

#include <stddef.h>

struct host_guest;
struct host_fd_store;
struct host_life;
struct hub_closer;
struct rapahub_guest_options;
struct rapahub_supervision;

/* Checks the names, and whether the guest may have them. -EINVAL with the rule
 * supervise.lint.keep. */
int host_fd_store_check(const struct rapahub_guest_options *options);

/* Makes a store for a copy of the names, which need not be checked yet; *out stays NULL if there
 * are none. `closer` closes the stored descriptors, because a guest chose them. */
int host_fd_store_create(const struct rapahub_supervision *how, struct hub_closer *closer,
                         struct host_fd_store **out);

/* Makes the store of a successor: the same names, and duplicates of the descriptors. `of` may be
 * NULL. */
int host_fd_store_copy(const struct host_fd_store *of, struct host_fd_store **out);

/* Frees the store and closes its descriptors. *keep may be NULL. */
void host_fd_store_release(struct host_fd_store **keep);

/* The child is stopped: closes the descriptors; the names stay. NULL is allowed.
 * r[impl supervise.keep.end] */
void host_fd_store_drop(struct host_fd_store *keep);

/* The two functions describe the store to a new life. The first makes its arguments, at most
 * HOST_FD_STORE_ARGUMENTS, each from malloc. The second writes the stored descriptors to `out` and
 * returns their number; they stay in the store, and the life gets them under its numbers from
 * `first` on. `channel` is the life's number for its end of the socket. NULL is allowed. */
#define HOST_FD_STORE_ARGUMENTS 17
struct host_fd_store_numbers {
    int channel, first;
};
int host_fd_store_arguments(const struct host_fd_store *keep, struct host_fd_store_numbers numbers,
                            char **arguments);
size_t host_fd_store_descriptors(const struct host_fd_store *keep, int *out);

/* Makes the socket of a life, and sets *end to the guest's end. Does nothing if its guest has no
 * names. host_fd_store_watch adds the socket to the loop, host_fd_store_close removes and closes
 * it. */
int host_fd_store_open(struct host_life *life, int *end);
int host_fd_store_watch(struct host_life *life);
void host_fd_store_close(struct host_life *life);

/* Receives what the life has sent so far; for a life that is dead or is being replaced. */
void host_fd_store_hear(struct host_life *life);

/* A successor takes over: the guest gets the descriptors that the successor itself has stored, also
 * under names for which the guest has stored one meanwhile. r[impl supervise.keep.upgrade] */
void host_fd_store_change_over(struct host_guest *guest, struct host_guest *successor);

#endif
