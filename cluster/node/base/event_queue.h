/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue: events that wait to be told to the core, in their order. Callbacks of the host and
 * of the metastore note them here, and a turn of the node tells them. All that an event names is
 * copied. Owner.
 */
#ifndef CLUSTER_NODE_BASE_EVENT_QUEUE_H
#define CLUSTER_NODE_BASE_EVENT_QUEUE_H

#include <stdbool.h>

#include "cluster/core/event.h"

struct cluster_event_queue;

#define CLUSTER_EVENT_QUEUE_FRAMES_MAX 16384 /* frames of other nodes wait */

/* Called after an event of a call was added: a caller that takes turns of the host alone would
 * never see one of the node. A constant table. */
struct cluster_event_queue_hooks {
    void (*urgent)(void *user);
};

/* Makes a queue, whose descriptor is readable as long as an event waits and it is not held. */
int cluster_event_queue_create(struct cluster_event_queue **out);
void cluster_event_queue_set(struct cluster_event_queue *queue,
                             const struct cluster_event_queue_hooks *hooks, void *user);
void cluster_event_queue_release(struct cluster_event_queue **queue);
int cluster_event_queue_fd(const struct cluster_event_queue *queue);

/* Adds a copy of an event: of its call, its order, its frame, its report, its body and its text.
 * It names nothing else by a pointer. -ENOMEM; RAPAHUB_EFULL: too many frames wait. */
int cluster_event_queue_add(struct cluster_event_queue *queue, const struct cluster_event *event);

/* Adds it, and has it told now, if that can be. It may have been told when this returns. */
int cluster_event_queue_add_urgent(struct cluster_event_queue *queue,
                                   const struct cluster_event *event);

/* An event could not be added that nothing makes good, or a wake: the core would wait for it for
 * ever. The diagnosis goes, and the queue has lost one from now on: its descriptor is readable, and
 * its owner ends. */
void cluster_event_queue_lose(struct cluster_event_queue *queue);
bool cluster_event_queue_has_lost(const struct cluster_event_queue *queue);

/* While it is held its owner takes what comes, and the descriptor need not say so. */
void cluster_event_queue_hold(struct cluster_event_queue *queue, bool held);

/* Takes the first event; NULL: none waits. It is good until cluster_event_queue_done, which comes
 * before the next one is taken. */
const struct cluster_event *cluster_event_queue_take(struct cluster_event_queue *queue);
void cluster_event_queue_done(struct cluster_event_queue *queue);

#endif
