/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/region.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/barrier.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/lock.h"
#include "hub/base/names.h"
#include "hub/base/own.h"
#include "hub/bus/region_check.h"

#define WAIT          HUB_SECOND
#define TABLE_GAP     (200 * HUB_MICROSECOND)
#define READ_ONLY_GAP HUB_MILLISECOND

bool hub_region_is_name(const char *name)
{
    size_t size = strlen(name);

    return size >= 1 && size <= RAPAHUB_REGION_NAME_MAX && strspn(name, HUB_NAMES_LETTERS) == size;
}

int hub_region_path(const char *name, char to[RAPAHUB_REGION_PATH_MAX])
{
    size_t size;

    if (hub_region_is_path(name))
        size = (size_t)snprintf(to, RAPAHUB_REGION_PATH_MAX, "%s", name);
    else if (!hub_region_is_name(name))
        return rapahub_fail(
            RAPAHUB_EINVAL, "region.owner",
            "'%.80s' is no name of a region: 1 to %d letters, digits, '_', '-', '.'", name,
            RAPAHUB_REGION_NAME_MAX);
    else
        size = (size_t)snprintf(to, RAPAHUB_REGION_PATH_MAX,
                                HUB_REGION_FOLDER "/rapahub.region-%u-%s", getuid(), name);
    return size < RAPAHUB_REGION_PATH_MAX ? 0
                                          : rapahub_fail(RAPAHUB_EINVAL, "region.owner",
                                                         "the path '%.40s...' is too long", name);
}

struct hub_region_header *hub_region_header(const struct rapahub_region *region)
{
    return (struct hub_region_header *)(void *)region->mapping.data;
}

struct hub_region_lease *hub_region_lease_at(const struct rapahub_region *region, uint32_t index)
{
    uint8_t *first = region->mapping.data + region->shape.lease_off;

    return (struct hub_region_lease *)(void *)first + index;
}

static struct hub_ring_view view_at(uint8_t *data, const struct hub_region_shape *shape,
                                    uint32_t ring_off, uint32_t cells_off)
{
    struct hub_region_ring *ring = (void *)(data + ring_off);
    bool futex = hub_region_shape_has(shape, HUB_CAP_WAKE_FUTEX);
    bool light = hub_region_shape_has(shape, HUB_CAP_WAKE_ASYM);

    return (struct hub_ring_view){.ring = ring,
                                  .cells = data + cells_off,
                                  .mask = shape->cell_count - 1,
                                  .cell_bytes = shape->cell_bytes,
                                  .head_batch = shape->head_batch,
                                  .not_empty = {.seq = &ring->not_empty_seq,
                                                .flag = &ring->not_empty_flag,
                                                .futex = futex,
                                                .light = light},
                                  .not_full = {.seq = &ring->not_full_seq,
                                               .flag = &ring->not_full_flag,
                                               .futex = futex,
                                               .light = light}};
}

/* No position of FANIN is ever claimed, so none is poisoned. */
struct hub_ring_view hub_region_ring_view(uint8_t *data, const struct hub_region_shape *shape,
                                          uint32_t index)
{
    struct hub_region_fanin *fanin = (void *)(data + shape->body_off);
    uint64_t ring = hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
    uint32_t at = (uint32_t)(shape->ring_off + index * ring);
    struct hub_ring_view view =
        view_at(data, shape, at, at + (uint32_t)sizeof(struct hub_region_ring));

    view.not_empty.seq = &fanin->not_empty_seq;
    view.not_empty.flag = &fanin->not_empty_flag;
    return view;
}

struct hub_ring_view hub_region_view(uint8_t *data, const struct hub_region_shape *shape)
{
    struct hub_ring_view view;

    if (shape->kind == HUB_REGION_FANIN)
        return hub_region_ring_view(data, shape, 0);
    view = view_at(data, shape, shape->ring_off, shape->cells_off);
    view.poison = hub_region_shape_has(shape, HUB_CAP_POISON);
    return view;
}

struct hub_ring_view hub_region_queue_view(uint8_t *data, const struct hub_region_shape *shape,
                                           uint32_t index)
{
    struct hub_region_fanout *fanout = (void *)(data + shape->body_off);
    uint64_t queue = hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
    uint32_t at = (uint32_t)(shape->fanout.queues_off + index * queue);
    struct hub_ring_view view =
        view_at(data, shape, at, at + (uint32_t)sizeof(struct hub_region_ring));

    view.routed = hub_region_shape_has(shape, HUB_CAP_IDEMPOTENT);
    view.not_full.seq = &fanout->credit_seq;
    view.not_full.flag = &fanout->credit_flag;
    return view;
}

