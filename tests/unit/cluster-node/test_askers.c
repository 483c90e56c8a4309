/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/services/askers.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MOST 2

struct heard {
    unsigned count;
    int status;
    uint8_t bytes[16];
    size_t size;
};

static void hear(void *user, uint64_t key, const struct rapahub_raw_answer *answer)
{
    struct heard *heard = user;

    (void)key;
    heard->count++;
    heard->status = answer->status;
    heard->size = answer->payload.size;
    if (answer->payload.size > 0)
        memcpy(heard->bytes, answer->payload.data, answer->payload.size);
}

static const struct cluster_askers_way way = {hear};

static struct cluster_asker *add(struct cluster_askers *askers, struct heard *heard, uint64_t key,
                                 uint64_t deadline_ns)
{
    return cluster_askers_add(
        askers, &(struct cluster_asker){
                    .way = &way, .user = heard, .key = key, .deadline_ns = deadline_ns});
}

/* r[verify cluster.node.services] */
static void each_answer_is_a_value_of_its_type(void **state)
{
    struct cluster_askers *askers;
    struct heard heard = {0};

    (void)state;
    assert_int_equal(cluster_askers_create(MOST, &askers), 0);
    cluster_askers_answer_number(askers, add(askers, &heard, 1, HUB_NEVER), 300);
    assert_memory_equal(heard.bytes, "\xac\x02", 2);
    cluster_askers_answer_flag(askers, add(askers, &heard, 1, HUB_NEVER), true);
    assert_true(heard.size == 1 && heard.bytes[0] == 1);
    cluster_askers_answer_text(askers, add(askers, &heard, 1, HUB_NEVER), "ab");
    assert_memory_equal(heard.bytes,
                        "\x02"
                        "ab",
                        3);
    cluster_askers_answer_text(askers, add(askers, &heard, 1, HUB_NEVER), "\xff");
    assert_int_equal(heard.status, RAPAHUB_EFORMAT);
    cluster_askers_fail(askers, add(askers, &heard, 1, HUB_NEVER), RAPAHUB_ENOENT, "no");
    assert_int_equal(heard.status, RAPAHUB_ENOENT);
    assert_int_equal(heard.count, 5);
    cluster_askers_release(&askers);
}

/* r[verify cluster.node.services] */
static void one_question_too_many_is_refused(void **state)
{
    struct cluster_askers *askers;
    struct heard heard = {0};
    struct cluster_asker *first;
    uint64_t number;

    (void)state;
    assert_int_equal(cluster_askers_create(MOST, &askers), 0);
    first = add(askers, &heard, 1, HUB_NEVER);
    first->memory = malloc(8);
    number = first->number;
    assert_non_null(add(askers, &heard, 2, HUB_NEVER));
    assert_null(add(askers, &heard, 3, HUB_NEVER));
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EBUSY);
    assert_ptr_equal(cluster_askers_of_key(askers, &heard, 1), first);
    assert_null(cluster_askers_of_key(askers, &heard, 3));
    assert_null(cluster_askers_of_key(askers, NULL, 1));
    cluster_askers_remove(askers, first);
    assert_null(cluster_askers_find(askers, number));
    assert_int_equal(heard.count, 0);
    cluster_askers_release(&askers);
}

/* r[verify cluster.node.services] */
static void a_question_is_due_at_its_deadline(void **state)
{
    struct cluster_askers *askers;
    struct heard heard = {0};
    struct cluster_asker *late;
    uint64_t next = HUB_NEVER;

    (void)state;
    assert_int_equal(cluster_askers_create(MOST, &askers), 0);
    late = add(askers, &heard, 1, 20);
    (void)add(askers, &heard, 2, 10);
    assert_null(cluster_askers_due(askers, 9, &next));
    assert_int_equal(next, 10);
    next = HUB_NEVER;
    assert_int_equal(cluster_askers_due(askers, 10, &next)->key, 2);
    cluster_askers_remove(askers, cluster_askers_due(askers, 10, &next));
    assert_ptr_equal(cluster_askers_due(askers, 20, &next), late);
    cluster_askers_release(&askers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_answer_is_a_value_of_its_type),
                                       cmocka_unit_test(one_question_too_many_is_refused),
                                       cmocka_unit_test(a_question_is_due_at_its_deadline)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
