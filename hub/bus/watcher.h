/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: a thread that makes a descriptor readable when there is something in a ring of a
 * consumer, for loops.
 *
 * The consumer arms it when it finds all of its rings empty; then the thread waits for the cell at
 * the head of each, or for the death of a producer that has claimed it, makes the descriptor
 * readable, and rests until it is armed again. */
#ifndef HUB_BUS_WATCHER_H
#define HUB_BUS_WATCHER_H

#include "hub/bus/fanin_reader.h"
#include "hub/bus/listener.h"

struct hub_watcher;

/* Starts one, armed for the heads of a reader. `listener` NULL: it has a descriptor. */
int hub_watcher_start(const struct hub_fanin_reader *reader, const struct hub_listener *listener,
                      struct hub_watcher **out);
void hub_watcher_stop(struct hub_watcher *watcher); /* NULL is allowed */
int hub_watcher_fd(const struct hub_watcher *watcher);

/* All rings are empty at their heads: the descriptor is no longer readable until there is
 * something. */
void hub_watcher_arm(struct hub_watcher *watcher, const struct hub_fanin_reader *reader);

/* From the next time on that it is armed it tells nothing before `until_ns`; 0: at once. */
void hub_watcher_pause(struct hub_watcher *watcher, uint64_t until_ns);

#endif
