/* SPDX-License-Identifier: Apache-2.0 */
/* pool_results: the ends of a call to several containers, in the order in which they came.
 */
#ifndef CLUSTER_CLI_POOL_RESULTS_H
#define CLUSTER_CLI_POOL_RESULTS_H

#include <stdio.h>

#include <rapahub/id.h>

#include "host/cli/text/table.h"

/* Zeroed, but for the type, before the first use. */
struct cluster_pool_results {
    const struct rapahub_type *type; /* a result's */
    bool as_json;
    struct cli_table table;
    char *json; /* a list */
    size_t json_size;
    FILE *to;
    unsigned count;
    bool failed; /* there was no memory: one at least is missing */
};

/* The callback `each` of a query, whose user this is: notes one end. On the client's thread. */
void cluster_pool_results_each(void *results, struct rapahub_container_id from, int status,
                               const void *result);

/* Print them, after the call has ended: as a table; or end the JSON list, which is in `json` then.
 * RAPAHUB_ENOMEM. */
int cluster_pool_results_end(struct cluster_pool_results *results);
void cluster_pool_results_fini(struct cluster_pool_results *results);

#endif
