/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/channel_table.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

/* r[verify shm.flow.channel-activate] r[verify shm.flow.initial] r[verify shm.flow.channel-table]
 */
static void an_open_channel_has_its_credit_before_it_is_active(void **state)
{
    struct hub_channel_entry entry = {.granted_total = {7}};

    (void)state;
    hub_channel_table_open(&entry, 1024);
    assert_int_equal(entry.state.word, 1);
    assert_int_equal(entry.granted_total.word, 1024);
    assert_false(hub_channel_table_is_free(&entry));
}

/* r[verify shm.flow.channel-id-reuse] */
static void only_a_free_entry_may_be_used_again(void **state)
{
    struct hub_channel_entry entry = {{0}, {0}, {0}};

    (void)state;
    assert_true(hub_channel_table_is_free(&entry));
    hub_channel_table_open(&entry, 1);
    hub_channel_table_close(&entry);
    assert_int_equal(entry.state.word, 2);
    assert_false(hub_channel_table_is_free(&entry));
    hub_channel_table_free(&entry);
    assert_true(hub_channel_table_is_free(&entry));
}

/* r[verify shm.flow.granted-total] r[verify shm.flow.ordering.receiver]
 * r[verify shm.flow.ordering.sender] */
static void the_sender_reads_what_the_receiver_granted(void **state)
{
    struct hub_channel_entry entry = {{0}, {0}, {0}};

    (void)state;
    hub_channel_table_grant(&entry, 0xfffffff0);
    assert_int_equal(hub_channel_table_granted(&entry), 0xfffffff0);
}

/* r[verify shm.flow.remaining-credit] r[verify shm.flow.wrap-rule] */
static void the_vectors_of_credit_are_what_is_computed(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned count = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "credit", v)) != NULL; count++) {
        const json_t *result = vectors_member(v->value, "result");
        int64_t left = hub_channel_table_credit(
            (uint32_t)vectors_u64(vectors_member(v->value, "granted_total")),
            (uint32_t)vectors_u64(vectors_member(v->value, "sent_total")));

        if (json_is_string(result) && strcmp(json_string_value(result), "shm.flow.wrap-rule") == 0)
            assert_int_equal(left, -1);
        else
            assert_int_equal(left, vectors_u64(result));
    }
    assert_in_range(count, 6, 100);
    vectors_close(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_channel_has_its_credit_before_it_is_active),
        cmocka_unit_test(only_a_free_entry_may_be_used_again),
        cmocka_unit_test(the_sender_reads_what_the_receiver_granted),
        cmocka_unit_test(the_vectors_of_credit_are_what_is_computed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
