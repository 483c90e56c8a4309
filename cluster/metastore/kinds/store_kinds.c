/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/kinds/store_kinds.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_client.h"
#include "cluster/metastore/sqlite/sqlite.h"

#define TLS "etcds:"

#ifdef RAPAHUB_WITH_ETCD
#include "cluster/metastore/etcd/etcd.h"
#include "cluster/metastore/etcd/etcd_url.h"
#endif

const struct cluster_metastore_end *const cluster_store_kinds[] = {
    &cluster_sqlite_end,
    &cluster_seat_client_end,
#ifdef RAPAHUB_WITH_ETCD
    &cluster_etcd_end,
    &cluster_etcds_end,
#endif
    NULL,
};

bool cluster_store_kinds_by_tls(const char *url)
{
    return strncmp(url, TLS, strlen(TLS)) == 0;
}

/* r[impl cluster.daemon.metastore] */
int cluster_store_kinds_check(const char *url)
{
    if (strncmp(url, "etcd:", 5) != 0 && !cluster_store_kinds_by_tls(url))
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "'%.200s' is no metastore; write etcd://HOST:PORT,HOST:PORT/PREFIX, or "
                            "etcds:// for TLS",
                            url);
#ifdef RAPAHUB_WITH_ETCD
    return cluster_etcd_url_parse(url, &(struct cluster_etcd_url){.count = 0});
#else
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "'%.200s': built without etcd (WITH_ETCD): the metastore of a node is in "
                        "its data folder, and is lost with it",
                        url);
#endif
}
