/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cluster/two_nodes.h"

#include <rapahub/error.h>

#include "cluster/core/dispatch.h"
#include "cluster/metastore/sqlite/sqlite.h"
#include "cluster/node/boot/store_keys.h"
#include "cluster/node/disk/note_file.h"
#include "cluster/node/runner.h"
#include "cluster/wire/delta.h"

#define FRAMES 4096
#define POOL   UINT64_C(0x0000010000000000) /* of both */

struct frame {
    unsigned link; /* it left over */
    struct cluster_frame header;
    uint8_t *bytes;
};

/* The end of a node, and the frames that go to it. */
struct end {
    struct cluster_runner *runner; /* of the thread of its node */
    uint64_t session;              /* 0: the node is down */
    unsigned told;                 /* link that it was told of */
    bool up;                       /* as it was told */
    struct frame frames[FRAMES];
    unsigned first, last;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct end ends[2];
static unsigned link_number = 1; /* counts up with each change */
static bool link_up;
static unsigned sent;
static struct cluster_entry entry_of_two; /* of container 1, by the map of node 2 */
static uint64_t revisions[2];             /* of the maps */

static struct end *end_of(uint32_t node)
{
    return &ends[node - 1];
}

/* ---- the link ---- */

static void change(bool up)
{
    pthread_mutex_lock(&mutex);
    link_number++;
    link_up = up;
    pthread_mutex_unlock(&mutex);
}

void two_nodes_cut(void)
{
    change(false);
}

void two_nodes_mend(void)
{
    change(true);
}

unsigned two_nodes_frames(void)
{
    unsigned count;

    pthread_mutex_lock(&mutex);
    count = sent;
    pthread_mutex_unlock(&mutex);
    return count;
}

static int put(struct end *to, const struct cluster_frame *header, struct rapahub_bytes body)
{
    struct frame *frame = &to->frames[to->last % FRAMES];

    if (to->last - to->first == FRAMES)
        return rapahub_fail(RAPAHUB_EFULL, "", "the link is full");
    *frame = (struct frame){link_number, *header, malloc(body.size + 1)};
    assert_non_null(frame->bytes);
    memcpy(frame->bytes, body.data, body.size);
    to->last++;
    sent++;
    return 0;
}

static int send_frame(void *user, uint32_t node, const struct cluster_frame *header,
                      struct rapahub_bytes body)
{
    const struct end *from = user;
    int status = -ENOTCONN;

    pthread_mutex_lock(&mutex);
    if (from->up && from->told == link_number)
        status = put(end_of(node), header, body);
    pthread_mutex_unlock(&mutex);
    return status < 0 ? rapahub_fail(status, "", "a frame is not sent") : 0;
}

static void end_link(void *user, uint32_t node)
{
    (void)user;
    (void)node;
    two_nodes_cut();
}

/* Takes the first frame that goes to this end; the others have left over an earlier link. */
static bool take(struct end *end, struct frame *out)
{
    bool found = false;

    pthread_mutex_lock(&mutex);
    while (!found && end->first != end->last) {
        *out = end->frames[end->first++ % FRAMES];
        found = end->up && end->told == link_number && out->link == link_number;
        if (!found)
            free(out->bytes);
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

static void tell_link(struct end *end, uint32_t other)
{
    struct cluster_peering *peering = end->runner->peering;
    bool was_up, changed;
    uint64_t session;

    pthread_mutex_lock(&mutex);
    was_up = end->up;
    changed = end->told != link_number;
    session = end_of(other)->session;
    if (changed) {
        end->told = link_number;
        end->up = link_up && session != 0;
    }
    pthread_mutex_unlock(&mutex);
    if (changed && was_up)
        cluster_peering_lost(peering, other);
    if (changed && end->up)
        cluster_peering_up(peering, other, session, 1);
}

static void note_map(const struct cluster_runner *runner, uint32_t node)
{
    const struct cluster_dispatch *parts = cluster_core_parts(runner->core);
    const struct cluster_address *address = cluster_address_map_find(parts->map, POOL, 1);

    pthread_mutex_lock(&mutex);
    revisions[node - 1] = parts->catch_up.revision;
    if (node == 2 && address)
        entry_of_two = address->entry;
    pthread_mutex_unlock(&mutex);
}

int __real_cluster_runner_turn(struct cluster_runner *runner);
int __wrap_cluster_runner_turn(struct cluster_runner *runner);

int __wrap_cluster_runner_turn(struct cluster_runner *runner)
{
    uint32_t node = runner->boot->folder.node, other = 3 - node;
    struct end *end = end_of(node);
    struct frame frame;

    pthread_mutex_lock(&mutex);
    end->runner = runner;
    end->session = runner->boot->session;
    runner->links = (struct cluster_peering_links){send_frame, end_link, end};
    pthread_mutex_unlock(&mutex);
    tell_link(end, other);
    while (take(end, &frame)) {
        if (cluster_peering_frame(runner->peering, other, &frame.header,
                                  (struct rapahub_bytes){frame.bytes, frame.header.body_size}) < 0)
            two_nodes_cut();
        free(frame.bytes);
    }
    note_map(runner, node);
    return __real_cluster_runner_turn(runner);
}

/* ---- the nodes ---- */

static void apply(struct living *on, const char *name, uint32_t containers)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    const struct cluster_pool_spec spec = {.name = rapahub_string_of(name),
                                           .module = rapahub_string_of("chained"),
                                           .version = rapahub_string_of("1.0.0"),
                                           .digest = {digest, CLUSTER_DIGEST_SIZE},
                                           .containers = containers,
                                           .durability = CLUSTER_DURABILITY_NONE};
    uint64_t operation = 0;

    assert_done(living_push(on, MODULE("chained"), digest));
    assert_done(living_apply(on, &spec, &operation));
    assert_done(living_wait(on, operation));
}

static bool is_behind(void)
{
    bool behind;

    pthread_mutex_lock(&mutex);
    behind = revisions[1] <= revisions[0];
    pthread_mutex_unlock(&mutex);
    return behind;
}

/* A node waits with a call until its map is as new as that of its sender. */
static void catch_up(struct living *two)
{
    while (is_behind()) {
        apply(two, "other", 1);
        assert_done(living_delete(two, "other"));
    }
}

/* A folder that has its number is set up with it. */
static void begin_two(struct living *two)
{
    struct cluster_note_file note = {.uuid = "the second node", .numbers = {2}, .count = 1};
    struct cluster_files_folder folder;

    living_make(two);
    assert_int_equal(mkdir(two->folder, 0700), 0);
    assert_done(
        cluster_files_open_folder(&cluster_files_system, NULL, two->folder, false, &folder));
    assert_done(cluster_note_file_write(&folder, "node.id", &note));
    cluster_files_close_folder(&folder);
    living_start(two);
}

static struct cluster_entry read_entry(void)
{
    struct cluster_entry entry;

    pthread_mutex_lock(&mutex);
    entry = entry_of_two;
    pthread_mutex_unlock(&mutex);
    assert_int_equal(entry.owner, 2);
    return entry;
}

static void put_entry(const struct cluster_boot *boot, const struct cluster_entry *entry)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_ENTRY, .pool = POOL, .container = 1};
    const struct cluster_delta_change change = {
        .pool = POOL, .container = 1, .owner_before = 1, .entry = *entry};
    const struct cluster_delta delta = {.previous = boot->map.revision,
                                        .changes = {.of = &change, .count = 1}};
    struct cluster_store_keys_put put;
    uint8_t bytes[1024];
    struct cluster_write writes[2];
    struct hub_writer writer;
    uint64_t rev;
    int status;

