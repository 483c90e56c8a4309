/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/random_ops.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/marker.h"
#include "hub/base/clock.h"
#include "tests/metastore/oracle.h"
#include "tests/metastore/random_txn.h"
#include "tests/metastore/unsure.h"

#define AT_ONCE_MAX 16
#define WATCHES     4
#define WAIT_NS     (20 * HUB_SECOND)
#define STEP_NS     (60 * HUB_MILLISECOND) /* of the time that the store is told */

enum side { SUBJECT, ORACLE, SIDES };

struct answer { /* with a hash of what came */
    bool done, more;
    int status;
    uint64_t rev, count, hash;
};

struct watch {
    bool open;
    uint64_t number[SIDES];
    struct answer told[SIDES];
};

struct world {
    const struct random_ops *ops;
    struct random_txn_source source;
    struct cluster_metastore *store[SIDES], *unsure;
    struct cluster_marker *marker;
    struct answer answers[SIDES][AT_ONCE_MAX];
    struct watch watches[WATCHES];
    uint64_t own_seq;
    uint64_t now_ns, done;
    uint64_t outcomes[CLUSTER_TXN_STATUSES], changes, reopened, compacted, cut_off;
    char text[256]; /* the first difference */
};

static void mix(uint64_t *hash, const void *data, size_t size)
{
    const uint8_t *at = data;

    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static void mix_number(uint64_t *hash, uint64_t number)
{
    mix(hash, &number, sizeof number);
}

static void mix_pair(uint64_t *hash, const struct cluster_pair *pair)
{
    mix_number(hash, pair->key.size);
    mix(hash, pair->key.data, pair->key.size);
    mix_number(hash, pair->value.size);
    mix(hash, pair->value.data, pair->value.size);
    mix_number(hash, pair->create_rev);
    mix_number(hash, pair->mod_rev);
    mix_number(hash, pair->version);
}

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct answer *answer = user;

    answer->done = true;
    answer->status = status;
    answer->rev = rev;
    answer->count = count;
    for (size_t i = 0; i < count; i++)
        mix_pair(&answer->hash, &gets[i]);
}

static void on_range(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    on_txn(user, status, rev, page->pairs, page->count);
    ((struct answer *)user)->more = page->more;
}

static void on_stale(void *user, int status, const struct cluster_pair *pairs, size_t count)
{
    on_txn(user, status, 0, pairs, count);
}

/* Marks are not compared. */
static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct answer *told = user;

    if (status != CLUSTER_TXN_OK) {
        told->done = true;
        told->status = status;
        return;
    }
    if (count == 0)
        return;
    mix_number(&told->hash, rev);
    mix_number(&told->hash, count);
    told->count += count;
    for (size_t i = 0; i < count; i++) {
        mix_pair(&told->hash, &changes[i].pair);
        mix_number(&told->hash, changes[i].prev_mod);
        mix_number(&told->hash, changes[i].deleted);
    }
}

static void step(struct world *world, int ms)
{
    struct cluster_metastore *subject = world->unsure ? world->unsure : world->store[SUBJECT];
    struct pollfd fd = {.fd = cluster_metastore_fd(subject), .events = POLLIN};
    uint64_t next;

    poll(&fd, 1, ms);
    world->now_ns += STEP_NS;
    cluster_metastore_step(subject, world->now_ns, &next);
    if (world->marker)
        cluster_marker_step(world->marker, world->now_ns, &next);
    cluster_metastore_step(world->store[ORACLE], world->now_ns, &next);
}

__attribute__((format(printf, 2, 3))) static int differ(struct world *world, const char *format,
                                                        ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(world->text, sizeof world->text, format, arguments);
    va_end(arguments);
    return -1;
}

static int compare(struct world *world, const char *what, const struct answer *one,
                   const struct answer *other)
{
    if (one->done == other->done && one->status == other->status && one->rev == other->rev &&
        one->more == other->more && one->count == other->count && one->hash == other->hash)
        return 0;
    return differ(world,
                  "%s: %s at %" PRIu64 ", %" PRIu64 " items (%016" PRIx64
                  "); the oracle: %s at %" PRIu64 ", %" PRIu64 " items (%016" PRIx64 ")",
                  what, cluster_txn_status_name((uint32_t)one->status), one->rev, one->count,
                  one->hash, cluster_txn_status_name((uint32_t)other->status), other->rev,
                  other->count, other->hash);
}

/* A watch that was behind a compaction when its link was cut has ended, and says so. */
static bool was_cut_off(struct world *world, struct watch *watch)
{
    if (!world->ops->cut || watch->told[ORACLE].done ||
        watch->told[SUBJECT].status != CLUSTER_TXN_COMPACTED)
        return false;
    cluster_metastore_unwatch(world->store[ORACLE], watch->number[ORACLE]);
    watch->open = false;
    world->cut_off++;
    return true;
}

