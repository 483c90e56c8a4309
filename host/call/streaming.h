/* SPDX-License-Identifier: Apache-2.0 */
/* streaming: calls with streams. Threads of the library move the bytes while the call is open. So
 * an asynchronous call with streams has a thread that waits for it. */
#ifndef HOST_CALL_STREAMING_H
#define HOST_CALL_STREAMING_H

#include <rapahub/host.h>

#include "host/call/asyncs.h"
#include "host/call/request.h"

struct host_call;

/* Opens the link of a life. The owner waits for its channels in turns. */
int host_streaming_connect(struct host_call *host, struct host_life *life);

/* Does the same as host_request_run, with the streams marked in the arguments. If both the call and
 * the caller's own stream fail, the failure of the stream is reported. The deadline begins anew
 * with each byte that moves. Any thread. */
int host_streaming_run(struct host_call *host, const struct host_request *exchange,
                       const struct hub_stream_marks *marks, struct hub_answer *answer);

/* Carries out an asynchronous call that has marks on a thread of its own. The owner reports its
 * end. Any thread. */
int host_streaming_start(struct host_call *host, struct host_async *async);

/* Waits for those threads, which end. Owner, at the end of the host, when no call can go on. */
void host_streaming_end(struct host_call *host);

#endif