void hub_region_set_views(struct rapahub_region *region)
{
    const struct hub_region_shape *shape = &region->shape;

    if (hub_region_shape_is_state(shape))
        region->state = hub_state_view_at(region->mapping.data, shape->body_off, &shape->state);
    else if (hub_region_shape_is_sequencer(shape))
        region->sequencer =
            hub_sequencer_view_at(region->mapping.data, shape->body_off, &shape->sequencer);
    else
        region->view = hub_region_view(region->mapping.data, shape);
}

struct hub_sleep hub_region_state_changed(const struct rapahub_region *region)
{
    const struct hub_region_shape *shape = &region->shape;

    return (struct hub_sleep){.seq = region->state.changed_seq,
                              .flag = region->state.changed_flag,
                              .futex = !region->read_only &&
                                       hub_region_shape_has(shape, HUB_CAP_WAKE_FUTEX),
                              .light = hub_region_shape_has(shape, HUB_CAP_WAKE_ASYM),
                              .gap_ns = READ_ONLY_GAP};
}

static struct hub_sleep sleep_at(const struct rapahub_region *region, struct hub_a32 *seq,
                                 struct hub_a32 *flag)
{
    return (struct hub_sleep){.seq = seq,
                              .flag = flag,
                              .futex = hub_region_shape_has(&region->shape, HUB_CAP_WAKE_FUTEX),
                              .light = hub_region_shape_has(&region->shape, HUB_CAP_WAKE_ASYM)};
}

struct hub_sleep hub_region_sequencer_cursor(const struct rapahub_region *region)
{
    struct hub_region_sequencer *body = region->sequencer.body;

    return sleep_at(region, &body->cursor_seq, &body->cursor_flag);
}

struct hub_sleep hub_region_sequencer_space(const struct rapahub_region *region)
{
    struct hub_region_sequencer *body = region->sequencer.body;

    return sleep_at(region, &body->space_seq, &body->space_flag);
}

int hub_region_explain_init(int fd, uint32_t initialized, int r)
{
    bool busy = initialized == HUB_REGION_INIT_BUSY;

    if (r != RAPAHUB_ENOTINITIALIZED || !busy)
        return r;
    if (hub_lock_free(fd, HUB_REGION_LOCK_INIT, 1) != 1)
        return rapahub_fail(r, "region.init.proof", "%s, by a process that is alive",
                            rapahub_last_error()->text);
    return rapahub_fail(r, "region.init.proof", "%s, by a process that is dead",
                        rapahub_last_error()->text);
}

int hub_region_current(const struct rapahub_region *region)
{
    const struct hub_region_header *header = hub_region_header(region);

    if (hub_region_check_is_begun(region->shape.kind, hub_observe(&header->initialized)) &&
        hub_observe(&header->generation) == region->generation)
        return 0;
    return rapahub_fail(RAPAHUB_ESTALE, "region.generation",
                        "the region was made anew or removed while this process used it");
}

/* The lock is taken between two checks: a process that makes the region anew excludes it. */
static int validate(struct rapahub_region *region, uint32_t kind)
{
    const struct hub_mapping *mapping = &region->mapping;
    struct hub_region_found found;
    int r = hub_region_check(mapping->data, mapping->size, kind, &found);

    if (r < 0)
        return hub_region_explain_init(mapping->fd, found.initialized, r);
    r = hub_lock_share(mapping->fd, HUB_REGION_LOCK_ATTACH, 1);
    if (r < 0)
        return rapahub_fail(RAPAHUB_ENOTINITIALIZED, "region.init.code",
                            "another process makes it anew, or removes it");
    r = hub_region_check(mapping->data, mapping->size, kind, &found);
    if (r < 0)
        return hub_region_explain_init(mapping->fd, found.initialized, r);
    region->shape = found.shape;
    region->generation = found.generation;
    return 0;
}

static int join(const struct hub_region_shape *shape)
{
    int r = hub_region_shape_has(shape, HUB_CAP_WAKE_ASYM) ? hub_barrier_join() : 0;

    return r < 0 ? rapahub_fail(RAPAHUB_ECAPS, "region.caps",
                                "it needs membarrier, which this system refuses: %s",
                                strerrordesc_np(-r))
                 : 0;
}

/* r[impl region.state.read-only] */
static int check_read_only(const struct rapahub_region *region)
{
    return !region->read_only || hub_region_shape_is_state(&region->shape)
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.state.read-only",
                              "only a state is opened read-only: to take a message is to write");
}

static uint64_t reserved_of(const struct rapahub_region_open_options *options)
{
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++)
        all |= options->reserved[i];
    return all;
}

int hub_region_attach(struct hub_mapping *mapping,
                      const struct rapahub_region_open_options *options,
                      struct rapahub_region **out)
{
    struct rapahub_region *region = calloc(1, sizeof *region);
    int r = 0;

