/* SPDX-License-Identifier: Apache-2.0 */
/* pieces: the embedder's end of a state that goes in or out piece by piece: its callback, and
 * whether that let the state wait. Owner. */
#ifndef HOST_CONTAINER_PIECES_H
#define HOST_CONTAINER_PIECES_H

#include <rapahub/lifecycle.h>

struct host_call;

/* Zeroed except for the first two members. */
struct host_pieces {
    struct host_call *host;
    struct rapahub_pieces to;
    uint32_t told; /* how often it was told to go on before it was asked last */
    bool stands;   /* it answered -EAGAIN */
};

/* Hands a piece to the callback, or lets it fill one in. -EAGAIN: not now; the callback is not
 * asked again before it is told to go on. Else the failure of the callback, with its diagnosis, or
 * -EINVAL for a result that has no meaning. The callback may take turns. */
int host_pieces_put(struct host_pieces *pieces, const void *data, size_t size);
int host_pieces_get(struct host_pieces *pieces, void *data, size_t size); /* bytes; 0: the end */

/* Says whether it let the state wait, and was told to go on since. */
bool host_pieces_may_go_on(const struct host_pieces *pieces);

#endif
