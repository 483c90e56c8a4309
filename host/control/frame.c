/* SPDX-License-Identifier: Apache-2.0 */
/* frame: records are described once, by the types of value.h; nothing is encoded by hand. */
#include "host/control/frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/own.h"
#include "hub/base/received.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define HEAD       4     /* bytes of the length */
#define PIECE_SIZE 65536 /* read or written at a time */

#define NONE(member, type)     RAPAHUB_MEMBER(control_none, member, type)
#define CALL(member, type)     RAPAHUB_MEMBER(control_call, member, type)
#define LOGS(member, type)     RAPAHUB_MEMBER(control_logs, member, type)
#define UPGRADE(member, type)  RAPAHUB_MEMBER(control_upgrade, member, type)
#define UPGRADED(member, type) RAPAHUB_MEMBER(control_upgraded, member, type)
#define FAILURE(member, type)  RAPAHUB_MEMBER(control_failure, member, type)
#define GUEST(member, type)    RAPAHUB_MEMBER(control_guest, member, type)
#define RESULT(member, type)   RAPAHUB_MEMBER(control_result, member, type)
#define LINE(member, type)     RAPAHUB_MEMBER(control_line, member, type)
#define FIGURE(member, type)   RAPAHUB_MEMBER(control_figure, member, type)
#define CHILD(member, type)    RAPAHUB_MEMBER(control_child, member, type)

RAPAHUB_RECORD(control_none, NONE(version, u8));
RAPAHUB_RECORD(control_name, RAPAHUB_MEMBER(control_name, name, string));
RAPAHUB_RECORD(control_call, CALL(guest, string), CALL(signature, string), CALL(container, u32),
               CALL(timeout_ns, u64), CALL(arguments, bytes));
RAPAHUB_RECORD(control_logs, LOGS(since_ns, u64), LOGS(level, u8), LOGS(follow, _Bool));
RAPAHUB_RECORD(control_upgrade, UPGRADE(guest, string), UPGRADE(chimod, string),
               UPGRADE(timeout_ns, u64), UPGRADE(check, _Bool));
RAPAHUB_RECORD(control_upgraded, UPGRADED(before, string), UPGRADED(after, string),
               UPGRADED(start_ns, u64), UPGRADED(blackout_ns, u64), UPGRADED(calls_held, u64),
               UPGRADED(state_bytes, u64), UPGRADED(containers, u32), UPGRADED(methods_kept, u32),
               UPGRADED(methods_new, u32), UPGRADED(methods_lost, u32));
RAPAHUB_RECORD(control_failure, FAILURE(code, i32), FAILURE(application, i32),
               FAILURE(rule, string), FAILURE(text, string));
RAPAHUB_RECORD(control_guest, GUEST(name, string), GUEST(state, string), GUEST(chimod, string),
               GUEST(version, string), GUEST(host, string), GUEST(group, u64),
               GUEST(uptime_ns, u64), GUEST(calls, u64), GUEST(resident_bytes, u64),
               GUEST(violations, u64), GUEST(epoch, u32), GUEST(peer, u32), GUEST(restarts, u32),
               GUEST(pid, i32), GUEST(trust, u8));
RAPAHUB_RECORD(control_result, RESULT(payload, bytes), RESULT(epoch, u32), RESULT(peer, u32),
               RESULT(pid, i32));
RAPAHUB_RECORD(control_line, LINE(time_ns, u64), LINE(level, u8), LINE(topic, string),
               LINE(text, string));
RAPAHUB_RECORD(control_figure, FIGURE(guest, string), FIGURE(name, string), FIGURE(rule, string),
               FIGURE(gauge, _Bool), FIGURE(value, u64));
RAPAHUB_RECORD(control_child, CHILD(name, string), CHILD(state, string), CHILD(number, u32),
               CHILD(parent, u32), CHILD(is_supervisor, _Bool), CHILD(strategy, u8),
               CHILD(pid, i32), CHILD(incarnation, u64), CHILD(due_ns, u64), CHILD(restarts, u32),
               CHILD(failures, u32), CHILD(failures_max, u32));

