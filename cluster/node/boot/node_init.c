/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/node_init.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/identity/identity_setup.h"

/* The uuid of the cluster is that of its metastore, which the first start makes. */
int cluster_node_init_run(const struct cluster_boot_options *options, uint64_t now_s,
                          struct cluster_node_init *out)
{
    struct cluster_boot boot;
    struct cluster_own_identity_owner owner;
    int r = cluster_boot_run(options, &boot);

    if (r < 0)
        return r;
    owner = (struct cluster_own_identity_owner){boot.folder.store.uuid, boot.folder.node};
    memcpy(out->uuid, owner.uuid, sizeof out->uuid);
    out->node = owner.node;
    r = cluster_identity_setup_run(&boot.folder.root, &owner, now_s, out->digest);
    if (r == 0 && cluster_boot_end_session(&boot) < 0)
        rapahub_clear_error(); /* the next life ends it */
    cluster_boot_close(&boot);
    return r;
}
