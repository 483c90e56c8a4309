/* SPDX-License-Identifier: Apache-2.0 */
/* Files of modules that come from another node, in parts, to a disk of their own; and that are
 * given. The link is the test's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/node/blobs/blob_fetches.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define LEAD  1
#define OTHER 3
#define SIZE  (2 * CLUSTER_BODY_PIECE_MAX + 5)

/* ---- the link ---- */

static struct sent {
    unsigned count, hung_up;
    uint8_t type; /* of the last frame */
    uint32_t to;
    uint64_t offset, size;
    int32_t status;
    uint8_t digest[CLUSTER_DIGEST_SIZE], part[CLUSTER_BODY_PIECE_MAX];
    size_t part_size;
    bool down;
} sent;

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body);
void __wrap_cluster_peer_links_hang_up(struct cluster_peer_links *self, uint32_t node);

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body)
{
    struct hub_writer writer;

    (void)self;
    if (sent.down)
        return rapahub_fail(-ENOTCONN, "", "no link");
    hub_writer_count(&writer);
    assert_int_equal(cluster_body_put(&writer, type, body), 0); /* it is sound */
    sent.count++;
    sent.type = type;
    sent.to = node;
    if (type == CLUSTER_FRAME_BLOB_ASK) {
        sent.offset = body->blob_ask.offset;
        memcpy(sent.digest, body->blob_ask.digest.data, sizeof sent.digest);
        return 0;
    }
    sent.offset = body->blob_part.offset;
    sent.size = body->blob_part.size;
    sent.status = body->blob_part.status;
    sent.part_size = body->blob_part.part.size;
    if (sent.part_size > 0)
        memcpy(sent.part, body->blob_part.part.data, sent.part_size);
    return 0;
}

void __wrap_cluster_peer_links_hang_up(struct cluster_peer_links *self, uint32_t node)
{
    (void)self;
    assert_int_equal(node, LEAD);
    sent.hung_up++;
}

/* ---- the stage ---- */

static uint8_t bytes[SIZE];

struct stage {
    struct thread_stage *thread;
    struct cluster_blob_fetches *fetches;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
};

static struct stage begin(void **state, uint32_t lead)
{
    struct stage stage = {.thread = *state};
    struct cluster_digest digest;

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * UINT64_C(2654435761) >> 13); /* no two parts are the same */
    assert_int_equal(cluster_digest_begin(&digest), 0);
    cluster_digest_add(&digest, bytes, SIZE);
    cluster_digest_end(&digest, stage.digest);
    sent = (struct sent){0};
    assert_int_equal(cluster_blob_fetches_create(NULL, stage.thread->thread, lead, &stage.fetches),
                     0);
    return stage;
}

static void end(struct stage *stage)
{
    struct cluster_store_thread_stats stats = {.open = 1};

    cluster_blob_fetches_stop(stage->fetches);
    while (stats.open > 0) {
        thread_stage_step(stage->thread, 10);
        cluster_store_thread_stats(stage->thread->thread, &stats);
    }
    cluster_blob_fetches_release(&stage->fetches);
}

/* Steps until the side has sent so many frames. */
static void await_sent(const struct stage *stage, unsigned count)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (sent.count < count && hub_clock_left(until_ns) > 0)
        thread_stage_step(stage->thread, 10);
    assert_int_equal(sent.count, count);
}

static void up(const struct stage *stage, uint32_t node)
{
    sent.down = false;
    cluster_blob_fetches_hooks.up(stage->fetches, node, 5, 1);
}

static void lose(const struct stage *stage, uint32_t node)
{
    sent.down = true;
    cluster_blob_fetches_hooks.lost(stage->fetches, node);
}

static void want(const struct stage *stage, struct thread_answer *answer)
{
    assert_int_equal(
        cluster_blob_fetches_get(stage->fetches, stage->digest, thread_stage_on_done, answer), 0);
}

static int come(const struct stage *stage, uint32_t from, uint8_t type,
                const struct cluster_body *body)
{
    static uint8_t frame[CLUSTER_FRAME_BODY_MAX];
    const struct cluster_frame header = {.type = type};
    struct hub_writer writer;

    hub_writer_init(&writer, frame, sizeof frame);
    assert_int_equal(cluster_body_put(&writer, type, body), 0);
    return cluster_blob_fetches_hooks.frame(stage->fetches, from, &header,
                                            (struct rapahub_bytes){frame, writer.size});
}

/* A part of the file, as the node that leads would send it. */
static struct cluster_body part_at(const struct stage *stage, uint64_t offset)
{
    size_t left = SIZE - offset;

