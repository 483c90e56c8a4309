/* SPDX-License-Identifier: Apache-2.0 */
/* figures: the counters of a guest's connections, over all its lives, and the rules that it broke.
 * Owner thread. */
#ifndef HOST_PROCESS_FIGURES_H
#define HOST_PROCESS_FIGURES_H

#include <rapahub/host.h>

#include "hub/connection/figures.h"

#define HOST_FIGURES_RULES 16 /* a guest breaks few; further rules are counted together */

struct host_figures {
    uint64_t past[HUB_FIGURES_COUNT]; /* sums over lives that have ended */
    struct {
        const char *rule; /* a constant; NULL: free */
        uint64_t count;
    } broken[HOST_FIGURES_RULES];
};

/* A life has ended: adds its counters. */
void host_figures_add(struct host_figures *figures, const struct hub_connection *connection);

/* Counts a broken rule; "" if it is not known. */
void host_figures_blame(struct host_figures *figures, const char *rule);

/* Visits all figures. `connection` belongs to the present life; NULL: none. */
void host_figures_visit(const struct host_figures *figures, const struct hub_connection *connection,
                        void (*visit)(void *user, const struct rapahub_figure *figure), void *user);

#endif
