/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_head.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "host/call/call.h"
#include "host/registry/containers.h"

#define STATE      "RAPAHUBS"
#define CHANGES    "RAPAHUBC"
#define FORMAT     1
#define PIECE_ROOM 128 /* bytes of a message beside a piece */

static const char *magic_of(bool changes)
{
    return changes ? CHANGES : STATE;
}

void host_state_head_make(const struct hub_saved *saved, bool changes, struct host_state_head *out)
{
    *out = (struct host_state_head){.format = FORMAT,
                                    .version = saved->version,
                                    .size = saved->size,
                                    .checksum = saved->checksum};
    memcpy(out->magic, magic_of(changes), sizeof out->magic);
}

int host_state_head_refuse(const char *what)
{
    return rapahub_fail(RAPAHUB_EABI, "", "the saved state is not valid: %s", what);
}

int host_state_head_check(const struct host_state_head *head, bool changes, const char *guest,
                          const struct host_container *container)
{
    if (memcmp(head->magic, magic_of(changes), sizeof head->magic) != 0)
        return host_state_head_refuse("it does not begin as one");
    if (head->format != FORMAT)
        return rapahub_fail(RAPAHUB_EABI, "", "the saved state has format %" PRIu32, head->format);
    return host_state_head_check_size(guest, container, head->size);
}

/* r[impl sec.state.size] */
int host_state_head_check_size(const char *guest, const struct host_container *container,
                               uint64_t size)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    if (size <= RAPAHUB_STATE_MAX)
        return 0;
    return rapahub_fail(RAPAHUB_EMSGSIZE, "sec.state.size",
                        "%s: the state of container %s has %" PRIu64 " bytes, and one has at most "
                        "%" PRIu64 " (RAPAHUB_STATE_MAX); keep less in it, or use more containers",
                        guest, host_containers_print(container->id, id), size, RAPAHUB_STATE_MAX);
}

size_t host_state_head_piece(const struct host_call *host)
{
    size_t room = host->process.options.limits.payload_max;

    room = room > 2 * PIECE_ROOM ? room - PIECE_ROOM : room / 2;
    return room < HUB_LIFECYCLE_PIECE ? room : HUB_LIFECYCLE_PIECE;
}
