/* SPDX-License-Identifier: Apache-2.0 */
/* A region of any bytes. A verdict is one of the codes of its checks, or the region is whole: its
 * parts lie inside, apart. Then a producer and a consumer or stages, or a writer and a reader, use
 * it, a reaper takes back what leases say, and none of them reads outside, hangs, or shows a
 * message that is longer than its cell, or a value that is longer than its room. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/sequencer.h>

#include "hub/bus/mpsc.h"
#include "hub/bus/reap.h"
#include "hub/bus/region_check.h"
#include "hub/bus/resume.h"
#include "hub/bus/spsc.h"
#include "tests/fuzz/fuzz.h"

#define CELLS  4
#define VALUE  100
#define EDIT   6 /* bytes: the place, an operation, a value */
#define PLACES UINT32_C(4096)

/* The first byte: its bits say how the rest is read. */
enum mode {
    MODE_EDITS = 1,
    MODE_SUM = 2,
    MODE_MPSC = 4,
    MODE_V1 = 8,
    MODE_FANOUT = 16,
    MODE_WORK = 32,
    MODE_FANIN = 64,
    MODE_STATE = 128 /* with neither of the two above; with MODE_MPSC: STATE_LATCH; with MODE_WORK:
                        SEQUENCER, with MODE_MPSC of many producers */
};

static int is_verdict(int r)
{
    return r == RAPAHUB_ETRUNCATED || r == RAPAHUB_ENOTINITIALIZED || r == RAPAHUB_EBADMAGIC ||
           r == RAPAHUB_EBADENDIAN || r == RAPAHUB_EBADVERSION || r == RAPAHUB_EBADKIND ||
           r == RAPAHUB_ECAPS || r == RAPAHUB_ELAYOUTBYTES || r == RAPAHUB_ECORRUPT;
}

static int is_state(unsigned mode)
{
    return (mode & MODE_STATE) && !(mode & (MODE_FANOUT | MODE_FANIN));
}

static struct rapahub_region *make_state(unsigned mode)
{
    const struct rapahub_region_options options = {
        .kind = mode & MODE_MPSC ? RAPAHUB_REGION_STATE_LATCH : RAPAHUB_REGION_STATE_V1,
        .profile = mode & MODE_V1 ? RAPAHUB_REGION_V1 : RAPAHUB_REGION_HARDENED,
        .value_bytes = VALUE,
        .leases = 4};
    struct rapahub_region *region = NULL;

    FUZZ_HOLDS(rapahub_region_create(NULL, &options, &region) == 0);
    return region;
}

static struct rapahub_region *make_sequencer(unsigned mode)
{
    const struct rapahub_region_stage list[] = {{.on_death = !(mode & MODE_V1)}, {.after = 1}};
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_SEQUENCER,
        .profile = mode & MODE_V1 ? RAPAHUB_REGION_V1 : RAPAHUB_REGION_HARDENED,
        .producers = mode & MODE_MPSC ? 2 : 1,
        .ring_size = CELLS,
        .user_bytes = 8,
        .stages = 2,
        .stage_list = list,
        .leases = 4};
    struct rapahub_region *region = NULL;

    FUZZ_HOLDS(rapahub_region_create(NULL, &options, &region) == 0);
    return region;
}

static struct rapahub_region *make_queue(unsigned mode)
{
    const struct rapahub_region_options options = {
        .kind = mode & MODE_FANOUT  ? RAPAHUB_REGION_FANOUT
                : mode & MODE_FANIN ? RAPAHUB_REGION_FANIN
                : mode & MODE_MPSC  ? RAPAHUB_REGION_MPSC
                                    : RAPAHUB_REGION_SPSC,
        .profile = mode & MODE_V1 ? RAPAHUB_REGION_V1 : RAPAHUB_REGION_HARDENED,
        .cells = CELLS,
        .leases = 4,
        .consumers = mode & MODE_FANOUT ? 2 : 0,
        .producers = mode & MODE_FANIN && !(mode & MODE_FANOUT) ? 2 : 0,
        .mode = mode & MODE_WORK && mode & MODE_FANOUT ? RAPAHUB_REGION_WORK
                                                       : RAPAHUB_REGION_BROADCAST};
    struct rapahub_region *region = NULL;

