/* SPDX-License-Identifier: Apache-2.0 */
/* renew: how a region comes to be, is made anew, and goes. Each takes effect with one step, so a
 * process that dies leaves the old state or the new one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/base/barrier.h"
#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/base/random.h"
#include "hub/bus/region.h"
#include "hub/bus/region_check.h"
#include "hub/bus/region_lease.h"

#define GAP       (5 * HUB_MILLISECOND) /* between two tries for a lock */
#define FILE_MODE 0600

/* ---- the bytes ---- */

static struct hub_region_header *header_of(const struct hub_mapping *mapping)
{
    return (struct hub_region_header *)(void *)mapping->data;
}

static void empty_ring(const struct hub_ring_view *view)
{
    struct hub_region_ring *ring = view->ring;
    struct hub_a32 *const words[] = {&ring->producer_lease, &ring->consumer_lease,
                                     &ring->not_empty_seq,  &ring->not_empty_flag,
                                     &ring->not_full_seq,   &ring->not_full_flag};

    hub_store_relaxed64(&ring->tail, 0);
    hub_store_relaxed64(&ring->head, 0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hub_store_relaxed(words[i], 0);
    for (uint32_t i = 0; i <= view->mask; i++)
        hub_store_relaxed64(&hub_ring_view_cell(view, i)->state, hub_cell_free(i));
}

static struct hub_region_consumer *consumer_at(const struct hub_mapping *mapping,
                                               const struct hub_region_shape *shape, uint32_t index)
{
    return (struct hub_region_consumer *)(void *)(mapping->data + shape->fanout.consumers_off) +
           index;
}

static void empty_fanout(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_region_fanout *fanout = (void *)(mapping->data + shape->body_off);

    hub_store_relaxed(&fanout->router_lease, 0);
    hub_store_relaxed(&fanout->router_epoch, 0);
    hub_store_relaxed64(&fanout->routed, 0);
    hub_store_relaxed64(&fanout->dropped, 0);
    hub_store_relaxed(&fanout->credit_seq, 0);
    hub_store_relaxed(&fanout->credit_flag, 0);
    for (uint32_t i = 0; i < shape->fanout.consumers; i++) {
        struct hub_region_consumer *consumer = consumer_at(mapping, shape, i);
        struct hub_ring_view view = hub_region_queue_view(mapping->data, shape, i);

        hub_store_relaxed(&consumer->flags, 0);
        hub_store_relaxed(&consumer->lease, 0);
        hub_store_relaxed(&consumer->opened, 0);
        hub_store_relaxed64(&consumer->dropped, 0);
        hub_store_relaxed64(&consumer->delivered, 0);
        empty_ring(&view);
    }
}

static void empty_fanin(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_region_fanin *fanin = (void *)(mapping->data + shape->body_off);

    hub_store_relaxed(&fanin->consumer_lease, 0);
    hub_store_relaxed(&fanin->not_empty_seq, 0);
    hub_store_relaxed(&fanin->not_empty_flag, 0);
    for (uint32_t i = 0; i < shape->producers; i++) {
        struct hub_ring_view view = hub_region_ring_view(mapping->data, shape, i);

        empty_ring(&view);
    }
}

/* Empties the body: every cell waits for its first position. The constants of it stay: a process
 * that dies in between leaves a region that can be made anew. */
static void empty_body(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_ring_view view;

    memset(mapping->data + shape->lease_off, 0,
           (size_t)shape->lease_count * sizeof(struct hub_region_lease));
    if (hub_region_shape_is_state(shape)) {
        struct hub_state_view state =
            hub_state_view_at(mapping->data, shape->body_off, &shape->state);

        hub_state_view_empty(&state);
        return;
    }
    if (hub_region_shape_is_sequencer(shape)) {
        struct hub_sequencer_view sequencer =
            hub_sequencer_view_at(mapping->data, shape->body_off, &shape->sequencer);

        hub_sequencer_view_empty(&sequencer);
        return;
    }
    view = hub_region_view(mapping->data, shape);
    empty_ring(&view);
    if (shape->kind == HUB_REGION_FANOUT)
        empty_fanout(mapping, shape);
    if (shape->kind == HUB_REGION_FANIN)
        empty_fanin(mapping, shape);
}

/* The constants of a ring, as long as the region lasts. */
static void fill_ring(const struct hub_mapping *mapping, const struct hub_ring_view *view,
                      enum hub_region_kind kind)
{
    view->ring->mask = view->mask;
    view->ring->cells_off = (uint32_t)(view->cells - mapping->data);
    view->ring->kind = (uint32_t)kind;
    view->ring->head_batch = view->head_batch;
}

static void fill_fanout(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_region_fanout *fanout = (void *)(mapping->data + shape->body_off);
    const struct hub_fanout_shape *from = &shape->fanout;

    fanout->mode = from->mode;
    fanout->credit_policy = from->credit;
    fanout->consumer_count = from->consumers;
    fanout->consumers_off = from->consumers_off;
    fanout->src_ring_off = shape->ring_off;
    fanout->detach_after_ns = from->detach_after_ns;
    for (uint32_t i = 0; i < from->consumers; i++) {
        struct hub_region_consumer *consumer = consumer_at(mapping, shape, i);
        struct hub_ring_view view = hub_region_queue_view(mapping->data, shape, i);

        consumer->ring_off = (uint32_t)((uint8_t *)view.ring - mapping->data);
        consumer->credit_max = from->credit_max;
        fill_ring(mapping, &view, HUB_REGION_SPSC);
    }
}

static void fill_fanin(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_region_fanin *fanin = (void *)(mapping->data + shape->body_off);

    fanin->ring_count = shape->producers;
    fanin->rings_off = shape->ring_off;
    fanin->ring_stride = (uint32_t)hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
    for (uint32_t i = 0; i < shape->producers; i++) {
        struct hub_ring_view view = hub_region_ring_view(mapping->data, shape, i);

        fill_ring(mapping, &view, HUB_REGION_SPSC);
    }
}

static void fill_body(const struct hub_mapping *mapping, const struct hub_region_shape *shape)
{
    struct hub_ring_view view;

    if (hub_region_shape_is_state(shape)) {
        struct hub_state_view state =
            hub_state_view_at(mapping->data, shape->body_off, &shape->state);

        hub_state_view_fill(&state, &shape->state);
        return;
    }
    if (hub_region_shape_is_sequencer(shape)) {
        struct hub_sequencer_view sequencer =
            hub_sequencer_view_at(mapping->data, shape->body_off, &shape->sequencer);

        hub_sequencer_view_fill(&sequencer, &shape->sequencer);
        return;
    }
    view = hub_region_view(mapping->data, shape);
    fill_ring(mapping, &view, hub_region_shape_claims(shape) ? HUB_REGION_MPSC : HUB_REGION_SPSC);
    if (shape->kind == HUB_REGION_FANOUT)
        fill_fanout(mapping, shape);
    if (shape->kind == HUB_REGION_FANIN)
        fill_fanin(mapping, shape);
}

static void fill_header(const struct hub_mapping *mapping, const struct hub_region_shape *shape,
                        const char *name)
{
    struct hub_region_header *h = header_of(mapping);

    h->version_major = HUB_REGION_MAJOR;
    h->version_minor = HUB_REGION_MINOR;
    h->byte_order = HUB_REGION_BYTE_ORDER;
    h->flags = (uint32_t)shape->kind;
    h->header_bytes = HUB_REGION_HEADER_BYTES;
    h->caps_required = shape->caps_required;
    h->caps_optional = shape->caps_optional;
    h->layout_bytes = shape->layout_bytes;
    h->region_bytes = mapping->size;
    h->init_pid = (uint32_t)getpid();
    h->id = hub_random_nonce();
    h->init_ns = hub_clock_now();
    memcpy(h->name, name, strnlen(name, sizeof h->name));
    h->cell_bytes = shape->cell_bytes;
    h->cell_count = shape->cell_count;
    h->lease_off = shape->lease_off;
    h->lease_count = shape->lease_count;
    h->body_off = shape->body_off;
}

/* The magic comes last but one, and `initialized` last: before them it is no region. */
static void fill(const struct hub_mapping *mapping, const struct hub_region_shape *shape,
                 const char *name)
{
    struct hub_region_header *h = header_of(mapping);
    struct hub_region_header with_magic;

    hub_publish(&h->initialized, HUB_REGION_INIT_BUSY);
    fill_header(mapping, shape, name);
    with_magic = *h;
    with_magic.magic.word = HUB_REGION_MAGIC;
    h->header_crc32c = hub_region_check_sum(&with_magic);
    fill_body(mapping, shape);
    empty_body(mapping, shape);
    hub_store_relaxed(&h->generation, 1);
    hub_publish64(&h->magic, HUB_REGION_MAGIC);
    hub_publish(&h->initialized, HUB_REGION_INIT_DONE);
}

/* ---- create ---- */

static int make(const struct rapahub_region_options *options, const char *name,
                struct hub_mapping *out)
{
    struct hub_region_shape shape;
    uint32_t mode = options->file_mode ? options->file_mode : FILE_MODE;
    int r = hub_region_shape_make(options, hub_barrier_join() == 0, &shape);

    if (r == 0)
        r = hub_mapping_create_unnamed(HUB_REGION_FOLDER, mode,
                                       hub_mapping_page_align(shape.layout_bytes), out);
    if (r < 0)
        return r;
    r = hub_lock_try(out->fd, HUB_REGION_LOCK_INIT, 1);
    if (r == 0) {
        fill(out, &shape, name);
        return 0;
    }
    hub_mapping_fini(out);
    return rapahub_fail(r, "region.init", "cannot lock a new region: %s", strerrordesc_np(-r));
}

/* The part of a path that a person knows it by. */
static const char *short_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int name_it(const struct hub_mapping *mapping, const char *path)
{
    int r = hub_mapping_name(mapping, path);

    return r == -EEXIST ? rapahub_fail(r, "region.whole", "there is a file '%s' already", path) : r;
}

int rapahub_region_create(const char *name, const struct rapahub_region_options *options,
                          struct rapahub_region **out)
{
    char path[RAPAHUB_REGION_PATH_MAX] = "";
    struct hub_mapping mapping;
    int r = name ? hub_region_path(name, path) : 0;

    if (r == 0)
        r = make(options, name ? short_name(name) : "", &mapping);
    if (r < 0)
        return r;
    (void)hub_lock_drop(mapping.fd, HUB_REGION_LOCK_INIT, 1);
    r = name ? name_it(&mapping, path) : 0;
    if (r < 0) {
        hub_mapping_fini(&mapping);
        return r;
    }
    return hub_region_attach(&mapping, NULL, out);
}

/* ---- exclusive access ---- */

/* For people: a participant, as the leases tell. */
static int refuse_busy(const struct hub_mapping *mapping, uint64_t lock)
{
    struct rapahub_region region = {.mapping = *mapping};
    struct hub_region_found found;
    uint64_t owner;

    if (lock == HUB_REGION_LOCK_INIT)
        return rapahub_fail(RAPAHUB_EBUSY, "region.exclusive",
                            "another process, which is alive, makes it or removes it");
    if (hub_region_check_geometry(mapping->data, mapping->size, &found) == 0) {
        region.shape = found.shape;
        for (uint32_t i = 0; i < region.shape.lease_count; i++) {
            owner = hub_observe64(&hub_region_lease_at(&region, i)->owner);
            if (hub_region_lease_state(owner) == HUB_LEASE_HELD)
                return rapahub_fail(RAPAHUB_EBUSY, "region.exclusive",
                                    "processes take part in it: lease %" PRIu32
                                    " is of pid %" PRId32,
                                    i, hub_region_lease_pid(owner));
        }
    }
    return rapahub_fail(RAPAHUB_EBUSY, "region.exclusive", "a process takes part in it");
}

/* No event tells of a lock that becomes free, and a wait in the kernel has no deadline. */
static int lock_until(const struct hub_mapping *mapping, uint64_t lock, uint64_t deadline_ns)
{
    while (hub_lock_try(mapping->fd, lock, 1) < 0) {
        if (hub_clock_left(deadline_ns) == 0)
            return refuse_busy(mapping, lock);
        hub_clock_pause(GAP);
    }
    return 0;
}

/* A file that is no region is left alone, unless its name says that it should be one. */
static int check_is_region(const char *name, const struct hub_mapping *mapping)
{
    struct hub_region_found found;
    int r;

    if (!hub_region_is_path(name))
        return 0;
    r = hub_region_check(mapping->data, mapping->size, 0, &found);
    if (r == RAPAHUB_EBADMAGIC || (r == RAPAHUB_ETRUNCATED && mapping->size < HUB_REGION_FROZEN))
        return rapahub_fail(r, "region.exclusive", "'%s' is no region, and is left as it is", name);
    return 0;
}

/* While this process waited for the locks another one may have put a new file in its place. */
static int check_still_named(const char *path, const struct hub_mapping *mapping)
{
    struct stat opened, named;

    if (fstat(mapping->fd, &opened) < 0 || lstat(path, &named) < 0 ||
        opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
        return rapahub_fail(RAPAHUB_ESTALE, "region.exclusive",
                            "'%s' was removed or replaced by another process meanwhile", path);
    return 0;
}

/* Opens the file with no other process in it: INIT keeps out the makers, ATTACH the participants. A
 * process that is stopped holds its locks, a dead one does not. */
static int open_alone(const char *name, const char *path, uint64_t timeout_ns,
                      struct hub_mapping *out)
{
    const struct hub_mapping_order order = {.own_only = !hub_region_is_path(name)};
    uint64_t deadline = hub_clock_after(timeout_ns);
    int r = hub_mapping_open_named(path, &order, 0, out);

    if (r < 0)
        return r;
    r = check_is_region(name, out);
    if (r == 0)
        r = lock_until(out, HUB_REGION_LOCK_INIT, deadline);
    if (r == 0)
        r = lock_until(out, HUB_REGION_LOCK_ATTACH, deadline);
    if (r == 0)
        r = check_still_named(path, out);
    if (r < 0)
        hub_mapping_fini(out);
    return r;
}

static int open_named_alone(const char *name, char path[RAPAHUB_REGION_PATH_MAX],
                            uint64_t timeout_ns, struct hub_mapping *out)
{
    int r = hub_region_path(name, path);

    return r == 0 ? open_alone(name, path, timeout_ns, out) : r;
}

/* A process that just opened it by its name finds that it is no more. */
static void retire(const struct hub_mapping *mapping)
{
    struct hub_region_header *h = header_of(mapping);

    if (mapping->size < HUB_REGION_FROZEN)
        return;
    hub_publish(&h->initialized, HUB_REGION_INIT_RETIRED);
    (void)hub_add(&h->generation, 1);
}

/* ---- renew, recreate, remove ---- */

/* r[impl region.init.stuck] */
int rapahub_region_renew(const char *name, uint64_t timeout_ns)
{
    char path[RAPAHUB_REGION_PATH_MAX];
    struct hub_mapping mapping;
    struct hub_region_found found;
    int r = open_named_alone(name, path, timeout_ns, &mapping);

    if (r < 0)
        return r;
    r = hub_region_check_geometry(mapping.data, mapping.size, &found);
    if (r == 0 && found.initialized == HUB_REGION_INIT_RETIRED)
        r = rapahub_fail(RAPAHUB_ERETIRED, "region.init.code", "it was removed or replaced");
    if (r == 0) {
        struct hub_region_header *h = header_of(&mapping);

        hub_publish(&h->initialized, HUB_REGION_INIT_BUSY);
        (void)hub_add(&h->generation, 1);
        h->init_pid = (uint32_t)getpid();
        empty_body(&mapping, &found.shape);
        hub_publish(&h->initialized, HUB_REGION_INIT_DONE);
    }
    hub_mapping_fini(&mapping);
    return r;
}

/* The new region has a second name, which no region may have, until it takes the place of the old
 * one. A name that a death left is removed first. */
static int replace(const struct rapahub_region_options *options, const char *name, const char *path,
                   const struct hub_mapping *old)
{
    char second[RAPAHUB_REGION_PATH_MAX + 2];
    struct hub_mapping mapping;
    int r = make(options, short_name(name), &mapping);

    if (r < 0)
        return r;
    snprintf(second, sizeof second, "%s~", path);
    (void)unlink(second);
    r = name_it(&mapping, second);
    if (r == 0 && rename(second, path) < 0)
        r = rapahub_fail(-errno, "region.whole",
                         "cannot put the new region in the place of '%s': %s", path,
                         strerrordesc_np(errno));
    if (r == 0)
        retire(old);
    hub_mapping_fini(&mapping);
    return r;
}

int rapahub_region_recreate(const char *name, const struct rapahub_region_options *options,
                            uint64_t timeout_ns)
{
    char path[RAPAHUB_REGION_PATH_MAX];
    struct hub_mapping old;
    int r = open_named_alone(name, path, timeout_ns, &old);

    if (r < 0)
        return r;
    r = replace(options, name, path, &old);
    hub_mapping_fini(&old);
    return r;
}

int rapahub_region_remove(const char *name, uint64_t timeout_ns)
{
    char path[RAPAHUB_REGION_PATH_MAX];
    struct hub_mapping mapping;
    int r = open_named_alone(name, path, timeout_ns, &mapping);

    if (r < 0)
        return r;
    if (unlink(path) == 0)
        retire(&mapping);
    else
        r = rapahub_fail(-errno, "region.whole", "cannot remove '%s': %s", path,
                         strerrordesc_np(errno));
    hub_mapping_fini(&mapping);
    return r;
}