static const struct rapahub_type *type_of(enum host_frame_kind kind)
{
    static const struct rapahub_type *const types[HOST_FRAME_COUNT] = {
        [HOST_FRAME_LIST] = &rapahub_type_control_none,
        [HOST_FRAME_METHODS] = &rapahub_type_control_name,
        [HOST_FRAME_CALL] = &rapahub_type_control_call,
        [HOST_FRAME_CANCEL] = &rapahub_type_control_none,
        [HOST_FRAME_STOP] = &rapahub_type_control_name,
        [HOST_FRAME_KILL] = &rapahub_type_control_name,
        [HOST_FRAME_LOGS] = &rapahub_type_control_logs,
        [HOST_FRAME_STATS] = &rapahub_type_control_name,
        [HOST_FRAME_TREE] = &rapahub_type_control_none,
        [HOST_FRAME_RESTART] = &rapahub_type_control_name,
        [HOST_FRAME_UPGRADE] = &rapahub_type_control_upgrade,
        [HOST_FRAME_DONE] = &rapahub_type_control_none,
        [HOST_FRAME_FAILED] = &rapahub_type_control_failure,
        [HOST_FRAME_GUEST] = &rapahub_type_control_guest,
        [HOST_FRAME_SIGNATURE] = &rapahub_type_control_name,
        [HOST_FRAME_RESULT] = &rapahub_type_control_result,
        [HOST_FRAME_LINE] = &rapahub_type_control_line,
        [HOST_FRAME_FIGURE] = &rapahub_type_control_figure,
        [HOST_FRAME_CHILD] = &rapahub_type_control_child,
        [HOST_FRAME_UPGRADED] = &rapahub_type_control_upgraded,
    };

    CHECK(kind < HOST_FRAME_COUNT);
    return types[kind];
}

void host_frame_fini(struct host_frame_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct host_frame_buffer){0};
}

/* Makes room for `more` bytes after the pending ones. */
static int reserve(struct host_frame_buffer *buffer, size_t more)
{
    size_t pending = buffer->size - buffer->start, capacity = buffer->capacity;
    uint8_t *data;

    if (buffer->size + more <= capacity)
        return 0;
    /* Consumed bytes are removed in large steps only, so that a slow reader costs no copy for each
     * frame. */
    if (buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, pending);
        buffer->start = 0;
        buffer->size = pending;
    }
    if (pending + more <= capacity / 2)
        return 0;
    while (capacity / 2 < pending + more)
        capacity = capacity ? capacity * 2 : PIECE_SIZE;
    data = realloc(buffer->data, capacity);
    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu bytes of a socket", capacity);
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

static void put_length(uint8_t *to, size_t length)
{
    for (unsigned i = 0; i < HEAD; i++)
        to[i] = (uint8_t)(length >> (8 * i));
}

static size_t length_at(const uint8_t *from)
{
    return from[0] | (size_t)from[1] << 8 | (size_t)from[2] << 16 | (size_t)from[3] << 24;
}

static void write_body(struct hub_writer *writer, enum host_frame_kind kind, const void *record)
{
    hub_postcard_put_unsigned(writer, kind);
    hub_payload_put(writer, type_of(kind), record);
}

int host_frame_put(struct host_frame_buffer *buffer, enum host_frame_kind kind, const void *record)
{
    struct hub_writer writer;
    size_t length;
    int r;

    hub_writer_count(&writer);
    write_body(&writer, kind, record);
    length = writer.size;
    if (writer.failure < 0)
        return writer.failure;
    if (length > HOST_FRAME_MAX || buffer->size - buffer->start + length > HOST_FRAME_PENDING)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "%zu bytes are too many for a control socket",
                            length);
    r = reserve(buffer, HEAD + length);
    if (r < 0)
        return r;
    put_length(buffer->data + buffer->size, length);
    hub_writer_init(&writer, buffer->data + buffer->size + HEAD, length);
    write_body(&writer, kind, record);
    ENSURE(writer.failure == 0 && writer.size == length);
    buffer->size += HEAD + length;
    return 0;
}

/* Returns 1 if the first frame is complete. */
static int whole(const struct host_frame_buffer *buffer)
{
    size_t pending = buffer->size - buffer->start;
    size_t length;

    if (pending < HEAD)
        return 0;
    length = length_at(buffer->data + buffer->start);
    if (length > HOST_FRAME_MAX)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "a frame of %zu bytes; at most %zu", length,
                            HOST_FRAME_MAX);
    return pending >= HEAD + length;
}

static void open_body(const struct host_frame_buffer *buffer, struct hub_reader *reader)
{
    const uint8_t *frame = buffer->data + buffer->start;

    hub_reader_init(reader, frame + HEAD, length_at(frame));
}