    FUZZ_HOLDS(rapahub_region_create(NULL, &options, &region) == 0);
    return region;
}

/* Words are stored whole, so that edits reach states that bytes alone do not. */
static void edit(uint8_t *data, size_t size, const uint8_t *edits, size_t left)
{
    for (; left >= EDIT; left -= EDIT, edits += EDIT) {
        uint32_t place;
        uint64_t word = (uint64_t)(int64_t)(int8_t)edits[5];

        memcpy(&place, edits, sizeof place);
        place = place % PLACES % (uint32_t)size;
        if (edits[4] & 1) {
            data[place] = edits[5];
        } else {
            place = place / 8 * 8;
            word = edits[4] & 2 ? word << (edits[4] >> 2) : word;
            memcpy(data + place, &word, sizeof word);
        }
    }
}

static void fix_sum(uint8_t *data)
{
    uint32_t sum = hub_region_check_sum((const struct hub_region_header *)(const void *)data);

    memcpy(data + 124, &sum, sizeof sum);
}

static void use_ring(const struct rapahub_region *region)
{
    const struct hub_ring_view *view = &region->view;
    struct rapahub_message message;
    uint64_t head = 0, tail = 0;

    if (hub_resume_head(view, &head) == 0)
        FUZZ_HOLDS(head <= HUB_CELL_POSITION_MAX + CELLS);
    (void)hub_resume_tail(view, &tail);
    for (uint32_t i = 0; i <= view->mask && i < 64; i++)
        if (hub_spsc_look(view, head + i, &message) == HUB_SPSC_MESSAGE)
            FUZZ_HOLDS(message.size <= view->cell_bytes - HUB_CELL_OVERHEAD);
    (void)hub_spsc_push(view, tail, "x", 1, 0);
    for (int i = 0; i < 6; i++)
        (void)hub_mpsc_push(view, NULL, "x", 1, 0);
}

static void use_fanout(struct rapahub_region *region)
{
    struct rapahub_router *router;
    struct rapahub_consumer *consumer;
    uint8_t bytes[HUB_REGION_CELL_MAX];
    uint32_t count;

    if (rapahub_consumer_open(region, NULL, &consumer) == 0) {
        if (rapahub_router_open(region, 0, &router) == 0) {
            for (int i = 0; i < 4; i++)
                (void)!rapahub_router_run(router, 4, 0, &count);
            rapahub_router_close(router);
        }
        for (int i = 0; i < 6; i++)
            (void)!rapahub_consumer_pop(consumer, bytes, sizeof bytes, 0, NULL);
        rapahub_consumer_close(consumer);
    }
}

static void use_fanin(struct rapahub_region *region)
{
    const struct rapahub_producer_options any = {.on_full = RAPAHUB_ON_FULL_FAIL,
                                                 .index = RAPAHUB_PRODUCER_ANY};
    struct rapahub_producer *producers[2] = {NULL};
    struct rapahub_consumer *consumer;
    uint8_t bytes[HUB_REGION_CELL_MAX];

    for (int i = 0; i < 2; i++)
        if (rapahub_producer_open(region, &any, &producers[i]) == 0)
            for (int j = 0; j < 2 * CELLS; j++)
                (void)!rapahub_producer_push(producers[i], "x", 1, 0);
    if (rapahub_consumer_open(region, NULL, &consumer) == 0) {
        for (int i = 0; i < 4 * CELLS; i++)
            (void)!rapahub_consumer_pop(consumer, bytes, sizeof bytes, 0, NULL);
        rapahub_consumer_close(consumer);
    }
    rapahub_producer_close(producers[0]);
    rapahub_producer_close(producers[1]);
}

static int is_read(int r)
{
    return r == 0 || r == RAPAHUB_EEMPTY || r == RAPAHUB_ECORRUPT || r == RAPAHUB_EMSGSIZE ||
           r == RAPAHUB_EWRITERBUSY || r == RAPAHUB_EPEERDEAD;
}

