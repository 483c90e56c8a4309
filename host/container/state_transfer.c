/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_transfer.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/request.h"
#include "host/container/state_head.h"
#include "hub/base/clock.h"
#include "hub/base/crc32c.h"
#include "hub/base/own.h"

static int be_late(const struct host_state_transfer *moves, const char *done)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    return rapahub_fail(RAPAHUB_ETIMEDOUT, "sec.call.time",
                        "%s: the state of container %s was not %s within %" PRIu64 " ms, which are "
                        "for all of it (call_timeout_ns); raise them, or keep less in it",
                        moves->life->name, host_containers_print(moves->container->id, id), done,
                        moves->host->process.options.call_timeout_ns / HUB_MILLISECOND);
}

/* Asks the guest. After -ETIMEDOUT the diagnosis says that the state was not `done` in time.
 * r[impl sec.call.time] */
static int ask(const struct host_state_transfer *moves, struct host_request_question question,
               const char *done)
{
    int r;

    question.deadline_ns = moves->deadline_ns;
    r = host_request_ask(moves->host, moves->life, &question);
    return r == RAPAHUB_ETIMEDOUT ? be_late(moves, done) : r;
}

static int put(struct host_state_transfer *moves, struct rapahub_sink *to, const void *from,
               size_t size)
{
    uint64_t began = hub_clock_now();
    int r = rapahub_sink_write(to, from, size);

    moves->deadline_ns += hub_clock_now() - began;
    return r;
}

static int get(struct host_state_transfer *moves, struct rapahub_source *from, void *to,
               size_t size)
{
    uint64_t began = hub_clock_now();
    int r = rapahub_source_read_all(from, to, size);

    moves->deadline_ns += hub_clock_now() - began;
    return r;
}

static int write_pieces(struct host_state_transfer *moves, const struct hub_saved *saved,
                        struct rapahub_sink *to)
{
    uint32_t checksum = 0;
    int r = 0;

    for (uint64_t at = 0; at < saved->size && r == 0;) {
        const void *const arguments[] = {&moves->container->handle, &at, NULL};
        struct rapahub_bytes piece;

        r = ask(moves, (struct host_request_question){HUB_LIFECYCLE_READ, arguments, &piece, 0},
                "saved");
        if (r == 0 && (piece.size == 0 || piece.size > saved->size - at))
            return host_state_head_refuse("the guest sent other bytes than it announced");
        if (r == 0) {
            checksum = hub_crc32c(checksum, piece.data, piece.size);
            at += piece.size;
            r = put(moves, to, piece.data, piece.size);
        }
    }
    if (r == 0 && checksum != saved->checksum)
        return host_state_head_refuse("its checksum differs");
    return r;
}

static int write_all(struct host_state_transfer *moves, bool changes, const struct hub_saved *saved,
                     struct rapahub_sink *to)
{
    struct host_state_head head;
    int r = host_state_head_check_size(moves->life->name, moves->container, saved->size);

    host_state_head_make(saved, changes, &head);
    if (r == 0)
        r = put(moves, to, &head, sizeof head);
    return r < 0 ? r : write_pieces(moves, saved, to);
}

int host_state_transfer_save(struct host_state_transfer *moves, struct rapahub_sink *to)
{
    const void *const arguments[] = {&moves->container->handle, NULL};
    struct hub_saved saved;
    int r = ask(moves, (struct host_request_question){HUB_LIFECYCLE_SAVE, arguments, &saved, 0},
                "saved");

    return r < 0 ? r : write_all(moves, false, &saved, to);
}

int host_state_transfer_save_changes(struct host_state_transfer *moves, struct rapahub_sink *to,
                                     bool *whole)
{
    const bool plugged = moves->container->state == HOST_CONTAINER_PLUGGED;
    const void *const arguments[] = {&moves->container->handle, &plugged, NULL};
    struct hub_changes changes;
    struct hub_saved saved;
    int r = ask(moves,
                (struct host_request_question){HUB_LIFECYCLE_SAVE_CHANGES, arguments, &changes, 0},
                "saved");

    if (r < 0)
        return r;
    *whole = changes.whole;
    saved = (struct hub_saved){changes.size, changes.version, changes.checksum};
    return write_all(moves, !changes.whole, &saved, to);
}

static int read_pieces(struct host_state_transfer *moves, const struct host_state_head *head,
                       struct rapahub_source *from)
{
    size_t most = host_state_head_piece(moves->host);
    OWN(hub_memory) void *data = malloc(most);
    uint32_t checksum = 0;
    int r = data ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a piece of a state");

    for (uint64_t left = head->size; left > 0 && r == 0;) {
        struct rapahub_bytes piece = {data, left < most ? (size_t)left : most};
        const void *const arguments[] = {&moves->container->handle, &piece, NULL};

        r = get(moves, from, data, piece.size);
        if (r < 0)
            return r;
        checksum = hub_crc32c(checksum, data, piece.size);
        left -= piece.size;
        r = ask(moves, (struct host_request_question){HUB_LIFECYCLE_WRITE, arguments, NULL, 0},
                "loaded");
    }
    if (r == 0 && checksum != head->checksum)
        return host_state_head_refuse("its checksum differs");
    return r;
}

static int load(struct host_state_transfer *moves, bool changes, struct rapahub_source *from)
{
    const enum hub_lifecycle_method method =
        changes ? HUB_LIFECYCLE_LOAD_CHANGES : HUB_LIFECYCLE_LOAD;
    struct host_state_head head;
    const void *const arguments[] = {&moves->container->handle, &head.version, NULL};
    int r = get(moves, from, &head, sizeof head);

    if (r == 0)
        r = host_state_head_check(&head, changes, moves->life->name, moves->container);
    if (r == 0)
        r = read_pieces(moves, &head, from);
    return r < 0 ? r
                 : ask(moves, (struct host_request_question){method, arguments, NULL, 0}, "loaded");
}

int host_state_transfer_load(struct host_state_transfer *moves, struct rapahub_source *from)
{
    return load(moves, false, from);
}

/* An earlier stream may have ended early, and left pieces. */
int host_state_transfer_load_changes(struct host_state_transfer *moves, struct rapahub_source *from)
{
    const struct rapahub_bytes nothing = {NULL, 0};
    const void *const arguments[] = {&moves->container->handle, &nothing, NULL};
    int r = ask(moves, (struct host_request_question){HUB_LIFECYCLE_WRITE, arguments, NULL, 0},
                "loaded");

    return r < 0 ? r : load(moves, true, from);
}