    return (struct cluster_body){
        .blob_part = {.digest = {stage->digest, sizeof stage->digest},
                      .offset = offset,
                      .size = SIZE,
                      .part = {bytes + offset,
                               left < CLUSTER_BODY_PIECE_MAX ? left : CLUSTER_BODY_PIECE_MAX}}};
}

static int give(const struct stage *stage, uint64_t offset)
{
    const struct cluster_body body = part_at(stage, offset);

    return come(stage, LEAD, CLUSTER_FRAME_BLOB_PART, &body);
}

static void expect_file(struct thread_answer *answer)
{
    uint8_t *back = malloc(SIZE);

    assert_int_equal(answer->result.status, 0);
    assert_int_equal(answer->result.size, SIZE);
    assert_non_null(back);
    assert_int_equal(pread(answer->result.fd, back, SIZE, 0), SIZE);
    assert_memory_equal(back, bytes, SIZE);
    close(answer->result.fd);
    free(back);
}

/* ---- fetched ---- */

/* Two want one file, and each gets it. r[verify cluster.blobs.fetch] */
static void a_file_comes_in_parts(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer one = {0}, two = {0}, late = {0};

    up(&stage, LEAD);
    want(&stage, &one);
    want(&stage, &two);
    await_sent(&stage, 1);
    assert_true(sent.type == CLUSTER_FRAME_BLOB_ASK && sent.to == LEAD && sent.offset == 0);
    assert_memory_equal(sent.digest, stage.digest, sizeof stage.digest);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sent.offset, i * CLUSTER_BODY_PIECE_MAX);
        assert_int_equal(one.ends, 0);
        assert_int_equal(give(&stage, sent.offset), 0);
        if (i < 2)
            await_sent(&stage, 2 + i);
    }
    thread_stage_wait(stage.thread, &one);
    thread_stage_wait(stage.thread, &two);
    expect_file(&one);
    expect_file(&two);
    want(&stage, &late); /* it is on the disk now */
    thread_stage_wait(stage.thread, &late);
    expect_file(&late);
    assert_int_equal(sent.count, 3);
    end(&stage);
}

/* r[verify cluster.blobs.fetch] */
static void a_fetch_goes_on_where_its_link_was_lost(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0};

    want(&stage, &answer); /* no link is up yet */
    for (unsigned i = 0; i < 5; i++)
        thread_stage_step(stage.thread, 10);
    assert_int_equal(sent.count, 0);
    up(&stage, LEAD);
    await_sent(&stage, 1);
    assert_int_equal(give(&stage, 0), 0);
    await_sent(&stage, 2);
    lose(&stage, LEAD);
    up(&stage, OTHER); /* it is not asked */
    up(&stage, LEAD);
    await_sent(&stage, 3);
    assert_int_equal(sent.offset, CLUSTER_BODY_PIECE_MAX);
    assert_int_equal(give(&stage, CLUSTER_BODY_PIECE_MAX), 0);
    lose(&stage, LEAD); /* while it is written */
    for (unsigned i = 0; i < 10; i++)
        thread_stage_step(stage.thread, 10);
    up(&stage, LEAD);
    await_sent(&stage, 4);
    assert_int_equal(give(&stage, 2 * CLUSTER_BODY_PIECE_MAX), 0);
    thread_stage_wait(stage.thread, &answer);
    expect_file(&answer);
    end(&stage);
}

static void expect_failure(const struct stage *stage, struct thread_answer *answer, int status)
{
    thread_stage_wait(stage->thread, answer);
    assert_int_equal(answer->ends, 1);
    assert_int_equal(answer->result.status, status);
    assert_int_equal(answer->result.fd, -1);
}

/* The next one has its turn, and the file can be fetched anew. r[verify cluster.blobs.fetch] */
static void other_bytes_are_refused(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0}, again = {0};

    up(&stage, LEAD);
    want(&stage, &answer);
    for (unsigned i = 0; i < 3; i++) {
        struct cluster_body body;

        await_sent(&stage, 1 + i);
        body = part_at(&stage, sent.offset);
        if (i == 1)
            body.blob_part.part.data = bytes;
        assert_int_equal(come(&stage, LEAD, CLUSTER_FRAME_BLOB_PART, &body), 0);
    }
    expect_failure(&stage, &answer, RAPAHUB_EFORMAT);
    want(&stage, &again);
    await_sent(&stage, 4);
    assert_int_equal(sent.offset, 0);
    end(&stage);
    expect_failure(&stage, &again, -ECANCELED);
}