    assert_done(cluster_store_keys_build(&key, &(struct cluster_record){.entry = *entry}, &put));
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_done(cluster_delta_put(&writer, &delta));
    writes[0] = (struct cluster_write){CLUSTER_PUT, put.key_bytes, put.value_bytes};
    writes[1] = (struct cluster_write){CLUSTER_PUT, {"/c/log", 6}, {bytes, writer.size}};
    assert_done(cluster_store_wait_txn(
        &(struct cluster_store_wait){
            .store = boot->store, .marker = boot->marker, .wait_ns = boot->wait_ns, .url = "store"},
        &(struct cluster_txn){.then = writes, .then_count = 2}, &status, &rev));
    assert_int_equal(status, CLUSTER_TXN_OK);
}

/* Container 1 goes to node 2 while node 1 is down. */
static void give_away(struct living *one)
{
    static const struct cluster_metastore_end *const stores[] = {&cluster_sqlite_end, NULL};
    const struct cluster_boot_options how = {.data = one->folder, .ends = stores};
    const struct cluster_entry entry = read_entry();
    struct cluster_boot boot;

    assert_done(cluster_boot_run(&how, &boot));
    put_entry(&boot, &entry);
    assert_done(cluster_boot_end_session(&boot));
    cluster_boot_close(&boot);
}

static void forget(uint32_t node)
{
    pthread_mutex_lock(&mutex);
    end_of(node)->session = 0;
    end_of(node)->up = false;
    pthread_mutex_unlock(&mutex);
}

void two_nodes_begin(struct two_nodes *on)
{
    two_nodes_cut();
    begin_two(&on->two);
    apply(&on->two, "store", 2);
    living_begin(&on->one);
    apply(&on->one, "store", 2);
    on->pool = living_pool(&on->one, "store");
    assert_int_equal((uint64_t)on->pool.major << 32 | on->pool.minor, POOL);
    living_stop(&on->one, true);
    forget(1);
    give_away(&on->one);
    living_start(&on->one);
    while (atomic_load(&on->one.came) < 3) /* container 0 has begun again */
        pause_ms(1);
    catch_up(&on->two);
    two_nodes_mend();
}

void two_nodes_end(struct two_nodes *on)
{
    two_nodes_cut();
    living_end(&on->one);
    living_end(&on->two);
    forget(1);
    forget(2);
    for (unsigned i = 0; i < 2; i++)
        while (ends[i].first != ends[i].last)
            free(ends[i].frames[ends[i].first++ % FRAMES].bytes);
}
