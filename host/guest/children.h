/* SPDX-License-Identifier: Apache-2.0 */
/* children: the functions of <rapahub/supervise.h> that add children and supervisors. The
 * operations on them are in operations.c. */
#ifndef HOST_GUEST_CHILDREN_H
#define HOST_GUEST_CHILDREN_H

#include "host/process/guest.h"

struct host_supervision;

/* Finds the guest of a child. RAPAHUB_ESTALE if the child was closed. Owner. */
int host_children_find(struct host_supervision *host, struct rapahub_child_id child,
                       struct host_guest **out);

/* Finds the place of a child or of a supervisor. RAPAHUB_ESTATE for the default supervisor,
 * RAPAHUB_ESTALE if it was closed. Owner. */
int host_children_find_any(struct host_supervision *host, struct rapahub_child_id child,
                           uint32_t *out);

/* Fails with RAPAHUB_ESTALE and its diagnosis. Any thread. */
int host_children_refuse_stale(void);

/* Finds the place of a supervisor. RAPAHUB_ESTALE if it was closed. Owner. */
int host_children_find_supervisor(const struct rapahub_supervisor *supervisor, uint32_t *out);
struct host_supervision *host_children_host(const struct rapahub_supervisor *supervisor);

/* Frees the handles of supervisors that the embedder was given. Owner. */
void host_children_free(struct host_supervision *host);

#endif
