/* SPDX-License-Identifier: Apache-2.0 */
/* figures: the counters of a connection and its present quantities, by name. A new counter is a
 * line in the enum and one in figures.c. */
#ifndef HUB_CONNECTION_FIGURES_H
#define HUB_CONNECTION_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/connection/connection.h"

enum hub_figure {
    HUB_FIGURE_SENT,
    HUB_FIGURE_RECEIVED,
    HUB_FIGURE_SENT_BYTES,
    HUB_FIGURE_RECEIVED_BYTES,
    HUB_FIGURE_SENT_SLOTS,
    HUB_FIGURE_RECEIVED_SLOTS,
    HUB_FIGURE_WAITS_RING,
    HUB_FIGURE_WAITS_SLOT,
    HUB_FIGURE_WAITS_CREDIT,
    HUB_FIGURE_WAKES_FUTEX,
    HUB_FIGURE_WAKES_BELL,
    HUB_FIGURE_WAKES_SAVED,
    HUB_FIGURE_BELLS_OWED,
    HUB_FIGURE_FLOODS,
    HUB_FIGURE_CALLS_ANSWERED,
    HUB_FIGURE_CALLS_LOST,
    HUB_FIGURE_CALLS_LATE,
    HUB_FIGURE_REQUESTS_UNKNOWN,
    HUB_FIGURE_REQUESTS_REFUSED,
    HUB_FIGURE_REFUSED_BY_BUDGET,
    HUB_FIGURE_ORPHANS,
    HUB_FIGURE_STRAY_BITS,
    HUB_FIGURE_RING_OUT,
    HUB_FIGURE_RING_IN,
    HUB_FIGURE_SLOTS_FREE,
    HUB_FIGURE_SLOTS_TOTAL,
    HUB_FIGURE_SLOTS_GRANTED,
    HUB_FIGURE_CALLS_OPEN,
    HUB_FIGURE_CALLS_SERVED,
    HUB_FIGURE_BYTES_KEPT,
    HUB_FIGURE_CHANNELS_OPEN,
    HUB_FIGURES_COUNT
};

/* The name of a figure; whether it is a present quantity and not a count. */
struct hub_figure_kind {
    const char *name;
    bool gauge;
};
extern const struct hub_figure_kind hub_figures_kinds[HUB_FIGURES_COUNT];

/* Reads the private counters of this side, and values of the peer, which are limited to the size of
 * a ring. Any thread, any time. */
void hub_figures_read(const struct hub_connection *connection, uint64_t values[HUB_FIGURES_COUNT]);

#endif
