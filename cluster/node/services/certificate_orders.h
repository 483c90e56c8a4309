/* SPDX-License-Identifier: Apache-2.0 */
/* certificate_orders: certificates of clients are signed and revoked. A revocation is kept in the
 * metastore until the certificate has surely expired. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_CERTIFICATE_ORDERS_H
#define CLUSTER_NODE_SERVICES_CERTIFICATE_ORDERS_H

#include "cluster/node/services/asking.h"

struct cluster_certificate_orders_client {
    struct rapahub_string request; /* in PEM */
    struct rapahub_string role, name;
};

/* Take a question, as those of pool_orders. The answer to the first is the certificate and then
 * those of the authorities that the node trusts, in PEM. */
int cluster_certificate_orders_sign(struct cluster_asking *asking, struct cluster_asker *asker,
                                    const struct cluster_certificate_orders_client *client);
int cluster_certificate_orders_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                                      struct rapahub_string serial);
int cluster_certificate_orders_revoked(struct cluster_asking *asking, struct cluster_asker *asker);

#endif
