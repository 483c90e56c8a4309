/* SPDX-License-Identifier: Apache-2.0 */
/* async_pieces: memory of the calls nobody waits for. A piece that has ended is kept for the next
 * call. The owner, who begins and ends most of them, takes several and gives back several under one
 * lock. */
#ifndef HOST_CALL_ASYNC_PIECES_H
#define HOST_CALL_ASYNC_PIECES_H

#include "host/call/asyncs.h"

struct host_call;

/* A piece, entered: with its number. All else of its host_async is zero, but for the host, the
 * buffer of `answer`, and the method it was for last, whose name goes with its id; what is behind
 * it is as it was. NULL with the diagnosis. Any thread. */
struct host_async *host_async_pieces_take(struct host_call *host);

/* Of a call that was not begun, or has ended. Any thread. */
void host_async_pieces_free(struct host_async *async);

/* Owner, before a life is freed: what has ended in this turn leaves the table. */
void host_async_pieces_settle(struct host_call *host);

/* Nobody calls any more. */
void host_async_pieces_close(struct host_asyncs *asyncs);

/* -EBUSY with the diagnosis: too many are open. */
int host_async_pieces_refuse(void);

#endif
