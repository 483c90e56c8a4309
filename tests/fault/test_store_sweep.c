/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL between any two system calls of a process that has a metastore; then the store is opened
 * again: what was told as done is there, anything else is there wholly or not at all, and a
 * transaction that is sent again has been done once. --every looks at each point. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/fault/syscall_sweep.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define TXNS     6
#define TOGETHER 4 /* the first of them are submitted together */
#define KEYS     3 /* of each, and a counter that all of them write */
#define FROM     "/"
#define TO       "0"

/* Told by the callbacks of the process that dies. */
struct told {
    struct {
        int ends, status;
        uint64_t rev;
    } of[TXNS];
};

struct test {
    struct store_stage stage;
    struct told *told; /* shared */
    char backup[STORE_STAGE_PATH_MAX];
};

static void on_txn(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct told *told = user;
    size_t at = 0;

    (void)gets;
    (void)count;
    while (told->of[at].ends != 0)
        at++;
    told->of[at].status = status;
    told->of[at].rev = rev;
    told->of[at].ends = 1;
}

static void step(struct cluster_metastore *store)
{
    struct pollfd fd = {.fd = cluster_metastore_fd(store), .events = POLLIN};
    uint64_t next;

    poll(&fd, 1, -1); /* the sweep ends it */
    cluster_metastore_step(store, 1, &next);
}

/* Only in the process that dies. */
static void open_store(struct test *test)
{
    if (store_stage_try(&test->stage, true) != 0)
        _exit(98);
}

/* Transaction `number` puts its keys and the counter; its last one finds a conflict. */
static int submit(struct cluster_metastore *store, unsigned number, cluster_on_txn *call,
                  void *user)
{
    char keys[KEYS][16];
    struct cluster_write puts[KEYS + 1];
    const struct cluster_compare absent = {CLUSTER_ABSENT, store_stage_bytes("/old"), {0}, 0};
    struct cluster_txn txn = {.id = {cluster_txn_client(3, 1), number + 1},
                              .compares = &absent,
                              .compares_count = number == TXNS - 1,
                              .then = puts,
                              .then_count = KEYS + 1};

    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "/t%u/%u", number, i);
        puts[i] =
            (struct cluster_write){CLUSTER_PUT, store_stage_bytes(keys[i]), store_stage_bytes("v")};
    }
    puts[KEYS] =
        (struct cluster_write){CLUSTER_PUT, store_stage_bytes("/count"), store_stage_bytes("v")};
    return cluster_metastore_submit(store, &txn, call, user);
}

static void until(const struct test *test, unsigned ended)
{
    while (test->told->of[ended - 1].ends == 0)
        step(test->stage.store);
}

static void commit(void *user)
{
    struct test *test = user;

    open_store(test);
    for (unsigned i = 0; i < TXNS; i++) {
        submit(test->stage.store, i, on_txn, test->told);
        if (i + 1 >= TOGETHER)
            until(test, i + 1);
    }
    cluster_metastore_close(test->stage.store);
}

static void set_up(void *user)
{
    struct test *test = user;

    memset(test->told, 0, sizeof *test->told);
    store_stage_begin(&test->stage, &cluster_sqlite_end, NULL);
    snprintf(test->backup, sizeof test->backup, "%s/backup.db", test->stage.folder);
    store_stage_put(&test->stage, "/old", "1");
    store_stage_put(&test->stage, "/old", "2");
    store_stage_close(&test->stage);
}

static void set_up_nothing(void *user)
{
    struct test *test = user;

    set_up(test);
    unlink(test->stage.path);
}

/* The keys of one transaction: all of them of one revision, or none. */
static const char *look_at_keys(struct test *test, unsigned number, bool *out_there)
{
    char from[16], to[16];
    struct store_answer found;

    snprintf(from, sizeof from, "/t%u/", number);
    snprintf(to, sizeof to, "/t%u0", number);
    found = store_stage_range(&test->stage, from, to, 0, 10);
    *out_there = found.count == KEYS;
    if (found.count != 0 && found.count != KEYS)
        return "a transaction is there in part";
    for (size_t i = 1; i < found.count; i++)
        if (found.pairs[i].mod_rev != found.pairs[0].mod_rev || found.pairs[i].version != 1)
            return "the keys of a transaction are of several revisions";
    return NULL;
}

/* Callbacks come in the order of the transactions. */
static const char *look_at_told(struct test *test)
{
    for (unsigned i = 0; i < TXNS; i++) {
        bool there, told = test->told->of[i].ends != 0;
        const char *wrong = look_at_keys(test, i, &there);

        if (wrong)
            return wrong;
        if (i == TXNS - 1 && there)
            return "a conflict has written";
        if (i == TXNS - 1 && told && test->told->of[i].status != CLUSTER_TXN_CONFLICT)
            return "a conflict was told otherwise";
        if (i < TXNS - 1 && told && (!there || test->told->of[i].status != CLUSTER_TXN_OK))
            return "a transaction that was told as done is not there";
    }
    return NULL;
}