static void what_the_other_node_says_is_told(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0};
    const struct cluster_body none = {.blob_part = {.digest = {stage.digest, sizeof stage.digest},
                                                    .status = RAPAHUB_ENOENT,
                                                    .text = rapahub_string_of("it has none")}};

    up(&stage, LEAD);
    want(&stage, &answer);
    await_sent(&stage, 1);
    assert_int_equal(come(&stage, LEAD, CLUSTER_FRAME_BLOB_PART, &none), 0);
    expect_failure(&stage, &answer, RAPAHUB_ENOENT);
    assert_string_equal(answer.text, "it has none");
    end(&stage);
}

static void a_full_disk_ends_the_fetch(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0};

    up(&stage, LEAD);
    want(&stage, &answer);
    await_sent(&stage, 1);
    __atomic_store_n(&thread_stage_blobs_full, 1, __ATOMIC_SEQ_CST);
    assert_int_equal(give(&stage, 0), 0);
    expect_failure(&stage, &answer, RAPAHUB_ENOSPC);
    __atomic_store_n(&thread_stage_blobs_full, 0, __ATOMIC_SEQ_CST);
    end(&stage);
}

static void a_node_that_stops_in_the_middle_is_given_up(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0};
    uint64_t due_ns;

    up(&stage, LEAD);
    want(&stage, &answer);
    await_sent(&stage, 1);
    assert_int_equal(give(&stage, 0), 0);
    await_sent(&stage, 2);
    due_ns = cluster_blob_fetches_step(stage.fetches, hub_clock_now());
    assert_in_range(due_ns, hub_clock_now(), hub_clock_after(CLUSTER_BLOB_FETCHES_STALL_NS));
    assert_int_equal(answer.ends, 0);
    (void)cluster_blob_fetches_step(stage.fetches, due_ns);
    expect_failure(&stage, &answer, RAPAHUB_ETIMEDOUT);
    assert_int_equal(sent.hung_up, 0); /* the link has more to carry */
    due_ns = cluster_blob_fetches_step(stage.fetches, hub_clock_now());
    assert_true(due_ns < HUB_NEVER);
    (void)cluster_blob_fetches_step(stage.fetches, due_ns);
    assert_int_equal(sent.hung_up, 1);
    assert_true(cluster_blob_fetches_step(stage.fetches, due_ns) == HUB_NEVER);
    end(&stage);
}

/* The part comes after its fetch: then it is the turn of the next one, and no sooner.
 * r[verify cluster.blobs.fetch] */
static void a_part_that_is_late_is_dropped(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0}, again = {0};
    uint64_t due_ns;

    up(&stage, LEAD);
    want(&stage, &answer);
    await_sent(&stage, 1);
    due_ns = cluster_blob_fetches_step(stage.fetches, hub_clock_now());
    (void)cluster_blob_fetches_step(stage.fetches, due_ns);
    expect_failure(&stage, &answer, RAPAHUB_ETIMEDOUT);
    want(&stage, &again);
    for (int i = 0; i < 20; i++)
        thread_stage_step(stage.thread, 10);
    assert_int_equal(sent.count, 1);
    assert_int_equal(give(&stage, 0), 0);
    await_sent(&stage, 2);
    assert_int_equal(sent.offset, 0);
    assert_int_equal(again.ends, 0);
    assert_int_equal(give(&stage, 0), 0);
    await_sent(&stage, 3);
    end(&stage);
}

/* A person pushes the same file, which begins it anew. */
static void a_push_of_the_same_file_is_no_harm(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0}, pushed = {0};
    struct cluster_disk_part part = {.size = SIZE, .part = {bytes, 10}};

    up(&stage, LEAD);
    want(&stage, &answer);
    await_sent(&stage, 1);
    assert_int_equal(give(&stage, 0), 0);
    await_sent(&stage, 2);
    memcpy(part.digest, stage.digest, sizeof part.digest);
    assert_int_equal(
        cluster_store_thread_blob_part(stage.thread->thread, &part, thread_stage_on_done, &pushed),
        0);
    thread_stage_wait(stage.thread, &pushed);
    assert_int_equal(give(&stage, CLUSTER_BODY_PIECE_MAX), 0);
    for (unsigned i = 0; i < 3; i++) {
        await_sent(&stage, 3 + i);
        assert_int_equal(sent.offset, i * CLUSTER_BODY_PIECE_MAX);
        assert_int_equal(give(&stage, sent.offset), 0);
    }
    thread_stage_wait(stage.thread, &answer);
    expect_file(&answer);
    end(&stage);
}

