/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/store_stage.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "tests/metastore/oracle.h"
#include "tests/support/testing.h"

#define WAIT_NS (20 * HUB_SECOND)

static uint64_t last_seq;

struct rapahub_bytes store_stage_bytes(const char *text)
{
    return (struct rapahub_bytes){text, strlen(text)};
}

struct cluster_txn_id store_stage_id(void)
{
    return (struct cluster_txn_id){cluster_txn_client(1, 1), ++last_seq};
}

int store_stage_try(struct store_stage *stage, bool create)
{
    const struct cluster_metastore_end *const ends[] = {stage->end, NULL};
    const struct cluster_metastore_options options = {.create = create};

    return cluster_metastore_open(ends, stage->url, &options, &stage->store);
}

void store_stage_begin(struct store_stage *stage, const struct cluster_metastore_end *end,
                       const char *parent)
{
    memset(stage, 0, sizeof *stage);
    stage->end = end;
    stage->now_ns = 1;
    snprintf(stage->folder, sizeof stage->folder, "%s/metastore.XXXXXX",
             parent ? parent : "/dev/shm");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->url, sizeof stage->url, "%s:%s/meta.db", end->scheme, stage->folder);
    stage->path = strchr(stage->url, ':') + 1;
    oracle_reset();
    if (store_stage_try(stage, true) != 0)
        fail_msg("%s", rapahub_last_error()->text);
}

void store_stage_close(struct store_stage *stage)
{
    cluster_metastore_close(stage->store);
    stage->store = NULL;
}

void store_stage_reopen(struct store_stage *stage)
{
    store_stage_close(stage);
    if (store_stage_try(stage, false) != 0)
        fail_msg("%s", rapahub_last_error()->text);
}

void store_stage_end(struct store_stage *stage)
{
    char path[STORE_STAGE_PATH_MAX + 256];
    const struct dirent *entry;
    DIR *folder;

    store_stage_close(stage);
    oracle_reset();
    folder = opendir(stage->folder);
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s", stage->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (folder)
        closedir(folder);
    rmdir(stage->folder);
}

static void step(struct store_stage *stage, int ms)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(stage->store), .events = POLLIN};
    uint64_t next;

    poll(&fd, 1, ms);
    cluster_metastore_step(stage->store, stage->now_ns, &next);
}

void store_stage_wait(struct store_stage *stage, const struct store_answer *answer)
{
    uint64_t deadline = hub_clock_after(WAIT_NS);

    while (answer->ends == 0 && hub_clock_left(deadline) > 0)
        step(stage, 10);
    assert_int_equal(answer->ends, 1);
}

bool store_stage_until(struct store_stage *stage, const size_t *counter, size_t least, int ms)
{
    uint64_t deadline = hub_clock_after((uint64_t)ms * HUB_MILLISECOND);

    do
        step(stage, 5);
    while (*counter < least && hub_clock_left(deadline) > 0);
    return *counter >= least;
}

static void copy_pairs(struct store_answer *answer, const struct cluster_pair *pairs, size_t count)
{
    answer->count = count;
    for (size_t i = 0; i < count && i < STORE_STAGE_PAIRS_MAX; i++) {
        struct store_stage_pair *to = &answer->pairs[i];
        const struct cluster_pair *pair = &pairs[i];

        *to = (struct store_stage_pair){.key_size = pair->key.size,
                                        .value_size = pair->value.size,
                                        .create_rev = pair->create_rev,
                                        .mod_rev = pair->mod_rev,
                                        .version = pair->version};
        if (pair->key.size < sizeof to->key)
            memcpy(to->key, pair->key.data, pair->key.size);
        if (pair->value.size > 0 && pair->value.size < sizeof to->value)
            memcpy(to->value, pair->value.data, pair->value.size);
    }
}

void store_stage_on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                        size_t count)
{
    struct store_answer *answer = user;

    answer->ends++;
    answer->status = status;
    answer->rev = rev;
    copy_pairs(answer, gets, count);
}

void store_stage_on_range(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    store_stage_on_txn(user, status, rev, page->pairs, page->count);
    ((struct store_answer *)user)->more = page->more;
}

void store_stage_on_stale(void *user, int status, const struct cluster_pair *pairs, size_t count)
{
    store_stage_on_txn(user, status, 0, pairs, count);
}

struct store_answer store_stage_run(struct store_stage *stage, const struct cluster_txn *txn)
{
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_submit(stage->store, txn, store_stage_on_txn, &answer), 0);
    store_stage_wait(stage, &answer);
    return answer;
}

static struct store_answer write_one(struct store_stage *stage, enum cluster_write_kind kind,
                                     const char *key, const char *value)
{
    const struct cluster_write write = {kind, store_stage_bytes(key), store_stage_bytes(value)};

    return store_stage_run(
        stage, &(struct cluster_txn){.id = store_stage_id(), .then = &write, .then_count = 1});
}

struct store_answer store_stage_put(struct store_stage *stage, const char *key, const char *value)
{
    return write_one(stage, CLUSTER_PUT, key, value);
}

struct store_answer store_stage_delete(struct store_stage *stage, const char *key)
{
    return write_one(stage, CLUSTER_DELETE, key, "");
}

struct store_answer store_stage_range(struct store_stage *stage, const char *from, const char *to,
                                      uint64_t rev, uint32_t most)
{
    const struct cluster_span span = {store_stage_bytes(from), store_stage_bytes(to), rev, most};
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_range(stage->store, &span, store_stage_on_range, &answer),
                     0);
    store_stage_wait(stage, &answer);
    return answer;
}

struct store_answer store_stage_sync(struct store_stage *stage)
{
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_sync(stage->store, store_stage_on_txn, &answer), 0);
    store_stage_wait(stage, &answer);
    return answer;
}

struct store_answer store_stage_compact(struct store_stage *stage, uint64_t before)
{
    struct store_answer answer = {0};

    assert_int_equal(cluster_metastore_compact(stage->store, before, store_stage_on_txn, &answer),
                     0);
    store_stage_wait(stage, &answer);
    return answer;
}