int host_frame_decode(struct host_frame_buffer *buffer, enum host_frame_kind first,
                      enum host_frame_kind end, union host_frame_record *out)
{
    struct hub_reader reader;
    uint64_t kind;
    int r = whole(buffer);

    if (r <= 0)
        return r;
    open_body(buffer, &reader);
    kind = hub_postcard_read_unsigned(&reader, 32);
    if (reader.failure < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "a frame without a kind");
    if (kind < first || kind >= end)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "a frame of unknown kind %u", (unsigned)kind);
    hub_payload_decode(&reader, type_of((enum host_frame_kind)kind), out);
    if (hub_postcard_end(&reader) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "a malformed frame of kind %u", (unsigned)kind);
    return 1;
}

enum host_frame_kind host_frame_kind(const struct host_frame_buffer *buffer)
{
    struct hub_reader reader;

    open_body(buffer, &reader);
    return (enum host_frame_kind)hub_postcard_read_unsigned(&reader, 32);
}

void host_frame_drop(struct host_frame_buffer *buffer)
{
    buffer->start += HEAD + length_at(buffer->data + buffer->start);
}

static void close_one(const struct host_frame_buffer *buffer, int *fd)
{
    if (buffer->closer)
        hub_closer_give(buffer->closer, fd);
    else
        hub_fd_release(fd);
}

void host_frame_close(struct host_frame_buffer *buffer)
{
    while (buffer->fds_count > 0)
        close_one(buffer, &buffer->fds[--buffer->fds_count]);
}

/* The descriptors of a message replace earlier ones that were not taken. */
static int keep_descriptors(struct host_frame_buffer *buffer, struct hub_received *received)
{
    if (received->fds_count == 0)
        return 0;
    host_frame_close(buffer);
    if (received->fds_count <= HOST_FRAME_FDS) {
        memcpy(buffer->fds, received->fds, received->fds_count * sizeof(int));
        buffer->fds_count = received->fds_count;
        return 0;
    }
    while (received->fds_count > 0)
        close_one(buffer, &received->fds[--received->fds_count]);
    return rapahub_fail(RAPAHUB_EPROTOCOL, "", "more than %d descriptors", HOST_FRAME_FDS);
}

static int failed(ssize_t error)
{
    if (error == 0 || error == -ECONNRESET)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the other side hung up");
    if (error == -EAGAIN)
        return 0;
    if (error == -ENFILE)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "descriptors came that no number is free for");
    return rapahub_fail((int)error, "", "cannot read from a control socket");
}

int host_frame_fill(struct host_frame_buffer *buffer, int fd)
{
    struct hub_received received = {.room = PIECE_SIZE};
    ssize_t n;
    int r = reserve(buffer, PIECE_SIZE);

    if (r < 0)
        return r;
    received.bytes = buffer->data + buffer->size;
    n = hub_received_take(fd, &received);
    if (n <= 0)
        return failed(n);
    buffer->size += (size_t)n;
    r = keep_descriptors(buffer, &received);
    return r < 0 ? r : 1;
}

/* Space for the control message of one piece. */
union descriptors {
    struct cmsghdr head;
    char room[CMSG_SPACE(HOST_FRAME_FDS * sizeof(int))];
};

static void add_descriptors(const struct host_frame_buffer *buffer, struct msghdr *message,
                            union descriptors *to)
{
    size_t size = buffer->fds_count * sizeof(int);

    if (size == 0)
        return;
    to->head.cmsg_len = CMSG_LEN(size);
    to->head.cmsg_level = SOL_SOCKET;
    to->head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&to->head), buffer->fds, size);
    message->msg_control = to;
    message->msg_controllen = CMSG_SPACE(size);
}

int host_frame_flush(struct host_frame_buffer *buffer, int fd)
{
    union descriptors descriptors = {.room = {0}};
    struct iovec piece;
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t n;

    if (!host_frame_pending(buffer))
        return 0;
    piece.iov_base = buffer->data + buffer->start;
    piece.iov_len = buffer->size - buffer->start;
    if (piece.iov_len > PIECE_SIZE)
        piece.iov_len = PIECE_SIZE;
    add_descriptors(buffer, &message, &descriptors);
    n = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
        buffer->start += (size_t)n;
        buffer->fds_count = 0;
        return n > 0;
    }
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    if (errno == EPIPE || errno == ECONNRESET)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the other side hung up");
    return rapahub_fail(-errno, "", "cannot write to a control socket");
}

bool host_frame_pending(const struct host_frame_buffer *buffer)
{
    return buffer->start < buffer->size;
}