/* r[verify cluster.blobs.fetch] */
static void parts_that_were_not_asked_for_are_refused(void **state)
{
    struct stage stage = begin(state, LEAD);
    struct thread_answer answer = {0};
    struct cluster_body other = part_at(&stage, 0);

    up(&stage, LEAD);
    assert_int_equal(give(&stage, 0), RAPAHUB_EPROTOCOL);
    want(&stage, &answer);
    await_sent(&stage, 1);
    assert_int_equal(give(&stage, CLUSTER_BODY_PIECE_MAX), RAPAHUB_EPROTOCOL);
    assert_int_equal(come(&stage, OTHER, CLUSTER_FRAME_BLOB_PART, &other), RAPAHUB_EPROTOCOL);
    other.blob_part.digest.data = bytes;
    assert_int_equal(come(&stage, LEAD, CLUSTER_FRAME_BLOB_PART, &other), RAPAHUB_EPROTOCOL);
    assert_int_equal(give(&stage, 0), 0);
    assert_int_equal(give(&stage, 0), RAPAHUB_EPROTOCOL); /* it has that */
    await_sent(&stage, 2);
    other = part_at(&stage, CLUSTER_BODY_PIECE_MAX);
    other.blob_part.size++;
    assert_int_equal(come(&stage, LEAD, CLUSTER_FRAME_BLOB_PART, &other), RAPAHUB_EPROTOCOL);
    end(&stage);
    expect_failure(&stage, &answer, -ECANCELED);
}

/* ---- given ---- */

static void push_file(const struct stage *stage)
{
    struct cluster_disk_part part = {.size = SIZE};

    memcpy(part.digest, stage->digest, sizeof part.digest);
    for (; part.offset < SIZE; part.offset += part.part.size) {
        struct thread_answer answer = {0};

        part.part = part_at(stage, part.offset).blob_part.part;
        assert_int_equal(cluster_store_thread_blob_part(stage->thread->thread, &part,
                                                        thread_stage_on_done, &answer),
                         0);
        thread_stage_wait(stage->thread, &answer);
        assert_int_equal(answer.result.status, 0);
    }
}

static int be_asked(const struct stage *stage, uint32_t by, uint64_t offset)
{
    const struct cluster_body body = {.blob_ask = {{stage->digest, sizeof stage->digest}, offset}};

    return come(stage, by, CLUSTER_FRAME_BLOB_ASK, &body);
}

/* r[verify cluster.blobs.source] */
static void a_node_that_asks_gets_a_part_at_a_time(void **state)
{
    struct stage stage = begin(state, 0);
    struct thread_answer none = {0};

    want(&stage, &none); /* this node leads, and asks nobody */
    expect_failure(&stage, &none, RAPAHUB_ENOENT);
    up(&stage, 2);
    assert_int_equal(be_asked(&stage, 2, 0), 0);
    await_sent(&stage, 1);
    assert_int_equal(sent.status, RAPAHUB_ENOENT);
    push_file(&stage);
    assert_int_equal(be_asked(&stage, 2, 2 * CLUSTER_BODY_PIECE_MAX), 0);
    assert_int_equal(be_asked(&stage, 2, 0), RAPAHUB_EPROTOCOL);     /* too soon */
    assert_int_equal(be_asked(&stage, OTHER, 0), RAPAHUB_EPROTOCOL); /* it has no link */
    await_sent(&stage, 2);
    assert_true(sent.to == 2 && sent.status == 0 && sent.size == SIZE && sent.part_size == 5);
    assert_memory_equal(sent.part, bytes + 2 * CLUSTER_BODY_PIECE_MAX, 5);
    assert_int_equal(be_asked(&stage, 2, SIZE), 0);
    await_sent(&stage, 3);
    assert_int_equal(sent.status, -EINVAL);
    assert_int_equal(be_asked(&stage, 2, 0), 0);
    lose(&stage, 2);
    up(&stage, 2); /* its answer of before does not come */
    assert_int_equal(be_asked(&stage, 2, CLUSTER_BODY_PIECE_MAX), 0);
    await_sent(&stage, 4);
    assert_int_equal(sent.offset, CLUSTER_BODY_PIECE_MAX);
    end(&stage);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_comes_in_parts),
        TEST(a_fetch_goes_on_where_its_link_was_lost),
        TEST(other_bytes_are_refused),
        TEST(what_the_other_node_says_is_told),
        TEST(a_full_disk_ends_the_fetch),
        TEST(a_node_that_stops_in_the_middle_is_given_up),
        TEST(a_part_that_is_late_is_dropped),
        TEST(a_push_of_the_same_file_is_no_harm),
        TEST(parts_that_were_not_asked_for_are_refused),
        TEST(a_node_that_asks_gets_a_part_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
