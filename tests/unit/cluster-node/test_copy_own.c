/* SPDX-License-Identifier: Apache-2.0 */
/* A life begins, and the file of the own copies was cut: others may have a newer one. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/holders/copy_fetches.h"
#include "cluster/node/holders/copy_own.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/unit/cluster-node/holders_stage.h"

#define LIFE (TOKEN + 1) /* that begins */

static struct cluster_copy_fetches *fetches;
static struct thread_stage *thread;
static struct {
    unsigned count;
    int status;
} ended;

static void keep(uint64_t seq, uint64_t base)
{
    const struct cluster_disk_container container = {POOL, CONTAINER};
    struct thread_answer answer = {0};
    struct cluster_copy copy = {.token = TOKEN,
                                .seq = seq,
                                .base_token = base ? TOKEN : 0,
                                .base_seq = base,
                                .state = {calloc(1, 100), 100}};

    assert_int_equal(
        cluster_copy_jobs_write(thread->thread, container, &copy, thread_stage_on_done, &answer),
        0);
    thread_stage_wait(thread, &answer);
    assert_int_equal(answer.result.status, 0);
    assert_false(answer.result.whole);
}

/* The last bytes of the file are lost while the node is down. */
static void cut_own(void)
{
    char path[512];
    struct stat file;

    thread_stage_stop(thread, true, hub_clock_after(60 * HUB_SECOND));
    snprintf(path, sizeof path, "%s/copies/%016llx.%08x.copy", thread->folder.path,
             (unsigned long long)POOL, (unsigned)CONTAINER);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(truncate(path, file.st_size - 1), 0);
    thread_stage_start(thread);
}

/* The own disk has copies 1 and 2 of a life, and has lost 3. Node 2 is another holder. */
static int begin(void **state)
{
    int status = thread_stage_begin(state);

    thread = *state;
    core_begin();
    memset(&ended, 0, sizeof ended);
    core_put_entry(OWN, EPOCH);
    keep(1, 0);
    keep(2, 1);
    keep(3, 2);
    cut_own();
    HOLDERS(0, OWN, 2);
    assert_int_equal(cluster_copy_fetches_create(core, NULL, thread->thread, &fetches), 0);
    return status;
}

static int end(void **state)
{
    struct cluster_store_thread_stats stats = {.open = 1};

    cluster_copy_fetches_stop(fetches);
    while (stats.open > 0) {
        thread_stage_step(thread, 10);
        cluster_store_thread_stats(thread->thread, &stats);
    }
    cluster_copy_fetches_release(&fetches);
    core_end();
    return thread_stage_end(state);
}

static void on_done(void *user, int status, const char *text)
{
    (void)user;
    (void)text;
    ended.count++;
    ended.status = status;
}

static void want(void)
{
    const struct cluster_copy_fetch_order order = {.pool = POOL,
                                                   .container = CONTAINER,
                                                   .token = LIFE,
                                                   .deadline_ns = hub_clock_after(600 * HUB_SECOND),
                                                   .on_done = on_done};

    assert_int_equal(cluster_copy_fetches_begin(fetches, &order), 1);
}

static void step(void)
{
    thread_stage_step(thread, 5);
    (void)cluster_copy_fetches_step(fetches, hub_clock_now());
}

static void await_sent(unsigned count)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (links.count < count && hub_clock_left(until_ns) > 0)
        step();
    assert_int_equal(links.count, count);
}

static void await_end(int status)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (ended.count == 0 && hub_clock_left(until_ns) > 0)
        step();
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.status, status);
}

static void say(uint64_t seq)
{
    const struct cluster_body_copy_sealed sealed = {.pool = POOL,
                                                    .container = CONTAINER,
                                                    .seal = LIFE,
                                                    .token = seq ? TOKEN : 0,
                                                    .seq = seq,
                                                    .size = seq ? 500 : 0};

    assert_int_equal(cluster_copy_fetches_sealed(fetches, 2, &sealed), 0);
}

/* r[verify cluster.copy.cut] */
static void a_newer_one_of_another_holder_is_fetched(void **state)
{
    (void)state;
    links.up[2] = true;
    want();
    await_sent(1);
    assert_int_equal(links_body(0, CLUSTER_FRAME_COPY_SEAL, 2).copy_seal.seal, LIFE);
    say(3);
    await_sent(2);
    assert_int_equal(links_body(1, CLUSTER_FRAME_COPY_ASK, 2).copy_ask.seq, 3);
    links.up[2] = false;
    cluster_copy_fetches_lost(fetches, 2);
    (void)cluster_copy_fetches_step(fetches, hub_clock_after(2 * CLUSTER_COPY_OWN_NS));
    assert_int_equal(ended.count, 0); /* the own one is older, and is not taken any more */
}

/* r[verify cluster.copy.cut] */
static void one_that_is_as_new_is_left_alone(void **state)
{
    (void)state;
    links.up[2] = true;
    want();
    await_sent(1);
    say(2);
    await_end(0);
    assert_int_equal(links.count, 1);
}

/* r[verify cluster.copy.cut] */
static void nor_is_a_holder_waited_for_that_has_none(void **state)
{
    (void)state;
    links.up[2] = true;
    want();
    await_sent(1);
    say(0);
    await_end(0);
}

/* r[verify cluster.copy.cut] */
static void one_that_cannot_be_reached_is_not_waited_for_long(void **state)
{
    uint64_t begun_ns = hub_clock_now();

    (void)state;
    want();
    await_end(0);
    assert_true(hub_clock_now() - begun_ns >= CLUSTER_COPY_OWN_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_newer_one_of_another_holder_is_fetched, begin, end),
        cmocka_unit_test_setup_teardown(one_that_is_as_new_is_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(nor_is_a_holder_waited_for_that_has_none, begin, end),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_reached_is_not_waited_for_long, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
