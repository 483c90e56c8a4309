/* SPDX-License-Identifier: Apache-2.0 */
/* sorter: what the module does with the number of a query: a smaller one is the container. */
#ifndef TESTS_CLUSTER_MODULES_SORTER_H
#define TESTS_CLUSTER_MODULES_SORTER_H

enum sorter_number {
    SORTER_LAST = 10000, /* the last container */
    SORTER_LOCAL,
    SORTER_PHYSICAL, /* the node that asks */
    SORTER_HASH,     /* by the method */
    SORTER_RANGE,    /* containers 1 and 2 */
    SORTER_BROADCAST,
    SORTER_DYNAMIC,
    SORTER_FAILS,
    SORTER_DIES,  /* the first time */
    SORTER_HANGS, /* the first time, for a second or two */
    SORTER_WRONG  /* a mode that no query has */
};

#endif
