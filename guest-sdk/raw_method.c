/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/raw_method.h"

#include "guest-sdk/frame.h"
#include "guest-sdk/serve.h"
#include "hub/link/direct_serve.h"

/* One byte of length, and as many as it says. */
static bool take_bytes(const struct hub_request *request, struct rapahub_bytes *out)
{
    const uint8_t *data = request->arguments.data;
    size_t size = request->arguments.size;

    if (size == 0 || data[0] >= 0x80 || data[0] != size - 1)
        return false;
    *out = (struct rapahub_bytes){data + 1, size - 1};
    return true;
}

static void run(struct guest *guest, struct guest_frame *frame, hub_invoke_raw_function *function,
                struct rapahub_bytes in)
{
    struct rapahub_bytes result = {NULL, 0};
    int status;

    frame->container->open++;
    rapahub_clear_error();
    status = function(frame->container->self, in, &result);
    frame->container->open--;
    (void)guest_heartbeat_enter(&guest->heartbeat, GUEST_HEARTBEAT_EXCUSED);
    if (status != 0 || frame->loan.data ||
        !hub_direct_serve_bytes(guest->connection.served, result))
        guest_serve_answer_bytes(guest, status, result);
}

bool guest_raw_method_run(struct guest *guest, struct hub_request *request)
{
    struct guest_container *container = guest_containers_find(&guest->containers, 0);
    hub_invoke_raw_function *function = request->method ? hub_invoke_raw(request->method) : NULL;
    struct guest_frame frame;
    struct rapahub_bytes in;

    if (!function || !container || !container->live || !take_bytes(request, &in))
        return false;
    guest_frame_enter(guest, &frame, request);
    frame.container = container;
    frame.method = hub_invoke_signature(request->method)->name;
    frame.lends = true;
    run(guest, &frame, function, in);
    guest_frame_leave(guest, &frame);
    return true;
}