static void use_state(struct rapahub_region *region)
{
    struct rapahub_writer *writer;
    struct rapahub_reader *reader;
    uint8_t bytes[VALUE];
    size_t size = 0;
    int r;

    if (rapahub_reader_open(region, &reader) < 0)
        return;
    r = rapahub_reader_read(reader, bytes, sizeof bytes, &size, NULL);
    FUZZ_HOLDS(is_read(r));
    FUZZ_HOLDS(r != 0 || size <= sizeof bytes);
    if (rapahub_writer_open(region, &writer) == 0) {
        for (int i = 0; i < 3; i++)
            (void)!rapahub_writer_write(writer, bytes, sizeof bytes);
        rapahub_writer_close(writer);
    }
    FUZZ_HOLDS(is_read(rapahub_reader_read(reader, bytes, sizeof bytes, &size, NULL)));
    rapahub_reader_close(reader);
}

static void use_stages(struct rapahub_region *region, struct rapahub_producer *producer)
{
    const struct rapahub_stage_options second = {.index = 1};
    struct rapahub_stage *stages[2] = {NULL};
    uint64_t at;
    uint32_t count;

    (void)!rapahub_stage_open(region, NULL, &stages[0]);
    if (region->sequencer.stage_count > 1)
        (void)!rapahub_stage_open(region, &second, &stages[1]);
    for (int i = 0; i < 4; i++) {
        if (rapahub_producer_claim(producer, 1 + (uint32_t)i % 2, 0, &at) == 0) {
            uint8_t *user = rapahub_region_user(region, at);

            if (user && region->sequencer.user_bytes > 0)
                user[region->sequencer.user_bytes - 1] = 1;
            (void)!rapahub_producer_publish(producer, at, 1);
        }
        for (int j = 0; j < 2; j++)
            if (stages[j] && rapahub_stage_next(stages[j], 0, &at, &count) == 0)
                (void)!rapahub_stage_advance(stages[j], 1);
        if (i == 2)
            (void)!rapahub_region_evict(region, 0);
    }
    rapahub_stage_close(stages[0]);
    rapahub_stage_close(stages[1]);
}

static void use_sequencer(struct rapahub_region *region)
{
    static const struct rapahub_producer_options fails = {.on_full = RAPAHUB_ON_FULL_FAIL};
    struct rapahub_producer *producer;

    if (rapahub_producer_open(region, &fails, &producer) < 0)
        return;
    use_stages(region, producer);
    rapahub_producer_close(producer);
}

static void use(struct rapahub_region *region)
{
    struct hub_region_found found;
    int r = hub_region_check(region->mapping.data, region->shape.layout_bytes, 0, &found);

    FUZZ_HOLDS(r == 0 || is_verdict(r));
    if (r < 0)
        return;
    FUZZ_HOLDS(hub_region_shape_holds(&found.shape));
    FUZZ_HOLDS(found.shape.layout_bytes <= region->mapping.size);
    region->shape = found.shape;
    hub_region_set_views(region);
    (void)hub_reap_try(region);
    if (hub_region_shape_is_state(&region->shape)) {
        use_state(region);
        return;
    }
    if (hub_region_shape_is_sequencer(&region->shape)) {
        use_sequencer(region);
        return;
    }
    use_ring(region);
    if (region->shape.kind == HUB_REGION_FANOUT)
        use_fanout(region);
    if (region->shape.kind == HUB_REGION_FANIN)
        use_fanin(region);
}

/* Bytes alone: an exact copy, so that a sanitizer sees what is read after its end. */
static void check_raw(const uint8_t *data, size_t size)
{
    struct hub_region_found found;
    void *copy = NULL;
    int r;

    FUZZ_HOLDS(posix_memalign(&copy, 128, size + 8) == 0);
    memcpy(copy, data, size);
    r = hub_region_check(copy, size, 0, &found);
    FUZZ_HOLDS(r == 0 || is_verdict(r));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rapahub_region *region;

    if (size == 0)
        return 0;
    if (!(data[0] & MODE_EDITS)) {
        check_raw(data + 1, size - 1);
        return 0;
    }
    region = !is_state(data[0])           ? make_queue(data[0])
             : (data[0] & MODE_WORK) != 0 ? make_sequencer(data[0])
                                          : make_state(data[0]);
    edit(region->mapping.data, region->shape.layout_bytes, data + 1, size - 1);
    if (data[0] & MODE_SUM)
        fix_sum(region->mapping.data);
    use(region);
    FUZZ_HOLDS(rapahub_region_close(region) == 0);
    return 0;
}
