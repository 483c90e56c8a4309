/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/pieces.h"

#include <errno.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/owner/changes.h"
#include "host/owner/wait.h"

static uint32_t told(const struct host_pieces *pieces)
{
    return host_changes_of(&HOST_OWNER(pieces->host)->changes, pieces->to.user);
}

/* A deep turn leaves all callbacks of the embedder to the turns around it. */
static bool is_deep(const struct host_owner *owner)
{
    return owner->depth + owner->nested > HOST_WAIT_DEPTH_MAX;
}

/* The callback need not have set a diagnosis. */
static int explain(int r)
{
    if (rapahub_last_error()->code == r)
        return r;
    return rapahub_fail(r, "", "the callback for the pieces of the state ended with %s",
                        rapahub_error_name(r));
}

/* The count is read before the callback looks: it may be told to go on before it returns. */
static int run(struct host_pieces *pieces, void *data, size_t size)
{
    struct host_owner *owner = HOST_OWNER(pieces->host);
    uint32_t now = told(pieces);
    int r;

    if (pieces->stands && pieces->told == now)
        return -EAGAIN;
    pieces->stands = is_deep(owner);
    pieces->told = pieces->stands ? now - 1 : now; /* to be asked again at once */
    if (pieces->stands)
        return -EAGAIN;
    rapahub_clear_error();
    owner->callbacks++;
    r = pieces->to.piece(pieces->to.user, data, size);
    owner->callbacks--;
    pieces->stands = r == -EAGAIN;
    return r < 0 && r != -EAGAIN ? explain(r) : r;
}

int host_pieces_put(struct host_pieces *pieces, const void *data, size_t size)
{
    int r = run(pieces, (void *)(uintptr_t)data, size);

    if (r <= 0)
        return r;
    return rapahub_fail(RAPAHUB_EINVAL, "",
                        "the callback for the pieces of a state that goes out returned %d, not 0",
                        r);
}

int host_pieces_get(struct host_pieces *pieces, void *data, size_t size)
{
    int r = run(pieces, data, size);

    if (r <= 0 || (size_t)r <= size)
        return r;
    return rapahub_fail(RAPAHUB_EINVAL, "",
                        "the callback for the pieces of a state filled %d of %zu bytes", r, size);
}

bool host_pieces_may_go_on(const struct host_pieces *pieces)
{
    return pieces->stands && pieces->told != told(pieces);
}