/* Until both sides have told the same number of changes, or differ. */
static int settle(struct world *world)
{
    uint64_t deadline = hub_clock_after(WAIT_NS);

    for (unsigned i = 0; i < WATCHES; i++) {
        struct answer *told = world->watches[i].told;

        if (!world->watches[i].open)
            continue;
        step(world, 0);
        while (
            (told[SUBJECT].count < told[ORACLE].count || told[SUBJECT].done != told[ORACLE].done) &&
            !was_cut_off(world, &world->watches[i]) && hub_clock_left(deadline) > 0)
            step(world, 1);
        if (!world->watches[i].open)
            continue;
        if (compare(world, "a watch", &told[SUBJECT], &told[ORACLE]) != 0)
            return -1;
    }
    return 0;
}

static void look_at_revision(struct world *world)
{
    struct cluster_metastore_stats stats;

    cluster_metastore_stats(world->store[ORACLE], &stats);
    world->source.revision = stats.revision;
}

static int submit(struct world *world, unsigned at)
{
    struct random_txn parts;
    struct answer *subject = &world->answers[SUBJECT][at], *oracle = &world->answers[ORACLE][at];
    int r;

    look_at_revision(world);
    random_txn_make(&world->source, &parts);
    if (world->marker) {
        r = cluster_marker_submit(world->marker, &parts.txn, on_txn, subject);
        parts.txn.id = (struct cluster_txn_id){cluster_txn_client(9, 1), ++world->own_seq};
    } else {
        parts.txn.id = random_txn_id(&world->source);
        r = cluster_metastore_submit(world->store[SUBJECT], &parts.txn, on_txn, subject);
    }
    if (r == 0)
        r = cluster_metastore_submit(world->store[ORACLE], &parts.txn, on_txn, oracle);
    return r == 0 ? 0 : differ(world, "submit: %s", rapahub_last_error()->text);
}

static int read_span(struct world *world, unsigned at)
{
    struct random_txn parts;
    struct cluster_span span;
    int r = 0;

    look_at_revision(world);
    span = random_txn_span(&world->source, &parts);
    for (unsigned side = 0; side < SIDES && r == 0; side++)
        r = span.pairs_max % 3 == 0 ? cluster_metastore_peek(world->store[side], &span, on_stale,
                                                             &world->answers[side][at])
                                    : cluster_metastore_range(world->store[side], &span, on_range,
                                                              &world->answers[side][at]);
    return r == 0 ? 0 : differ(world, "range: %s", rapahub_last_error()->text);
}

static int one_of_a_batch(struct world *world, unsigned at)
{
    world->answers[SUBJECT][at] = world->answers[ORACLE][at] = (struct answer){0};
    if (random_txn_below(&world->source, 10) < 7)
        return submit(world, at);
    return read_span(world, at);
}

static int wait_for(struct world *world, unsigned count, const char *what)
{
    uint64_t deadline = hub_clock_after(WAIT_NS);

    for (unsigned i = 0; i < count; i++) {
        while (!world->answers[SUBJECT][i].done || !world->answers[ORACLE][i].done) {
            if (hub_clock_left(deadline) == 0)
                return differ(world, "%s %u has no end", what, i);
            step(world, world->unsure ? 0 : 1);
        }
        if (compare(world, what, &world->answers[SUBJECT][i], &world->answers[ORACLE][i]) != 0)
            return -1;
        world->outcomes[world->answers[ORACLE][i].status]++;
    }
    return 0;
}

static int batch(struct world *world)
{
    unsigned count = (unsigned)random_txn_below(&world->source, world->ops->at_once) + 1;
    int r = 0;

    for (unsigned i = 0; i < count && r == 0; i++)
        r = one_of_a_batch(world, i);
    world->done += count;
    return r == 0 ? wait_for(world, count, "an operation") : r;
}

static int compact(struct world *world)
{
    uint64_t before;
    int r = settle(world);

    look_at_revision(world);
    before = random_txn_revision(&world->source);
    world->answers[SUBJECT][0] = world->answers[ORACLE][0] = (struct answer){0};
    for (unsigned side = 0; side < SIDES && r == 0; side++)
        r = cluster_metastore_compact(world->store[side], before, on_txn, &world->answers[side][0]);
    world->compacted++;
    return r == 0 ? wait_for(world, 1, "a compaction") : r;
}

static int end_watch(struct world *world, struct watch *watch)
{
    int r = settle(world);

    for (unsigned side = 0; side < SIDES && watch->open; side++)
        cluster_metastore_unwatch(world->store[side], watch->number[side]);
    watch->open = false;
    world->changes += watch->told[SUBJECT].count;
    return r;
}

