/* SPDX-License-Identifier: Apache-2.0 */
/* figures: what a guest's connections have counted, in all its lives, and the rules it broke.
 * Owner. */
#ifndef HOST_PROCESS_FIGURES_H
#define HOST_PROCESS_FIGURES_H

#include <rapahub/host.h>

#include "hub/connection/figures.h"

#define HOST_FIGURES_RULES 16 /* a guest breaks few; of more the rest is counted as one */

struct host_figures {
    uint64_t past[HUB_FIGURES_COUNT]; /* of lives that have ended */
    struct {
        const char *rule; /* a constant; NULL: free */
        uint64_t count;
    } broken[HOST_FIGURES_RULES];
};

/* A life has ended: what it counted is kept. */
void host_figures_add(struct host_figures *figures, const struct hub_connection *connection);

/* A rule was broken; "" where none is known. */
void host_figures_blame(struct host_figures *figures, const char *rule);

/* Visits all; `connection` is that of the present life, NULL: none. */
void host_figures_visit(const struct host_figures *figures, const struct hub_connection *connection,
                        void (*visit)(void *user, const struct rapahub_figure *figure), void *user);

#endif
