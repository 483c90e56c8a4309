/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/raw_method.h"

#include "guest-sdk/frame.h"
#include "guest-sdk/serve.h"
#include "hub/link/direct_serve.h"
#include "hub/wire/postcard.h"

/* Read once: what is shown its sender may still change. */
static __attribute__((noinline)) bool take_many(const struct hub_request *request,
                                                struct rapahub_bytes *out)
{
    struct hub_reader reader;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    *out = hub_postcard_take_bytes(&reader);
    return reader.failure == 0 && hub_reader_left(&reader) == 0;
}

/* One byte of length, and as many as it says. */
static bool take_bytes(const struct hub_request *request, struct rapahub_bytes *out)
{
    const uint8_t *data = request->arguments.data;
    size_t size = request->arguments.size;

    if (size > HUB_INLINE_SIZE)
        return take_many(request, out);
    if (size == 0 || data[0] >= 0x80 || data[0] != size - 1)
        return false;
    *out = (struct rapahub_bytes){data + 1, size - 1};
    return true;
}

/* True where its answer went directly: the entry was ours then, and the link open. */
static bool run(struct guest *guest, struct guest_frame *frame, hub_invoke_raw_function *function,
                struct rapahub_bytes in, bool in_line)
{
    struct rapahub_bytes result = {NULL, 0};
    bool more;
    int status;

    frame->container->open++;
    rapahub_clear_error();
    status = function(frame->container->self, in, &result);
    frame->container->open--;
    (void)guest_heartbeat_enter(&guest->heartbeat, GUEST_HEARTBEAT_EXCUSED);
    more = in_line && guest_serve_end_hold(guest, frame->request);
    if (status == 0 && !frame->loan.data &&
        hub_direct_serve_bytes(guest->connection.served, result, more))
        return true;
    guest_serve_answer_bytes(guest, status, result);
    return false;
}

enum guest_raw_end guest_raw_method_run(struct guest *guest, struct hub_request *request)
{
    struct guest_container *container =
        guest_containers_find(&guest->containers, request->metadata.container);
    hub_invoke_raw_function *function = request->method ? hub_invoke_raw(request->method) : NULL;
    struct guest_frame frame;
    struct rapahub_bytes in;
    bool in_line, direct;

    if (!function || !container || !container->live || !take_bytes(request, &in))
        return GUEST_RAW_REFUSED;
    in_line = guest_serve_begin_hold(guest, request);
    guest_frame_enter(guest, &frame, request);
    frame.container = container;
    frame.method = hub_invoke_signature(request->method)->name;
    frame.lends = true;
    direct = run(guest, &frame, function, in, in_line);
    guest_frame_leave(guest, &frame);
    return direct ? GUEST_RAW_DIRECT : GUEST_RAW_RUN;
}
