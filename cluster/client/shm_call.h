/* SPDX-License-Identifier: Apache-2.0 */
/* shm_call: a call that the thread which made it sends by shared memory, and waits for by itself.
 * After any failure on this way the call goes on by the socket, as the same call.
 */
#ifndef CLUSTER_CLIENT_SHM_CALL_H
#define CLUSTER_CLIENT_SHM_CALL_H

#include "cluster/client/client_calls.h"

enum cluster_shm_call_outcome {
    CLUSTER_SHM_CALL_NOT,   /* nothing was done: the call is to be added as any other */
    CLUSTER_SHM_CALL_ENDED, /* its end is in *end, and the call is in no list any more */
    CLUSTER_SHM_CALL_LEFT   /* it is handed over to the client's thread, which is to be woken */
};

/* Makes a call of this origin. The bytes of its end lie in `answer`. Any thread. */
enum cluster_shm_call_outcome cluster_shm_call_run(struct cluster_client_calls *calls,
                                                   struct cluster_client_call *call,
                                                   uint64_t origin, struct hub_answer *answer,
                                                   struct cluster_client_end *end);

#endif
