/* SPDX-License-Identifier: Apache-2.0 */
/* region: a region that this process has mapped, the locks of its file, and what is held here.
 *
 * The mapping is made through the very description that holds the locks, and is not in a child: so
 * a lock that is free proves that no former holder can store through its mapping any more
 * (docs/adr/0039). A description does not conflict with itself: what the struct says is held here
 * is alive, whatever a lock says.
 */
#ifndef HUB_BUS_REGION_H
#define HUB_BUS_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

#include "hub/base/mapping.h"
#include "hub/base/mutex.h"
#include "hub/bus/cell.h"
#include "hub/bus/region_shape.h"
#include "hub/bus/sequencer/sequencer_view.h"
#include "hub/bus/sleep.h"
#include "hub/bus/state/state_view.h"

/* Bytes of the file that are locked, far after its data. */
#define HUB_REGION_LOCKS         (UINT64_C(1) << 41)
#define HUB_REGION_LOCK_INIT     (HUB_REGION_LOCKS + 0)
#define HUB_REGION_LOCK_ATTACH   (HUB_REGION_LOCKS + 1)
#define HUB_REGION_LOCK_TABLE    (HUB_REGION_LOCKS + 2)
#define HUB_REGION_LOCK_ROUTER   (HUB_REGION_LOCKS + 3)
#define HUB_REGION_LOCK_WRITER   (HUB_REGION_LOCKS + 4)
#define HUB_REGION_LOCK_CONSUMER (HUB_REGION_LOCKS + 64)  /* + its index */
#define HUB_REGION_LOCK_PRODUCER (HUB_REGION_LOCKS + 320) /* + its index */
#define HUB_REGION_LOCK_KEEP     (HUB_REGION_LOCKS + 640) /* + the index of a consumer of FANOUT */
#define HUB_REGION_LOCK_LEASE    (HUB_REGION_LOCKS + 1024)

#define HUB_REGION_FOLDER "/dev/shm"

/* A ring of a region, by private numbers. */
struct hub_ring_view {
    struct hub_region_ring *ring;
    uint8_t *cells;
    uint32_t mask, cell_bytes;
    uint32_t head_batch;
    bool poison; /* cells may be poisoned */
    bool routed; /* payloads begin with their source position + 1 */
    struct hub_sleep not_empty, not_full;
};

static inline struct hub_region_cell *hub_ring_view_cell(const struct hub_ring_view *view,
                                                         uint64_t position)
{
    return (struct hub_region_cell *)(void *)(view->cells +
                                              (position & view->mask) * view->cell_bytes);
}

/* The role that came with the description of a region: another process took it, with its locks, for
 * this one. */
struct hub_region_granted {
    bool given;                  /* false: the region was opened here, and takes its roles itself */
    bool taken;                  /* its handle was opened */
    uint32_t role, index, lease; /* role of enum rapahub_region_role; lease HUB_LEASE_NONE: none */
};

/* For whom leases are taken, where that is not this process. For people. */
struct hub_region_holder {
    int32_t pid; /* 0: this process */
    const char *name;
};

struct rapahub_region {
    struct hub_mapping mapping;
    struct hub_region_shape shape;
    struct hub_ring_view view;           /* empty where it has no cells */
    struct hub_state_view state;         /* empty where it is none */
    struct hub_sequencer_view sequencer; /* empty where it is none */
    bool read_only;
    uint32_t generation;
    uint64_t wait_ns;
    struct hub_region_granted granted; /* constant, but `taken` */
    struct hub_region_holder holder;
    struct hub_a32 shut;    /* 1: its consumer and its reader are given nothing yet */
    struct hub_mutex mutex; /* guards the rest; never held during a wait */
    uint32_t handles GUARDED_BY(mutex);
    bool table GUARDED_BY(mutex);
    uint64_t roles[7] GUARDED_BY(mutex);               /* bits of roles that are held here */
    struct hub_a64 leases[HUB_REGION_LEASES_MAX / 64]; /* changed under the mutex */
};

/* Writes the path that a name means, or a path itself. -EINVAL: it is neither. */
int hub_region_path(const char *name, char to[RAPAHUB_REGION_PATH_MAX]);

static inline bool hub_region_is_path(const char *name)
{
    for (; *name; name++)
        if (*name == '/')
            return true;
    return false;
}

/* Says whether a name may be that of a region. */
bool hub_region_is_name(const char *name);

/* Checks a mapping and attaches to its region; owns the mapping, also after a failure.
 * r[impl region.again] */
int hub_region_attach(struct hub_mapping *mapping,
                      const struct rapahub_region_open_options *options,
                      struct rapahub_region **out);

/* Says why a region cannot be used that is in state 1, 0 or 3: adds to the diagnosis whether its
 * initialiser lives. Returns `r`. r[impl region.init.proof] */
int hub_region_explain_init(int fd, uint32_t initialized, int r);

/* Makes the view of the ring that producers publish into, of FANIN the first one, from a shape that
 * was checked and has cells. */
struct hub_ring_view hub_region_view(uint8_t *data, const struct hub_region_shape *shape);

/* The same for the queue of a consumer of FANOUT: its router waits for room in any of them. */
struct hub_ring_view hub_region_queue_view(uint8_t *data, const struct hub_region_shape *shape,
                                           uint32_t index);

/* The same for the ring of a producer of FANIN: all of them wake the consumer at one word. */
struct hub_ring_view hub_region_ring_view(uint8_t *data, const struct hub_region_shape *shape,
                                          uint32_t index);

/* Makes the views of a region whose shape was checked. */
void hub_region_set_views(struct rapahub_region *region);

/* Where the stages of a sequencer sleep, and where its producers do. */
struct hub_sleep hub_region_sequencer_cursor(const struct rapahub_region *region);
struct hub_sleep hub_region_sequencer_space(const struct rapahub_region *region);

/* Where the readers of a state sleep. In a region that is mapped read-only they look each
 * millisecond. */
struct hub_sleep hub_region_state_changed(const struct rapahub_region *region);

/* Returns 0 when the region is not shut, or no longer. RAPAHUB_EEMPTY, where `deadline_ns` is 0;
 * -ETIMEDOUT; both without a diagnosis. Any thread. */
int hub_region_await_open(struct rapahub_region *region, uint64_t deadline_ns);

/* From now on it is not shut. Any thread. */
void hub_region_unshut(struct rapahub_region *region);

/* Unmaps a region and frees it. Its descriptor is returned, with all locks of its description, and
 * is the caller's. */
int hub_region_give_away(struct rapahub_region *region);

struct hub_region_lease *hub_region_lease_at(const struct rapahub_region *region, uint32_t index);
struct hub_region_header *hub_region_header(const struct rapahub_region *region);

/* Returns 0, or RAPAHUB_ESTALE where the region was made anew under this handle, which breaks the
 * rule of its exclusive access. r[impl region.generation] */
int hub_region_current(const struct rapahub_region *region);

/* TABLE: its holder is the only process that grants leases and roles, takes them back, or repairs.
 * -ETIMEDOUT: another process, which may be stopped, has had it until the deadline. A deadline of 0
 * tries once. */
int hub_region_table_enter(struct rapahub_region *region, uint64_t deadline_ns);
void hub_region_table_leave(struct rapahub_region *region);

/* Notes that a handle was opened, or closed. */
void hub_region_handle_opened(struct rapahub_region *region);
void hub_region_handle_closed(struct rapahub_region *region);

#endif
