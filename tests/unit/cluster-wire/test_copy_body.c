/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies about copies of containers' states. */
#include "cluster/base/ids.h"
#include "tests/unit/cluster-wire/body_stage.h"

#define PIECE CLUSTER_COPY_BODY_PIECE

static uint8_t bytes[PIECE + 1];

#define TOKEN (UINT64_C(3) << 16 | 1) /* epoch 3, life 1 */

static struct cluster_body whole(void)
{
    return (struct cluster_body){.copy_put = {.pool = POOL,
                                              .container = 7,
                                              .token = TOKEN,
                                              .seq = 2,
                                              .module = 1,
                                              .state_version = 4,
                                              .state_size = 3,
                                              .dedup_size = 2,
                                              .digest = DIGEST,
                                              .piece = {bytes, 5}}};
}

static struct cluster_body first_piece(void)
{
    struct cluster_body body = whole();

    body.copy_put.state_size = PIECE;
    body.copy_put.digest.size = 0;
    body.copy_put.piece.size = PIECE;
    return body;
}

static void comes_back(uint8_t type, const struct cluster_body *body)
{
    struct written first = write_body(type, body), second;
    struct cluster_body out;

    for (size_t size = 0; size < first.size && size < 100; size++) {
        struct written cut = written_cut(&first, size);

        assert_int_equal(cluster_body_read(type, written_bytes(&cut), &out), RAPAHUB_EFORMAT);
        written_release(&cut);
    }
    assert_int_equal(cluster_body_read(type, written_bytes(&first), &out), 0);
    second = write_body(type, &out);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    written_release(&first);
    written_release(&second);
}

/* r[verify cluster.copy.body] */
static void bodies_about_copies_come_back(void **state)
{
    const struct cluster_body put_whole = whole(), put_first = first_piece();
    const struct cluster_body empty = {
        .copy_put = {.pool = POOL, .token = TOKEN, .seq = 1, .digest = DIGEST}};
    const struct cluster_body taken = {
        .copy_taken = {POOL, TOKEN, 2, PIECE, 7, CLUSTER_COPY_TAKEN_MORE, {NULL, 0}}};
    const struct cluster_body refused = {
        .copy_taken = {POOL, TOKEN, 2, 0, 7, CLUSTER_COPY_TAKEN_REFUSED, TEXT("why")}};
    const struct cluster_body seal = {.copy_seal = {POOL, TOKEN, 7}};
    const struct cluster_body sealed = {
        .copy_sealed = {POOL, TOKEN, TOKEN - 1, 9, 1000, 7, 0, {0}}};
    const struct cluster_body none = {.copy_sealed = {POOL, TOKEN, 0, 0, 0, 7, 0, {0}}};
    const struct cluster_body ask = {.copy_ask = {POOL, TOKEN, 9, PIECE, 7}};
    const struct cluster_body piece = {
        .copy_piece = {POOL, TOKEN, 9, PIECE, 7, 0, {0}, {bytes, 10}}};
    const struct cluster_body held = {.copy_held = {POOL, 3, 50, 7, 2}};

    (void)state;
    comes_back(CLUSTER_FRAME_COPY_PUT, &put_whole);
    comes_back(CLUSTER_FRAME_COPY_PUT, &put_first);
    comes_back(CLUSTER_FRAME_COPY_PUT, &empty);
    comes_back(CLUSTER_FRAME_COPY_TAKEN, &taken);
    comes_back(CLUSTER_FRAME_COPY_TAKEN, &refused);
    comes_back(CLUSTER_FRAME_COPY_SEAL, &seal);
    comes_back(CLUSTER_FRAME_COPY_SEALED, &sealed);
    comes_back(CLUSTER_FRAME_COPY_SEALED, &none);
    comes_back(CLUSTER_FRAME_COPY_ASK, &ask);
    comes_back(CLUSTER_FRAME_COPY_PIECE, &piece);
    comes_back(CLUSTER_FRAME_COPY_HELD, &held);
}

#define WRONG(make, change)                                                      \
    do {                                                                         \
        struct cluster_body changed = (make);                                    \
                                                                                 \
        changed.copy_put.change;                                                 \
        assert_int_equal(put(CLUSTER_FRAME_COPY_PUT, &changed), RAPAHUB_EINVAL); \
    } while (0)

/* r[verify cluster.copy.body] */
static void a_copy_that_can_be_none_is_refused(void **state)
{
    (void)state;
    WRONG(whole(), pool = 5);
    WRONG(whole(), container = CLUSTER_CONTAINERS_MAX);
    WRONG(whole(), token = 0);
    WRONG(whole(), seq = 0);
    WRONG(whole(), base_seq = 1); /* of no life */
    WRONG(whole(), base_token = TOKEN);
    WRONG(whole(), state_size = CLUSTER_COPY_BODY_MAX);
    WRONG(whole(), state_size = UINT64_MAX);
    WRONG(whole(), dedup_size = UINT64_MAX - 2);
    WRONG(whole(), offset = 1);
    WRONG(whole(), offset = PIECE);
    WRONG(whole(), piece.size = 4);
    WRONG(whole(), piece.size = 6);
    WRONG(whole(), digest.size = 31);
    WRONG(whole(), digest.size = 0);
    WRONG(first_piece(), piece.size = PIECE + 1);
    WRONG(first_piece(), digest.size = 32);
}

