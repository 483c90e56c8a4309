/* SPDX-License-Identifier: Apache-2.0 */
/* body_identity: the bodies by which a node gets its number and its certificates. Constant tables,
 * for body.c.
 */
#ifndef CLUSTER_WIRE_BODY_IDENTITY_H
#define CLUSTER_WIRE_BODY_IDENTITY_H

#include "cluster/wire/format.h"

extern const struct cluster_format cluster_body_join_format, cluster_body_join_ok_format,
    cluster_body_renew_format, cluster_body_renewed_format;

#endif
