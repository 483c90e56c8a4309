/* SPDX-License-Identifier: Apache-2.0 */
/* ring: the other end of the bare ring, which is a base. */
#ifndef TESTS_BENCH_RING_H
#define TESTS_BENCH_RING_H

#include <stdbool.h>

/* Says whether this is the name of a peer program. */
bool ring_is_peer(const char *name);

/* Its memory is descriptor 3, its socket 4. An exit status. */
int ring_peer(const char *name);

#endif
