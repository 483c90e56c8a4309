/* SPDX-License-Identifier: Apache-2.0 */
/* store_kinds: the back ends of the metastore that this build has. */
#ifndef CLUSTER_METASTORE_KINDS_STORE_KINDS_H
#define CLUSTER_METASTORE_KINDS_STORE_KINDS_H

#include <stdbool.h>

#include "cluster/metastore/metastore.h"

/* For cluster_metastore_open; ended by NULL. */
extern const struct cluster_metastore_end *const cluster_store_kinds[];

/* Looks at the URL of a metastore that is not in the folder of a node: etcd://HOST:PORT,.../PREFIX,
 * or etcds:// by TLS. RAPAHUB_ECONFIG: it is none, or the build lacks the back end; the text says
 * which. It waits for nothing. */
int cluster_store_kinds_check(const char *url);

/* Says whether it is reached by TLS. */
bool cluster_store_kinds_by_tls(const char *url);

#endif
