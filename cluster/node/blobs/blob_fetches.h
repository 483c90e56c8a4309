/* SPDX-License-Identifier: Apache-2.0 */
/* blob_fetches: files of modules, from the disk, or else from the node that leads, which has all
 * that were pushed. A file comes in parts, one after the other, and is written under another name
 * until its hash was checked. There is one fetch at a time; the others wait for their turn, and all
 * who want one file have one fetch. A link that is lost is waited for, and the fetch goes on where
 * it was. Owner.
 */
#ifndef CLUSTER_NODE_BLOBS_BLOB_FETCHES_H
#define CLUSTER_NODE_BLOBS_BLOB_FETCHES_H

#include "cluster/node/blobs/blob_source.h"

#define CLUSTER_BLOB_FETCHES_STALL_NS (UINT64_C(20) * 1000000000) /* without a part it ends */
#define CLUSTER_BLOB_FETCHES_LATE_NS \
    (UINT64_C(200) * 1000000000) /* then the part has come, or the link ends */

struct cluster_blob_fetches;

/* `lead`: the node that is asked; 0: none is, for this one leads. Links and disk live longer; the
 * thread of the disk ends before the release. -ENOMEM. */
int cluster_blob_fetches_create(struct cluster_peer_links *links, struct cluster_store_thread *disk,
                                uint32_t lead, struct cluster_blob_fetches **out);
void cluster_blob_fetches_release(struct cluster_blob_fetches **fetches);

/* Gets a blob as cluster_store_thread_blob_get does, and fetches it before where it is not there.
 * `on_done` comes once, also with RAPAHUB_ENOENT: neither node has it; RAPAHUB_ETIMEDOUT: no part
 * came for 20 s; a failure of the disk. */
int cluster_blob_fetches_get(struct cluster_blob_fetches *fetches,
                             const uint8_t digest[CLUSTER_DIGEST_SIZE],
                             cluster_disk_on_done *on_done, void *user);

/* Ends fetches that wait for too long. Returns when it is to be called again at the latest, or
 * HUB_NEVER. */
uint64_t cluster_blob_fetches_step(struct cluster_blob_fetches *fetches, uint64_t now_ns);

/* Ends all of them: -ECANCELED. None begins any more. NULL is ignored. */
void cluster_blob_fetches_stop(struct cluster_blob_fetches *fetches);

/* For the links, with the fetches as their user. */
extern const struct cluster_peer_links_hooks cluster_blob_fetches_hooks;

/* Another node is asked from now on; 0: none is. All that came of the node before counts. */
void cluster_blob_fetches_set_lead(struct cluster_blob_fetches *fetches, uint32_t lead);

#endif
