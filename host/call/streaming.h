/* SPDX-License-Identifier: Apache-2.0 */
/* streaming: calls with streams. Bytes are moved by threads of the library as long as the call is
 * open; so a call nobody waits for has a thread too, which waits for it. */
#ifndef HOST_CALL_STREAMING_H
#define HOST_CALL_STREAMING_H

#include <rapahub/host.h>

#include "host/call/asyncs.h"
#include "host/call/request.h"

struct host_call;

/* Opens the link of a life; its channels are waited for by the owner in turns. */
int host_streaming_connect(struct host_call *host, struct host_life *life);

/* As host_request_run, with the streams marked in the arguments. Of two failures that of the
 * caller's own stream is told. Its deadline begins anew with each byte that moves. */
int host_streaming_run(struct host_call *host, const struct host_request *exchange,
                       const struct hub_stream_marks *marks, struct hub_answer *answer);

/* Carries out a call of asyncs that has marks: on a thread of its own; the end is the owner's. */
int host_streaming_start(struct host_call *host, struct host_async *async);

/* Owner, at the end of the host, when no call can go on: waits for those threads, which end. */
void host_streaming_end(struct host_call *host);

#endif