    if (!region) {
        hub_mapping_fini(mapping);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a region");
    }
    region->mapping = *mapping;
    region->wait_ns = options && options->wait_ns ? options->wait_ns : WAIT;
    region->read_only = options && options->read_only;
    hub_mutex_init(&region->mutex, HUB_MUTEX_REGION);
    if (options && reserved_of(options) != 0)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a region must be 0");
    if (r == 0)
        r = validate(region, options ? (uint32_t)options->kind : 0);
    if (r == 0)
        r = check_read_only(region);
    if (r == 0)
        r = join(&region->shape);
    if (r < 0) {
        hub_mapping_fini(&region->mapping);
        free(region);
        return r;
    }
    hub_region_set_views(region);
    *out = region;
    return 0;
}

int rapahub_region_open(const char *name, const struct rapahub_region_open_options *options,
                        struct rapahub_region **out)
{
    char path[RAPAHUB_REGION_PATH_MAX];
    struct hub_mapping_order order = {.foreign = options && options->foreign,
                                      .read_only = options && options->read_only};
    struct hub_mapping mapping;
    int r = hub_region_path(name, path);

    order.own_only = !hub_region_is_path(name);
    if (r == 0)
        r = hub_mapping_open_named(path, &order, HUB_REGION_FROZEN, &mapping);
    return r == 0 ? hub_region_attach(&mapping, options, out) : r;
}

/* A description of its own, so that its locks are its own. */
int rapahub_region_adopt(int fd, const struct rapahub_region_open_options *options,
                         struct rapahub_region **out)
{
    const struct hub_mapping_order order = {
        .foreign = true, .follow = true, .read_only = options && options->read_only};
    struct hub_mapping mapping;
    char path[64];
    int r;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    r = hub_mapping_open_named(path, &order, HUB_REGION_FROZEN, &mapping);
    return r == 0 ? hub_region_attach(&mapping, options, out) : r;
}

int rapahub_region_fd(const struct rapahub_region *region)
{
    return region->mapping.fd;
}

int hub_region_await_open(struct rapahub_region *region, uint64_t deadline_ns)
{
    while (hub_observe(&region->shut) != 0) {
        if (deadline_ns == 0)
            return RAPAHUB_EEMPTY;
        if (hub_clock_left(deadline_ns) == 0)
            return RAPAHUB_ETIMEDOUT;
        (void)hub_futex_wait_private(&region->shut, 1, deadline_ns);
    }
    return 0;
}

void hub_region_unshut(struct rapahub_region *region)
{
    if (hub_exchange(&region->shut, 0) != 0)
        hub_futex_wake_private(&region->shut);
}

int hub_region_give_away(struct rapahub_region *region)
{
    int fd = TAKE(region->mapping.fd);

    hub_mutex_fini(&region->mutex);
    hub_mapping_fini(&region->mapping);
    free(region);
    return fd;
}

int rapahub_region_close(struct rapahub_region *region)
{
    uint32_t handles;

    if (!region)
        return 0;
    hub_mutex_lock(&region->mutex);
    handles = region->handles;
    hub_mutex_unlock(&region->mutex);
    if (handles > 0)
        return rapahub_fail(RAPAHUB_EBUSY, "region.local",
                            "the region has %" PRIu32 " open handles: close them first", handles);
    hub_mutex_fini(&region->mutex);
    hub_mapping_fini(&region->mapping);
    free(region);
    return 0;
}

void hub_region_handle_opened(struct rapahub_region *region)
{
    hub_mutex_lock(&region->mutex);
    region->handles++;
    hub_mutex_unlock(&region->mutex);
}

void hub_region_handle_closed(struct rapahub_region *region)
{
    hub_mutex_lock(&region->mutex);
    region->handles--;
    hub_mutex_unlock(&region->mutex);
}

static bool try_table(struct rapahub_region *region)
{
    bool taken;

    hub_mutex_lock(&region->mutex);
    taken = !region->table && hub_lock_try(region->mapping.fd, HUB_REGION_LOCK_TABLE, 1) == 0;
    region->table |= taken;
    hub_mutex_unlock(&region->mutex);
    return taken;
}

/* No event tells of a lock that becomes free, and a wait for it in the kernel has no deadline. */
int hub_region_table_enter(struct rapahub_region *region, uint64_t deadline_ns)
{
    while (!try_table(region)) {
        if (hub_clock_left(deadline_ns) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "region.role",
                                "another process is changing the roles of the region; it may be "
                                "stopped");
        hub_clock_pause(TABLE_GAP);
    }
    return 0;
}

void hub_region_table_leave(struct rapahub_region *region)
{
    hub_mutex_lock(&region->mutex);
    region->table = false;
    (void)hub_lock_drop(region->mapping.fd, HUB_REGION_LOCK_TABLE, 1);
    hub_mutex_unlock(&region->mutex);
}
