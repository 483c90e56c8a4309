/* SPDX-License-Identifier: Apache-2.0 */
/* hooks: gives the lower floors of a host the functions of upper ones that they call. */
#ifndef HOST_HOOKS_H
#define HOST_HOOKS_H

struct rapahub_host;

/* Fills all tables, before anything else of a new host is used. */
void host_hooks_fill(struct rapahub_host *host);

#endif
