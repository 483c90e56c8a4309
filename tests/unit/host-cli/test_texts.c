/* SPDX-License-Identifier: Apache-2.0 */
/* A list of texts, and one that there is no memory for. */
#include "host/cli/text/texts.h"
#include "tests/support/faults.h"
#include "tests/support/testing.h"

#define MANY 40 /* more than there is room for at first, and after that */

static void as_many_texts_are_kept_as_are_added(void **state)
{
    struct cli_texts list = {0};

    (void)state;
    for (int i = 0; i < MANY; i++) {
        cli_texts_add(&list, "copied");
        cli_texts_print(&list, "printed %d", i);
    }
    assert_false(list.failed);
    assert_int_equal(list.count, 2 * MANY);
    assert_string_equal(list.texts[0], "copied");
    assert_string_equal(list.texts[2 * MANY - 1], "printed 39");
    cli_texts_fini(&list);
    assert_int_equal(list.count, 0);
    assert_null(list.texts);
}

/* Each allocation in turn: nothing is lost but the one text. */
static void a_text_without_memory_is_left_out_and_that_is_told(void **state)
{
    static const enum faults_function functions[] = {FAULTS_strdup, FAULTS_realloc};
    int64_t before = faults_blocks();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cli_texts list = {0};

        faults_arm(functions[i], 1);
        cli_texts_add(&list, "lost");
        assert_true(faults_disarm());
        assert_true(list.failed);
        assert_int_equal(list.count, 0);
        assert_int_equal(faults_blocks(), before);
        cli_texts_add(&list, "kept");
        assert_true(list.failed);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.texts[0], "kept");
        cli_texts_fini(&list);
        assert_int_equal(faults_blocks(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_texts_are_kept_as_are_added),
        cmocka_unit_test(a_text_without_memory_is_left_out_and_that_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
