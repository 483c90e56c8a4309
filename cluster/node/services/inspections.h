/* SPDX-License-Identifier: Apache-2.0 */
/* inspections: what a module is: its bytes are read, and a guest loads it once, without a
 * container, to say which methods it has. The result is a MODULE record. Such a guest has a few
 * seconds and is not started again. Owner, and in no callback of the host.
 */
#ifndef CLUSTER_NODE_SERVICES_INSPECTIONS_H
#define CLUSTER_NODE_SERVICES_INSPECTIONS_H

#include <stdint.h>

#include <rapahub/host.h>

#include "cluster/store/digest.h"

#define CLUSTER_INSPECTIONS_MAX 4 /* at once */

struct cluster_inspections;

/* The end: `record` is the value of its key, or the status says why there is none, in `text` too.
 */
typedef void cluster_inspections_done(void *user, int status, const char *text,
                                      struct rapahub_bytes record);

int cluster_inspections_create(struct rapahub_host *host, struct cluster_inspections **out);
void cluster_inspections_stop(struct cluster_inspections *inspections, uint64_t timeout_ns);
void cluster_inspections_release(struct cluster_inspections **inspections);

/* Readable when cluster_inspections_step has something to do. */
int cluster_inspections_fd(const struct cluster_inspections *inspections);
void cluster_inspections_step(struct cluster_inspections *inspections);

/* Begins to look at a module, a sealed memfd that stays the caller's, with this digest. -EBUSY;
 * RAPAHUB_ELOAD, RAPAHUB_EABI: it is no chimod for this machine. `done` comes once, unless this
 * fails. */
int cluster_inspections_begin(struct cluster_inspections *inspections, int module,
                              const uint8_t digest[CLUSTER_DIGEST_SIZE],
                              cluster_inspections_done *done, void *user);

#endif