/* A base is of the same life, and before the copy. */
static void changes_have_a_base_of_their_life(void **state)
{
    struct cluster_body body = whole();

    (void)state;
    body.copy_put.base_token = TOKEN;
    body.copy_put.base_seq = 1;
    assert_int_equal(put(CLUSTER_FRAME_COPY_PUT, &body), 0);
    body.copy_put.base_seq = 2;
    assert_int_equal(put(CLUSTER_FRAME_COPY_PUT, &body), RAPAHUB_EINVAL);
    body.copy_put.base_seq = 1;
    body.copy_put.base_token = TOKEN - 1;
    assert_int_equal(put(CLUSTER_FRAME_COPY_PUT, &body), RAPAHUB_EINVAL);
}

/* r[verify cluster.copy.body] */
static void an_answer_that_can_be_none_is_refused(void **state)
{
    static const struct cluster_body taken[] = {
        {.copy_taken = {POOL, TOKEN, 2, 0, 7, 0, {NULL, 0}}},
        {.copy_taken = {POOL, TOKEN, 2, 0, 7, CLUSTER_COPY_TAKENS, {NULL, 0}}},
        {.copy_taken = {POOL, TOKEN, 2, 0, 7, CLUSTER_COPY_TAKEN_MORE, {NULL, 0}}},
        {.copy_taken = {POOL, TOKEN, 2, 7, 7, CLUSTER_COPY_TAKEN_MORE, {NULL, 0}}},
        {.copy_taken = {POOL, TOKEN, 2, PIECE, 7, CLUSTER_COPY_TAKEN_KEPT, {NULL, 0}}},
        {.copy_taken = {POOL, TOKEN, 2, 0, 7, CLUSTER_COPY_TAKEN_KEPT, TEXT("why")}},
        {.copy_taken = {POOL, 0, 2, 0, 7, CLUSTER_COPY_TAKEN_KEPT, {NULL, 0}}}};
    static const struct cluster_body sealed[] = {
        {.copy_sealed = {POOL, 0, 0, 0, 0, 7, 0, {0}}},
        {.copy_sealed = {POOL, TOKEN, TOKEN, 9, 0, 7, 0, {0}}},
        {.copy_sealed = {POOL, TOKEN, TOKEN, 0, 9, 7, 0, {0}}},
        {.copy_sealed = {POOL, TOKEN, TOKEN, 9, 9, 7, -1, {0}}},
        {.copy_sealed = {POOL, TOKEN, TOKEN, 9, CLUSTER_COPY_BODY_FILE_MAX + 1, 7, 0, {0}}},
        {.copy_sealed = {POOL, TOKEN, 0, 0, 0, 7, 0, TEXT("why")}},
        {.copy_sealed = {POOL, TOKEN, 0, 0, 0, 7, 1, {0}}}};
    static const struct cluster_body pieces[] = {
        {.copy_piece = {POOL, TOKEN, 9, 0, 7, 0, {0}, {NULL, 0}}},
        {.copy_piece = {POOL, TOKEN, 9, 0, 7, -1, {0}, {bytes, 1}}},
        {.copy_piece = {POOL, TOKEN, 9, 0, 7, 0, {0}, {bytes, PIECE + 1}}},
        {.copy_piece = {POOL, TOKEN, 9, 5, 7, 0, {0}, {bytes, 1}}},
        {.copy_piece = {POOL, TOKEN, 9, 0, 7, 1, {0}, {bytes, 1}}}};
    static const struct cluster_body others[] = {{.copy_held = {POOL, 0, 50, 7, 2}},
                                                 {.copy_held = {POOL, 3, 50, 7, 0}},
                                                 {.copy_held = {POOL, 3, 0, 7, 2}},
                                                 {.copy_held = {POOL, 3, UINT64_MAX, 7, 2}},
                                                 {.copy_held = {5, 3, 50, 7, 2}}};

    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(put(CLUSTER_FRAME_COPY_TAKEN, &taken[i]), RAPAHUB_EINVAL);
    for (size_t i = 0; i < sizeof sealed / sizeof *sealed; i++)
        assert_int_equal(put(CLUSTER_FRAME_COPY_SEALED, &sealed[i]), RAPAHUB_EINVAL);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        assert_int_equal(put(CLUSTER_FRAME_COPY_PIECE, &pieces[i]), RAPAHUB_EINVAL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(put(CLUSTER_FRAME_COPY_HELD, &others[i]), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_about_copies_come_back),
        cmocka_unit_test(a_copy_that_can_be_none_is_refused),
        cmocka_unit_test(changes_have_a_base_of_their_life),
        cmocka_unit_test(an_answer_that_can_be_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
