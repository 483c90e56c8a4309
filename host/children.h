/* SPDX-License-Identifier: Apache-2.0 */
/* children: the functions of <rapahub/supervise.h>. */
#ifndef HOST_CHILDREN_H
#define HOST_CHILDREN_H

#include "host/guest.h"

/* Frees what the embedder made of supervisors. */
void host_children_free(struct rapahub_host *host);

#endif
