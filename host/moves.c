/* SPDX-License-Identifier: Apache-2.0 */
#include "host/moves.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/exchange.h"
#include "host/host.h"
#include "hub/base/crc32c.h"
#include "hub/base/own.h"

#define MAGIC      "RAPAHUBS"
#define FORMAT     1
#define PIECE_ROOM 128 /* of a message, for what stands beside a piece */

struct head {
    char magic[8];
    uint32_t format, version;
    uint64_t size;
    uint32_t checksum, reserved;
};
_Static_assert(sizeof(struct head) == 32, "head of a saved state");

static size_t piece_size(const struct rapahub_host *host)
{
    size_t room = host->options.limits.payload_max;

    room = room > 2 * PIECE_ROOM ? room - PIECE_ROOM : room / 2;
    return room < HUB_LIFECYCLE_PIECE ? room : HUB_LIFECYCLE_PIECE;
}

static int damaged(const char *what)
{
    return rapahub_fail(RAPAHUB_EABI, "", "the saved state is not valid: %s", what);
}

static int write_pieces(struct rapahub_host *host, struct host_life *life, uint64_t handle,
                        const struct hub_saved *saved, struct rapahub_sink *to)
{
    uint32_t checksum = 0;
    int r = 0;

    for (uint64_t at = 0; at < saved->size && r == 0;) {
        const void *const arguments[] = {&handle, &at, NULL};
        struct rapahub_bytes piece;

        r = host_exchange_ask(host, life, HUB_LIFECYCLE_READ, arguments, &piece);
        if (r == 0 && (piece.size == 0 || piece.size > saved->size - at))
            return damaged("the guest sent other bytes than it announced");
        if (r == 0) {
            checksum = hub_crc32c(checksum, piece.data, piece.size);
            at += piece.size;
            r = rapahub_sink_write(to, piece.data, piece.size);
        }
    }
    if (r == 0 && checksum != saved->checksum)
        return damaged("its checksum differs");
    return r;
}

int host_moves_save(struct rapahub_host *host, struct host_life *life,
                    const struct host_container *container, struct rapahub_sink *to)
{
    const void *const arguments[] = {&container->handle, NULL};
    struct head head = {.magic = MAGIC, .format = FORMAT};
    struct hub_saved saved;
    int r = host_exchange_ask(host, life, HUB_LIFECYCLE_SAVE, arguments, &saved);

    if (r < 0)
        return r;
    head.version = saved.version;
    head.size = saved.size;
    head.checksum = saved.checksum;
    r = rapahub_sink_write(to, &head, sizeof head);
    return r < 0 ? r : write_pieces(host, life, container->handle, &saved, to);
}

static int read_head(struct rapahub_source *from, struct head *out)
{
    int r = rapahub_source_read_all(from, out, sizeof *out);

    if (r < 0)
        return r;
    if (memcmp(out->magic, MAGIC, sizeof out->magic) != 0)
        return damaged("it does not begin as one");
    if (out->format != FORMAT)
        return rapahub_fail(RAPAHUB_EABI, "", "the saved state has format %" PRIu32, out->format);
    return 0;
}

static int read_pieces(struct rapahub_host *host, struct host_life *life, uint64_t handle,
                       const struct head *head, struct rapahub_source *from)
{
    size_t most = piece_size(host);
    OWN(hub_memory) void *data = malloc(most);
    uint32_t checksum = 0;
    int r = data ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a piece of a state");

    for (uint64_t left = head->size; left > 0 && r == 0;) {
        struct rapahub_bytes piece = {data, left < most ? (size_t)left : most};
        const void *const arguments[] = {&handle, &piece, NULL};

        r = rapahub_source_read_all(from, data, piece.size);
        if (r < 0)
            return r;
        checksum = hub_crc32c(checksum, data, piece.size);
        left -= piece.size;
        r = host_exchange_ask(host, life, HUB_LIFECYCLE_WRITE, arguments, NULL);
    }
    if (r == 0 && checksum != head->checksum)
        return damaged("its checksum differs");
    return r;
}

int host_moves_load(struct rapahub_host *host, struct host_life *life,
                    const struct host_container *container, struct rapahub_source *from)
{
    struct head head;
    const void *const arguments[] = {&container->handle, &head.version, NULL};
    int r = read_head(from, &head);

    if (r == 0)
        r = read_pieces(host, life, container->handle, &head, from);
    return r < 0 ? r : host_exchange_ask(host, life, HUB_LIFECYCLE_LOAD, arguments, NULL);
}
