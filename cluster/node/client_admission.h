/* SPDX-License-Identifier: Apache-2.0 */
/* client_admission: a call of a client, by whichever way it came: who makes it, whether that may
 * be, and its beginning.
 */
#ifndef CLUSTER_NODE_CLIENT_ADMISSION_H
#define CLUSTER_NODE_CLIENT_ADMISSION_H

#include "cluster/node/client_links.h"

/* Describes the call of a client. */
struct cluster_clients_call cluster_client_admission_describe(const struct cluster_client *client,
                                                              const struct cluster_frame *frame,
                                                              const struct cluster_body_call *body);

/* Says whether its client may make the call: RAPAHUB_ENOTSUP, RAPAHUB_EINVAL, RAPAHUB_EACCES. */
int cluster_client_admission_check(const struct cluster_clients_call *call);

/* Makes the streams of a call, if it has any, before it begins. -EBUSY: this client, its user or
 * the node has too many. -ENOMEM. */
int cluster_client_admission_make_streams(struct cluster_client *client,
                                          const struct cluster_clients_call *call);

/* Says whether the client names the containers to which its call goes, each with its lineage. */
bool cluster_client_admission_knows(const struct cluster_clients_call *call);

/* Begins the call that is `known` from here on. It may end before this returns. */
void cluster_client_admission_run(struct cluster_clients *clients,
                                  struct cluster_origin_call *known,
                                  struct cluster_clients_call *call);

/* Forgets a call that the client has the end of, or, with `cancel`, does not wait for. */
void cluster_client_admission_forget(struct cluster_client *client, uint64_t number, bool cancel);

/* Forgets the calls that the client says, by this way, have ended. A call that runs goes on,
 * unheard. */
void cluster_client_admission_note_done(struct cluster_client *client, enum cluster_origins_way way,
                                        uint64_t done_below);

/* Says whether a call that came by this way may be admitted. RAPAHUB_ETIMEDOUT: it has ended at its
 * client, which said so by the other way, and faster. RAPAHUB_EPROTOCOL: the client said so by the
 * same way before. */
int cluster_client_admission_check_done(const struct cluster_client *client,
                                        enum cluster_origins_way way, uint64_t number);

/* Makes the body of a NACK, with the text of the diagnosis. */
struct cluster_body cluster_client_admission_nack(uint8_t reason);

#endif
