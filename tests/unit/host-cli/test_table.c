/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "host/cli/text/table.h"
#include "tests/support/testing.h"

static void assert_table(unsigned width, const char *expected)
{
    struct cli_table table = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    cli_table_add(&table, (const char *[]){"NAME", "STATE", "MODULE", NULL});
    cli_table_add(&table, (const char *[]){"grün", "ready", "a", NULL});
    cli_table_add(&table, (const char *[]){"calculator", "x", "build/é.so", NULL});
    cli_table_print(&table, to, width);
    fclose(to);
    assert_string_equal(text, expected);
    assert_null(table.cells.texts);
    free(text);
}

static void columns_are_aligned_by_characters(void **state)
{
    (void)state;
    assert_table(0, "NAME        STATE  MODULE\n"
                    "grün        ready  a\n"
                    "calculator  x      build/é.so\n");
}

static void lines_are_cut_to_the_width(void **state)
{
    (void)state;
    assert_table(26, "NAME        STATE  MODULE\n"
                     "grün        ready  a\n"
                     "calculator  x      build/é\n");
    assert_table(8, "NAME\ngrün\ncalculat\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_by_characters),
        cmocka_unit_test(lines_are_cut_to_the_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