static const char *send_again(struct test *test)
{
    struct store_answer counter;

    for (unsigned i = 0; i < TXNS; i++) {
        struct store_answer answer = {0};

        submit(test->stage.store, i, store_stage_on_txn, &answer);
        store_stage_wait(&test->stage, &answer);
        if (answer.status != (i == TXNS - 1 ? CLUSTER_TXN_CONFLICT : CLUSTER_TXN_OK))
            return "a transaction that was sent again has another outcome";
        if (test->told->of[i].ends != 0 && answer.rev != test->told->of[i].rev)
            return "a transaction that was sent again has another revision";
    }
    counter = store_stage_range(&test->stage, "/count", "/count0", 0, 1);
    if (counter.count != 1 || counter.pairs[0].version != TXNS - 1)
        return "a transaction was done twice, or never";
    return look_at_told(test);
}

static const char *check_commit(void *user, bool finished)
{
    struct test *test = user;
    const char *wrong;

    if (finished && test->told->of[TXNS - 1].ends == 0)
        return "it finished early";
    if (store_stage_try(&test->stage, false) != 0)
        return "it cannot be opened";
    wrong = look_at_told(test);
    if (!wrong)
        wrong = send_again(test);
    store_stage_end(&test->stage);
    return wrong;
}

static void create(void *user)
{
    struct test *test = user;

    open_store(test);
    cluster_metastore_close(test->stage.store);
}

static const char *check_create(void *user, bool finished)
{
    struct test *test = user;
    const char *wrong = NULL;

    if (store_stage_try(&test->stage, !finished) != 0)
        return "it cannot be opened";
    if (store_stage_sync(&test->stage).rev != 0 ||
        store_stage_put(&test->stage, "/a", "1").rev != 1)
        wrong = "a new store is not empty";
    store_stage_end(&test->stage);
    return wrong;
}

static void compact(void *user)
{
    struct test *test = user;

    open_store(test);
    cluster_metastore_compact(test->stage.store, 2, on_txn, test->told);
    until(test, 1);
    cluster_metastore_close(test->stage.store);
}

static const char *check_compact(void *user, bool finished)
{
    struct test *test = user;
    struct store_answer past, now;
    const char *wrong = NULL;

    (void)finished;
    if (store_stage_try(&test->stage, false) != 0)
        return "it cannot be opened";
    past = store_stage_range(&test->stage, FROM, TO, 1, 10);
    now = store_stage_range(&test->stage, FROM, TO, 2, 10);
    if (now.count != 1 || now.pairs[0].version != 2)
        wrong = "the store is not what it was";
    else if (past.status == CLUSTER_TXN_OK && (past.count != 1 || past.pairs[0].version != 1))
        wrong = "the past is not what it was";
    else if (test->told->of[0].ends != 0 && past.status != CLUSTER_TXN_COMPACTED)
        wrong = "a compaction that was told as done is undone";
    else if (store_stage_compact(&test->stage, 2).status != CLUSTER_TXN_OK)
        wrong = "it cannot be compacted again";
    store_stage_end(&test->stage);
    return wrong;
}

static void back_up(void *user)
{
    struct test *test = user;

    open_store(test);
    cluster_metastore_backup(test->stage.store, test->backup, on_txn, test->told);
    until(test, 1);
    cluster_metastore_close(test->stage.store);
}

static const char *check_backup(void *user, bool finished)
{
    struct test *test = user;
    const char *wrong = NULL;
    struct stat stat_of;
    bool there = stat(test->backup, &stat_of) == 0;

    (void)finished;
    if (!there && test->told->of[0].ends != 0)
        wrong = "a backup that was told as done is not there";
    if (there) {
        unlink(test->stage.path);
        rename(test->backup, test->stage.path);
        if (store_stage_try(&test->stage, false) != 0)
            return "a backup cannot be opened";
        if (store_stage_range(&test->stage, FROM, TO, 1, 10).count != 1 ||
            store_stage_range(&test->stage, FROM, TO, 0, 10).pairs[0].version != 2)
            wrong = "a backup is not what the store was";
    }
    store_stage_end(&test->stage);
    return wrong;
}

static void sweep(const struct syscall_sweep *what)
{
    struct test test = {.told = syscall_sweep_share(sizeof(struct told))};
    struct syscall_sweep one = *what;

    one.user = &test;
    syscall_sweep_whole(&one, 10);
    munmap(test.told, sizeof(struct told));
}

/* r[verify cluster.store.atomic] r[verify cluster.store.outcome] */
static void a_process_dies_while_it_commits(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){
        .name = "metastore, commits", .setup = set_up, .operate = commit, .check = check_commit});
}

static void a_process_dies_while_it_sets_up_a_store(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){.name = "metastore, first start",
                                  .setup = set_up_nothing,
                                  .operate = create,
                                  .check = check_create});
}

/* r[verify cluster.store.range] */
static void a_process_dies_while_it_compacts(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){.name = "metastore, compaction",
                                  .setup = set_up,
                                  .operate = compact,
                                  .check = check_compact});
}

static void a_process_dies_while_it_writes_a_backup(void **state)
{
    (void)state;
    sweep(&(struct syscall_sweep){
        .name = "metastore, backup", .setup = set_up, .operate = back_up, .check = check_backup});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_dies_while_it_commits),
        cmocka_unit_test(a_process_dies_while_it_sets_up_a_store),
        cmocka_unit_test(a_process_dies_while_it_compacts),
        cmocka_unit_test(a_process_dies_while_it_writes_a_backup),
    };

    syscall_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
