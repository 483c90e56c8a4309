/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that nodes alone send to each other: steps, files of modules, who lives, the metastore. */
#include "cluster/wire/body.h"
#include "tests/unit/cluster-wire/body_stage.h"

static const struct cluster_update updates[] = {{2, 9, 1, 3, CLUSTER_DATAGRAM_SUSPECTED},
                                                {3, 8, 0, 3, CLUSTER_DATAGRAM_LEFT}};

/* r[verify cluster.blobs.body] */
static void a_part_of_no_module_is_refused(void **state)
{
#define PART(...)                                     \
    {                                                 \
        .blob_part = {.digest = DIGEST, __VA_ARGS__ } \
    }
    static const struct cluster_body asks[] = {{.blob_ask = {TEXT("short"), 0}},
                                               {.blob_ask = {DIGEST, CLUSTER_BODY_BLOB_MAX}}};
    static const struct cluster_body parts[] = {
        {.blob_part = {.size = 3, .part = TEXT("end")}},
        PART(.size = 4, .part = TEXT("end")),
        PART(.size = 2, .part = TEXT("end")),
        PART(.offset = 3, .size = 3),
        PART(.size = CLUSTER_BODY_BLOB_MAX + 1, .part = TEXT("end")),
        PART(.size = 3, .part = TEXT("end"), .status = 1),
        PART(.size = 3, .part = TEXT("end"), .text = TEXT("why")),
        PART(.size = 3, .part = TEXT("end"), .status = -1)};

    (void)state;
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        assert_int_equal(put(CLUSTER_FRAME_BLOB_ASK, &asks[i]), RAPAHUB_EINVAL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_int_equal(put(CLUSTER_FRAME_BLOB_PART, &parts[i]), RAPAHUB_EINVAL);
#undef PART
}

/* r[verify cluster.step.body] */
static void a_step_that_can_be_none_is_refused(void **state)
{
#define STEP(...)                                             \
    {                                                         \
        .step_done = {.pool = POOL, .epoch = 1, __VA_ARGS__ } \
    }
    static const char bytes[CLUSTER_BODY_STEP_TEXT_MAX + 1];
    const struct rapahub_string most = {bytes, CLUSTER_BODY_STEP_TEXT_MAX},
                                more = {bytes, sizeof bytes};
    const struct cluster_body right[] = {
        STEP(.step = CLUSTER_STEP_BEGUN), STEP(.step = CLUSTER_STEP_SPENT),
        STEP(.step = CLUSTER_STEP_REMOVED), STEP(.step = CLUSTER_STEP_DOWN),
        STEP(.step = CLUSTER_STEP_FAILED, .status = -1, .text = most)};
    const struct cluster_body wrong[] = {
        STEP(.step = CLUSTER_STEP_NONE),
        STEP(.step = CLUSTER_STEPS),
        STEP(.step = CLUSTER_STEP_BEGUN, .status = -1),
        STEP(.step = CLUSTER_STEP_SPENT, .status = -1),
        STEP(.step = CLUSTER_STEP_FAILED),
        STEP(.step = CLUSTER_STEP_REMOVED, .status = 1),
        STEP(.step = CLUSTER_STEP_BEGUN, .text = TEXT("why")),
        STEP(.step = CLUSTER_STEP_FAILED, .status = -1, .text = more),
        STEP(.step = CLUSTER_STEP_BEGUN, .container = CLUSTER_CONTAINERS_MAX),
        {.step_done = {.pool = POOL, .step = CLUSTER_STEP_BEGUN}},
        {.step_done = {.pool = POOL, .step = CLUSTER_STEP_BEGUN, .epoch = CLUSTER_EPOCH_MAX + 1}},
        {.step_done = {.pool = 7, .step = CLUSTER_STEP_BEGUN, .epoch = 1}}};
#undef STEP

    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(put(CLUSTER_FRAME_STEP_DONE, &right[i]), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(put(CLUSTER_FRAME_STEP_DONE, &wrong[i]), RAPAHUB_EINVAL);
}

/* r[verify cluster.detect.body] */
static void what_is_said_of_who_lives_can_be_so(void **state)
{
    static const struct cluster_update wrong[] = {{0, 9, 1, 3, CLUSTER_DATAGRAM_DEAD},
                                                  {2, 0, 1, 3, CLUSTER_DATAGRAM_DEAD},
                                                  {2, 9, UINT32_MAX, 3, CLUSTER_DATAGRAM_DEAD},
                                                  {2, 9, 1, 0, CLUSTER_DATAGRAM_DEAD},
                                                  {2, 9, 1, 3, 0},
                                                  {2, 9, 1, 3, CLUSTER_DATAGRAM_STATES}};
    static struct cluster_update many[CLUSTER_BODY_UPDATES_MAX + 1];
    const struct cluster_body told = {
        .push_pull = {.answer = true, .updates = {.of = updates, .count = 2}}};
    struct cluster_body body = {.push_pull = {.updates = {.of = many}}};
    struct cluster_list list = {.of = NULL};
    struct cluster_update update;
    struct written written = write_body(CLUSTER_FRAME_PUSH_PULL, &told);
    struct cluster_body out;

    (void)state;
    assert_int_equal(cluster_body_read(CLUSTER_FRAME_PUSH_PULL, written_bytes(&written), &out), 0);
    assert_true(out.push_pull.answer);
    list = out.push_pull.updates;
    assert_true(cluster_body_next_update(&list, &update));
    assert_true(update.id == 2 && update.session == 9 && update.refutations == 1);
    assert_true(update.from == 3 && update.state == CLUSTER_DATAGRAM_SUSPECTED);
    assert_true(cluster_body_next_update(&list, &update));
    assert_false(cluster_body_next_update(&list, &update));
    written_release(&written);
    for (size_t i = 0; i <= CLUSTER_BODY_UPDATES_MAX; i++)
        many[i] = updates[0];
    body.push_pull.updates.count = CLUSTER_BODY_UPDATES_MAX;
    assert_int_equal(put(CLUSTER_FRAME_PUSH_PULL, &body), 0);
    body.push_pull.updates.count++;
    assert_int_equal(put(CLUSTER_FRAME_PUSH_PULL, &body), RAPAHUB_EINVAL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        body.push_pull.updates = (struct cluster_list){.of = &wrong[i], .count = 1};
        assert_int_equal(put(CLUSTER_FRAME_PUSH_PULL, &body), RAPAHUB_EINVAL);
    }
    body = (struct cluster_body){.datagram_key = {1, {"0123456789abcdef0123456789abcdef", 31}}};
    assert_int_equal(put(CLUSTER_FRAME_DATAGRAM_KEY, &body), RAPAHUB_EINVAL);
}

/* r[verify cluster.store.seat.message] */
static void a_piece_is_full_unless_it_is_the_last(void **state)
{
    static const char bytes[CLUSTER_BODY_PIECE_MAX + 1];
    const struct cluster_body full = {.piece = {true, {bytes, CLUSTER_BODY_PIECE_MAX}}};
    const struct cluster_body wrong[] = {{.piece = {false, {bytes, 0}}},
                                         {.piece = {true, {bytes, CLUSTER_BODY_PIECE_MAX - 1}}},
                                         {.piece = {false, {bytes, CLUSTER_BODY_PIECE_MAX + 1}}}};

    (void)state;
    assert_int_equal(put(CLUSTER_FRAME_STORE_REPLY, &full), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(put(CLUSTER_FRAME_STORE_REPLY, &wrong[i]), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_no_module_is_refused),
        cmocka_unit_test(a_step_that_can_be_none_is_refused),
        cmocka_unit_test(what_is_said_of_who_lives_can_be_so),
        cmocka_unit_test(a_piece_is_full_unless_it_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
