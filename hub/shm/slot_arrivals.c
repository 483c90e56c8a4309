/* SPDX-License-Identifier: Apache-2.0 */
/* slot_arrivals: a received descriptor is filed under the name in its own first bytes. All of it is
 * checked when it is mapped. */
#include "hub/shm/slot_arrivals.h"

#include <errno.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/mapping.h"
#include "hub/base/own.h"

#define RULE "shm.varslot.extents"

static void pass_on(const struct hub_slot_arrivals *arrivals, int fd)
{
    if (arrivals->others)
        arrivals->others->take(arrivals->others->user, fd);
    else
        close(fd);
}

/* A descriptor of an extent that there cannot be, or that came already, is closed: the host harms
 * only itself. */
static void take(void *user, int came)
{
    struct hub_slot_arrivals *arrivals = user;
    OWN(hub_fd) int fd = came;
    struct hub_extent_header header;
    int *place;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.magic != HUB_EXTENT_MAGIC) {
        pass_on(arrivals, TAKE(fd));
        return;
    }
    if (header.size_class >= HUB_CLASSES_MAX || header.extent >= HUB_EXTENTS_MAX)
        return;
    hub_mutex_lock(&arrivals->lock);
    place = &arrivals->fds[header.size_class][header.extent];
    if (*place < 0)
        *place = TAKE(fd);
    hub_mutex_unlock(&arrivals->lock);
}

static void cut(void *user)
{
    struct hub_slot_arrivals *arrivals = user;

    hub_mutex_lock(&arrivals->lock);
    arrivals->cut = true;
    hub_mutex_unlock(&arrivals->lock);
}

void hub_slot_arrivals_init(struct hub_slot_arrivals *arrivals)
{
    arrivals->inbox = (struct hub_doorbell_inbox){take, cut, arrivals};
    hub_mutex_init(&arrivals->lock, HUB_MUTEX_SLOT_ARRIVALS);
    hub_mutex_lock(&arrivals->lock);
    arrivals->cut = false;
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++)
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            arrivals->fds[c][e] = -1;
    hub_mutex_unlock(&arrivals->lock);
}

void hub_slot_arrivals_fini(struct hub_slot_arrivals *arrivals)
{
    hub_mutex_lock(&arrivals->lock);
    for (uint32_t c = 0; c < HUB_CLASSES_MAX; c++)
        for (uint32_t e = 0; e < HUB_EXTENTS_MAX; e++)
            hub_fd_release(&arrivals->fds[c][e]);
    hub_mutex_unlock(&arrivals->lock);
    hub_mutex_fini(&arrivals->lock);
}

/* Returns the descriptor that was received for this extent, or -1. */
static int find(struct hub_slot_arrivals *arrivals, struct hub_extent_name name, bool *was_cut)
{
    int *place, fd;

    hub_mutex_lock(&arrivals->lock);
    place = &arrivals->fds[name.size_class][name.extent];
    fd = TAKE(*place);
    *was_cut = arrivals->cut;
    hub_mutex_unlock(&arrivals->lock);
    return fd;
}

static int refuse(struct hub_extent_name name, const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "extent %u of size class %u %s", name.extent,
                        name.size_class, why);
}

static int map_sent(struct hub_slot_arrivals *arrivals, struct hub_extent_name name, uint64_t size,
                    struct hub_mapping *out)
{
    bool was_cut;
    OWN(hub_fd) int fd = find(arrivals, name, &was_cut);

    if (fd >= 0)
        return hub_mapping_adopt_sealed(TAKE(fd), size, out) < 0
                   ? refuse(name, "is not sealed, "
                                  "or of another size")
                   : 0;
    return was_cut ? refuse(name, "was sent in a message that was cut") : -ENOENT;
}

static int map_appended(int file, struct hub_extent_name name, uint64_t offset, uint64_t size,
                        struct hub_mapping *out)
{
    if (hub_mapping_open_part(file, offset, size, out) < 0)
        return refuse(name, "does not lie inside the segment's file");
    return 0;
}

/* The extent's header is copied once. */
static int check(const struct hub_slot_map *map, struct hub_extent_name name,
                 const struct hub_mapping *memory)
{
    struct hub_extent_header copy;
    uint64_t words[sizeof copy / sizeof(uint64_t)];

    hub_copy_in(words, (const struct hub_a64 *)(const void *)memory->data,
                sizeof copy / sizeof(uint64_t));
    __builtin_memcpy(&copy, words, sizeof copy);
    return hub_size_classes_check_extent(&map->places.of[name.size_class], name, &copy) < 0
               ? refuse(name, "has another header than its class says")
               : 0;
}

int hub_slot_arrivals_map(struct hub_slot_arrivals *arrivals, struct hub_slot_map *map,
                          struct hub_extent_name name, int file)
{
    struct hub_size_class_header *header = map->of[name.size_class].header;
    uint64_t size = hub_size_classes_extent_size(&map->places.of[name.size_class]);
    uint64_t offset = hub_observe64(&header->extent_offsets[name.extent]);
    struct hub_mapping memory;
    int r;

    if (offset == 0)
        return -ENOENT;
    hub_mapping_init(&memory);
    r = offset == HUB_EXTENT_OWN_MEMORY ? map_sent(arrivals, name, size, &memory)
                                        : map_appended(file, name, offset, size, &memory);
    if (r == 0)
        r = check(map, name, &memory);
    if (r < 0)
        hub_mapping_fini(&memory);
    else
        hub_slot_class_add(map, name, &memory);
    return r;
}