static int change_watch(struct world *world)
{
    struct watch *watch = &world->watches[random_txn_below(&world->source, WATCHES)];
    struct random_txn parts;
    struct cluster_span span;
    int r = 0;

    look_at_revision(world);
    span = random_txn_span(&world->source, &parts);
    if (watch->open)
        return end_watch(world, watch);
    if (world->ops->cut && span.rev > world->source.revision)
        span.rev = world->source.revision; /* one to come may have come once there is a link */
    *watch = (struct watch){.open = true};
    for (unsigned side = 0; side < SIDES && r == 0; side++)
        r = cluster_metastore_watch(world->store[side], &span, on_change, &watch->told[side],
                                    &watch->number[side]);
    return r == 0 ? 0 : differ(world, "watch: %s", rapahub_last_error()->text);
}

static int open_subject(struct world *world, const struct cluster_metastore_end *end,
                        const char *url)
{
    const struct cluster_metastore_end *const ends[] = {end, NULL};
    const struct cluster_metastore_options options = {.create = true, .keep_ns = UINT64_MAX / 2};
    int r = cluster_metastore_open(ends, url, &options, &world->store[SUBJECT]);

    return r == 0 ? 0 : differ(world, "open: %s", rapahub_last_error()->text);
}

static int reopen(struct world *world, const struct cluster_metastore_end *end, const char *url)
{
    int r = 0;

    if (world->unsure)
        return 0;
    for (unsigned i = 0; i < WATCHES && r == 0; i++)
        if (world->watches[i].open)
            r = end_watch(world, &world->watches[i]);
    cluster_metastore_close(world->store[SUBJECT]);
    world->store[SUBJECT] = NULL;
    world->reopened++;
    return r == 0 ? open_subject(world, end, url) : r;
}

static int run(struct world *world, const struct cluster_metastore_end *end, const char *url)
{
    int r = 0;

    while (world->done < world->ops->count && r == 0) {
        uint64_t what = random_txn_below(&world->source, 1000);

        if (what < 20)
            r = compact(world);
        else if (what < 120)
            r = change_watch(world);
        else if (what < 135)
            r = reopen(world, end, url);
        else
            r = batch(world);
    }
    return r == 0 ? settle(world) : r;
}

static void print(const struct world *world, int r)
{
    const struct random_ops *ops = world->ops;

    printf("metastore, random%s | seed %" PRIu64 " | %" PRIu64 " operations | OK %" PRIu64
           ", CONFLICT %" PRIu64 ", COMPACTED %" PRIu64 ", DENIED %" PRIu64 " | watched %" PRIu64
           " | compacted %" PRIu64 " | opened again %" PRIu64 " | differences %d\n",
           ops->unsure ? ", UNKNOWN at every tenth" : "", ops->seed, world->done,
           world->outcomes[CLUSTER_TXN_OK], world->outcomes[CLUSTER_TXN_CONFLICT],
           world->outcomes[CLUSTER_TXN_COMPACTED], world->outcomes[CLUSTER_TXN_DENIED],
           world->changes, world->compacted, world->reopened, r != 0);
    if (world->unsure) {
        struct unsure_counts counts = unsure_counts_of(world->unsure);

        printf("  of %" PRIu64 " sent: %" PRIu64 " dropped, %" PRIu64 " lost their answer, %" PRIu64
               " came late; %" PRIu64 " watches cut off\n",
               counts.sent, counts.dropped, counts.lost, counts.delayed, world->cut_off);
    }
    if (r != 0)
        printf("  %s\n", world->text);
}

static int run_in(struct world *world, const struct cluster_metastore_end *end, const char *folder)
{
    char url[256];
    int r;

    snprintf(url, sizeof url, "%s:%s/meta.db", end->scheme, folder);
    oracle_reset();
    oracle_end.open("oracle:", NULL, &world->store[ORACLE]);
    r = open_subject(world, end, url);
    if (r == 0 && world->ops->unsure) {
        world->unsure = unsure_open(world->store[SUBJECT], world->ops->seed);
        r = cluster_marker_open(world->unsure, cluster_txn_client(9, 1), &world->marker);
    }
    if (r == 0)
        r = run(world, end, url);
    print(world, r);
    cluster_metastore_close(world->store[SUBJECT]);
    cluster_metastore_close(world->unsure);
    cluster_marker_close(world->marker);
    cluster_metastore_close(world->store[ORACLE]);
    oracle_reset();
    unlink(strchr(url, ':') + 1);
    return r;
}

int random_ops_run(const struct cluster_metastore_end *end, const struct random_ops *ops)
{
    struct world *world = calloc(1, sizeof *world);
    char folder[] = "/dev/shm/metastore.XXXXXX";
    int r = -1;

    if (world && mkdtemp(folder)) {
        world->ops = ops;
        hub_random_init(&world->source.random, ops->seed);
        world->source.once = ops->unsure;
        r = run_in(world, end, folder);
        rmdir(folder);
    }
    free(world);
    return r;
}
