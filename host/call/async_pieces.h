/* SPDX-License-Identifier: Apache-2.0 */
/* async_pieces: the memory of asynchronous calls. The piece of a call that has ended is kept for
 * the next call. The owner begins and ends most calls, so it acquires several pieces under one
 * lock, and returns several under one. */
#ifndef HOST_CALL_ASYNC_PIECES_H
#define HOST_CALL_ASYNC_PIECES_H

#include "host/call/asyncs.h"

struct host_call;

/* Returns a piece that is entered in the table and has a number, or NULL with the diagnosis. The
 * other fields of its host_async are zero, except the host, the buffer of `answer`, and the id and
 * name of the method that it served last. The memory after the host_async is not cleared. Any
 * thread. */
struct host_async *host_async_pieces_take(struct host_call *host);

/* Frees the piece of a call that was not begun, or has ended. Any thread. */
void host_async_pieces_free(struct host_async *async);

/* Removes the calls that have ended in this turn from the table. The owner calls this before a life
 * is freed. */
void host_async_pieces_settle(struct host_call *host);

/* Frees the pieces that the owner holds. No thread calls any more. */
void host_async_pieces_close(struct host_asyncs *asyncs);

/* Returns -EBUSY and sets the diagnosis: too many calls are open. Any thread. */
int host_async_pieces_refuse(void);

#endif
