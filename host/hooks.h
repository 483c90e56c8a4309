/* SPDX-License-Identifier: Apache-2.0 */
/* hooks: hands down what lower floors of a host call of upper ones. */
#ifndef HOST_HOOKS_H
#define HOST_HOOKS_H

struct rapahub_host;

/* Before anything else of a new host is used. */
void host_hooks_fill(struct rapahub_host *host);

#endif
