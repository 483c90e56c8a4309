/* SPDX-License-Identifier: Apache-2.0 */
/* seat_pair: a client of the seat, a wire, the seat, and a file of SQLite below, as one back end:
 * so all that is shown of back ends is shown of the seat. What only the seat's own node does,
 * compaction and backup, goes to the file.
 *
 * Each step is 10 us of the client's time: it waits by steps, and not by the clock. */
#ifndef TESTS_METASTORE_SEAT_PAIR_H
#define TESTS_METASTORE_SEAT_PAIR_H

#include "tests/metastore/seat_wire.h"

extern const struct cluster_metastore_end seat_pair_end;

struct seat_pair {
    struct cluster_metastore base;
    struct cluster_metastore *client, *below;
    struct cluster_seat_server *server;
    struct seat_wire wire;
    uint64_t now_ns;
};

/* Of a store that was opened by seat_pair_end. */
struct seat_pair *seat_pair_of(struct cluster_metastore *store);

/* How often links of this program were cut so far, and pieces that were put. */
struct seat_pair_counts {
    uint64_t cuts, pieces, refused;
};
extern struct seat_pair_counts seat_pair_counts;

#endif
