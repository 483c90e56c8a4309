/* SPDX-License-Identifier: Apache-2.0 */
/* commit_rig: a segment with size classes in a file, and what of it is there: its blocks. */
#ifndef TESTS_UNIT_SHM_ROOM_RIG_H
#define TESTS_UNIT_SHM_ROOM_RIG_H

#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/shm/commit.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "tests/support/leak.h"
#include "tests/support/room.h"
#include "tests/support/testing.h"

#define GUESTS 4
#define LARGE  60000 /* bytes: of the larger class */
#define ROUND  8     /* pages that ranges of one guest may share with others */
#define FIRST  2     /* large slots of a guest that comes: 128 KiB */
#define SHARE  5     /* that it has when it has asked, of 40 */

/* With size classes of 4,096 and 65,536 bytes, 80 and 20 slots in all. */
static const struct hub_limits with_classes = {.payload_max = 65536,
                                               .credit_size = 1024,
                                               .guests_max = GUESTS,
                                               .ring_size = 256,
                                               .slot_size = 4096,
                                               .slot_count = 16,
                                               .channels_max = 64};

struct rig {
    struct leak *leak;
    struct hub_segment *host;
    struct hub_slots slots;
    uint64_t at_first; /* pages */
};

static inline uint64_t pages_of(uint64_t bytes)
{
    return bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline uint64_t there(const struct rig *rig)
{
    struct stat file;

    assert_int_equal(fstat(rig->host->mapping.fd, &file), 0);
    return pages_of((uint64_t)file.st_blocks * 512);
}

static inline struct rig *begin(const struct hub_limits *limits)
{
    struct rig *rig = calloc(1, sizeof *rig);

    assert_non_null(rig);
    rig->leak = leak_begin();
    assert_int_equal(hub_segment_create(limits, true, &rig->host), 0);
    if (rig->host->mapping.whole)
        skip(); /* this file system takes all at once */
    assert_int_equal(hub_slots_init_host(&rig->slots, rig->host), 0);
    rig->at_first = there(rig);
    return rig;
}

static inline void end(struct rig *rig)
{
    hub_slots_fini(&rig->slots);
    hub_segment_release(&rig->host);
    leak_assert_none(rig->leak);
    free(rig);
}

static inline void come(struct rig *rig, uint32_t wanted)
{
    uint32_t peer, epoch;

    assert_int_equal(hub_peer_table_reserve(rig->host, &peer, &epoch), 0);
    assert_int_equal(peer, wanted);
    assert_int_equal(hub_slots_endow(&rig->slots, peer), 0);
}

static inline void assert_near(uint64_t found, uint64_t wanted)
{
    assert_in_range(found + ROUND, wanted, wanted + 2 * ROUND);
}

static inline uint32_t loan_all(struct rig *rig)
{
    struct hub_slot_loan slot;
    uint32_t count = 0;
    int r;

    while ((r = hub_slots_loan(&rig->slots, 1, LARGE, &slot)) == 0) {
        memset(slot.data, 1, LARGE);
        count++;
    }
    assert_int_equal(r, RAPAHUB_EAGAIN);
    return count;
}

#endif
