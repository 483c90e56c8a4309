/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/list.h"
#include "tests/support/testing.h"

struct item {
    int number;
    struct hub_list link;
};

static struct item *item_of(struct hub_list *link)
{
    return HUB_LIST_ITEM(link, struct item, link);
}

static void fill(struct hub_list *head, struct item *items, int count)
{
    hub_list_init(head);
    for (int i = 0; i < count; i++) {
        items[i].number = i;
        hub_list_append(head, &items[i].link);
    }
}

static void items_come_out_in_the_order_they_went_in(void **state)
{
    struct item items[3];
    struct hub_list head;

    (void)state;
    fill(&head, items, 3);
    assert_false(hub_list_empty(&head));
    for (int i = 0; i < 3; i++)
        assert_int_equal(item_of(hub_list_pop(&head))->number, i);
    assert_true(hub_list_empty(&head));
    assert_null(hub_list_pop(&head));
}

static void an_item_is_removed_from_any_place(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        struct item items[3];
        struct hub_list head;
        int expected = 0;

        fill(&head, items, 3);
        hub_list_remove(&items[gone].link);
        HUB_LIST_EACH (&head, link) {
            expected += expected == gone;
            assert_int_equal(item_of(link)->number, expected++);
        }
        assert_int_equal(expected + (gone == 2), 3);
    }
}

static void removing_twice_is_harmless(void **state)
{
    struct item items[2];
    struct hub_list head;

    (void)state;
    fill(&head, items, 2);
    hub_list_remove(&items[0].link);
    hub_list_remove(&items[0].link);
    assert_ptr_equal(item_of(hub_list_pop(&head)), &items[1]);
    assert_true(hub_list_empty(&head));
}

static void a_popped_item_may_go_into_another_list(void **state)
{
    struct item items[2];
    struct hub_list first, second;

    (void)state;
    fill(&first, items, 2);
    hub_list_init(&second);
    hub_list_append(&second, hub_list_pop(&first));
    assert_ptr_equal(item_of(second.next), &items[0]);
    assert_ptr_equal(item_of(first.next), &items[1]);
}

static void the_current_item_may_be_removed_on_a_walk(void **state)
{
    struct item items[5];
    struct hub_list head;
    int seen = 0;

    (void)state;
    fill(&head, items, 5);
    HUB_LIST_EACH (&head, link) {
        assert_int_equal(item_of(link)->number, seen++);
        hub_list_remove(link);
    }
    assert_int_equal(seen, 5);
    assert_true(hub_list_empty(&head));
}

static void a_walk_over_an_empty_list_visits_nothing(void **state)
{
    struct hub_list head;
    int seen = 0;

    (void)state;
    hub_list_init(&head);
    HUB_LIST_EACH (&head, link)
        seen += link != NULL;
    assert_int_equal(seen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_the_order_they_went_in),
        cmocka_unit_test(an_item_is_removed_from_any_place),
        cmocka_unit_test(removing_twice_is_harmless),
        cmocka_unit_test(a_popped_item_may_go_into_another_list),
        cmocka_unit_test(the_current_item_may_be_removed_on_a_walk),
        cmocka_unit_test(a_walk_over_an_empty_list_visits_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
