/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/raw_method.h"

#include "guest-sdk/frame.h"
#include "guest-sdk/serve.h"
#include "hub/base/line.h"
#include "hub/call/direct_serve.h"
#include "hub/shm/lease.h"
#include "hub/wire/postcard.h"

/* Decodes a length of any size. It is read once, because the sender may still change a request that
 * is shown in place. This function and the next two return `data` NULL unless the arguments are
 * exactly one value of bytes, and its data begins at a line. */
static __attribute__((noinline)) struct rapahub_bytes take_any(const struct hub_request *request)
{
    struct rapahub_bytes bytes;
    struct hub_reader reader;

    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    bytes = hub_postcard_read_bytes(&reader);
    if (reader.failure != 0 || hub_reader_left(&reader) != 0 || !hub_line_begins(bytes.data))
        bytes.data = NULL;
    return bytes;
}

/* The same, and faster, for lengths of two or three bytes, which most payloads in slots have. */
static struct rapahub_bytes take_many(const struct hub_request *request)
{
    const struct rapahub_bytes *from = &request->arguments;
    uint32_t size, head;

    if (from->size < sizeof(uint64_t))
        return take_any(request);
    head = hub_postcard_read_short((uint32_t)hub_atomic_peek_bytes(from->data), &size);
    if (head == 0 || size != from->size - head ||
        !hub_line_begins((const uint8_t *)from->data + head))
        return take_any(request);
    return (struct rapahub_bytes){(const uint8_t *)from->data + head, size};
}

/* The same, and faster still, for a length of one byte, which payloads in messages without metadata
 * have. */
static struct rapahub_bytes take_bytes(const struct hub_request *request)
{
    const uint8_t *data = request->arguments.data;
    size_t size = request->arguments.size - 1;

    if (size > HUB_INLINE_SIZE - 2)
        return take_many(request);
    return (struct rapahub_bytes){data[0] == size && hub_line_begins(data + 1) ? data + 1 : NULL,
                                  size};
}

/* Caches the method, which is valid as long as its module. False if it is not a raw method. */
static __attribute__((noinline)) bool learn(struct guest_raw *raw, struct hub_invoke *invoke)
{
    hub_invoke_raw_function *function = invoke ? hub_invoke_raw(invoke) : NULL;

    if (!function)
        return false;
    *raw = (struct guest_raw){.method = invoke, .function = function};
    raw->frame.method = hub_invoke_signature(invoke)->name;
    raw->frame.lends = true;
    return true;
}

/* Enters the cached frame, like guest_frame_enter. No frame is outside of it. */
static void enter(struct guest *guest, struct guest_container *container,
                  struct hub_request *request)
{
    struct guest_frame *frame = &guest->raw.frame;

    frame->request = request;
    frame->container = container;
    hub_fence_for_signals(); /* last_words reads the frame in a signal handler */
    guest->frame = frame;
    hub_heartbeat_run(&guest->heartbeat, request->id);
    (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_RUNS);
}

static void leave(struct guest *guest)
{
    guest->frame = NULL;
    if (guest->raw.frame.arena.blocks)
        guest_arena_fini(&guest->raw.frame.arena);
}

/* Drops memory of the method in a slot that its result does not lie in. */
static __attribute__((noinline)) void drop_loan(struct guest *guest)
{
    hub_loan_drop(guest->attach.connection.link, &guest->raw.frame.loan);
}

static bool waits(const struct guest *guest)
{
    return guest->hold.held != 0 || hub_direct_serve_waits(guest->attach.connection.served);
}

static inline __attribute__((always_inline)) enum guest_raw_end run(
    struct guest *guest, struct hub_request *request, struct guest_container *container,
    struct rapahub_bytes in, bool in_line)
{
    struct rapahub_bytes result = {NULL, 0};
    bool more, sent;
    int status;

    enter(guest, container, request);
    container->open++;
    rapahub_clear_error();
    status = guest->raw.function(container->self, in, &result);
    guest->raw.frame.container->open--;
    (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_EXCUSED);
    more = in_line && guest_serve_end_hold(guest, request);
    if (status == 0 && !guest->raw.frame.loan.data &&
        hub_direct_serve_bytes(guest->attach.connection.served, result, more)) {
        leave(guest);
        return GUEST_RAW_DIRECT;
    }
    sent = guest_serve_answer_bytes(guest, status, result);
    if (guest->raw.frame.loan.data)
        drop_loan(guest);
    leave(guest);
    return sent ? GUEST_RAW_DIRECT : GUEST_RAW_RUN;
}

/* Runs a request while others wait, or while responses are held back. */
static __attribute__((noinline, flatten)) enum guest_raw_end run_in_line(
    struct guest *guest, struct hub_request *request, struct guest_container *container,
    struct rapahub_bytes in)
{
    bool in_line = guest_serve_begin_hold(guest, request);

    return run(guest, request, container, in, in_line);
}

/* A call of a container under a lease costs one call more, and the clock if the lease has an
 * end. */
static __attribute__((noinline)) bool is_let_in(const struct guest *guest,
                                                const struct guest_container *container)
{
    return container->gate == GUEST_CONTAINER_LEASED &&
           !hub_lease_is_over(&guest->attach.view.header->lease);
}

enum guest_raw_end guest_raw_method_run(struct guest *guest, struct hub_request *request)
{
    struct guest_container *container;
    struct rapahub_bytes in;

    if (request->method != guest->raw.method && !learn(&guest->raw, request->method))
        return GUEST_RAW_REFUSED;
    container = guest_containers_find(&guest->containers, request->metadata.container);
    if (!container || (container->gate != GUEST_CONTAINER_OPEN && !is_let_in(guest, container)))
        return GUEST_RAW_REFUSED;
    in = take_bytes(request);
    if (!in.data)
        return GUEST_RAW_REFUSED;
    return waits(guest) ? run_in_line(guest, request, container, in)
                        : run(guest, request, container, in, false);
}
