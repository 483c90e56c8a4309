/* SPDX-License-Identifier: Apache-2.0 */
/* etcd: etcd (3.4 or later) as a metastore: etcd://HOST:PORT,HOST:PORT/PREFIX, and etcds:// by TLS,
 * with the certificate of this side in the folder `tls` of the options. The store is all that is
 * below the prefix; `create` of the options begins one where there is none.
 *
 * It has no thread: what is submitted is sent at once, and answers are received by the step.
 * Opening waits for a member, at most 10 s.
 *
 * etcd takes transactions of CLUSTER_METASTORE_TXN_BYTES only with its option --max-request-bytes
 * 4194304. It forgets old revisions by its own option --auto-compaction-retention; the time to
 * keep changes, of the options, is not looked at. A backup is DENIED: `etcdctl snapshot save` makes
 * one.
 */
#ifndef CLUSTER_METASTORE_ETCD_ETCD_H
#define CLUSTER_METASTORE_ETCD_ETCD_H

#include "cluster/metastore/metastore.h"

extern const struct cluster_metastore_end cluster_etcd_end;
extern const struct cluster_metastore_end cluster_etcds_end;

#endif
