/* SPDX-License-Identifier: Apache-2.0 */
/* token_orders: tokens by which nodes may join are made, listed and revoked. The metastore has the
 * digest of a token's secret; the token itself is in the answer, and nowhere else. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_TOKEN_ORDERS_H
#define CLUSTER_NODE_SERVICES_TOKEN_ORDERS_H

#include "cluster/node/services/asking.h"

#define CLUSTER_TOKEN_ORDERS_MAX 256 /* tokens whose time is not over */

/* Take a question, as those of pool_orders. The first makes a token that is good for a time in
 * ns, 0: an hour, and so many uses, 0: one; its answer is the token. Each of them that is made
 * takes tokens away whose time is over. */
int cluster_token_orders_create(struct cluster_asking *asking, struct cluster_asker *asker,
                                uint64_t ttl_ns, uint32_t uses);
int cluster_token_orders_list(struct cluster_asking *asking, struct cluster_asker *asker);
int cluster_token_orders_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                                struct rapahub_string id);

#endif
