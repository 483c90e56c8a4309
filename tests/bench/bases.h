/* SPDX-License-Identifier: Apache-2.0 */
/* bases: the other end of one, in a process of its own. */
#ifndef TESTS_BENCH_BASES_H
#define TESTS_BENCH_BASES_H

/* Memory is descriptor 3, a socket 4. Exit status; most never return. */
int bases_peer(const char *name);

#endif
