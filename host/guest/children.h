/* SPDX-License-Identifier: Apache-2.0 */
/* children: the functions of <rapahub/supervise.h> by which children and supervisors come; what is
 * asked of them then is in operations.c. */
#ifndef HOST_GUEST_CHILDREN_H
#define HOST_GUEST_CHILDREN_H

#include "host/process/guest.h"

struct host_supervision;

/* The guest that is this child, unless it was closed: RAPAHUB_ESTALE. Owner. */
int host_children_find(struct host_supervision *host, struct rapahub_child_id child,
                       struct host_guest **out);

/* The place of a child, or of a supervisor but the default one: RAPAHUB_ESTATE, RAPAHUB_ESTALE. */
int host_children_find_any(struct host_supervision *host, struct rapahub_child_id child,
                           uint32_t *out);

/* RAPAHUB_ESTALE, with its diagnosis. */
int host_children_refuse_stale(void);

/* The place of a supervisor, unless it was closed: RAPAHUB_ESTALE. Owner. */
int host_children_find_supervisor(const struct rapahub_supervisor *supervisor, uint32_t *out);
struct host_supervision *host_children_host(const struct rapahub_supervisor *supervisor);

/* Frees what the embedder made of supervisors. */
void host_children_free(struct host_supervision *host);

#endif
