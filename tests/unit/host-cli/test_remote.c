/* SPDX-License-Identifier: Apache-2.0 */
/* The host's answers are played. */
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/target/remote.h"
#include "host/cli/target/runtime.h"
#include "tests/support/testing.h"

static char longest[RAPAHUB_SIGNATURE_MAX + 2];

int __wrap_cli_runtime_ask(struct cli *cli, enum host_frame_kind kind, const void *request,
                           cli_runtime_item *visit, void *user);
int __wrap_cli_runtime_ask(struct cli *cli, enum host_frame_kind kind, const void *request,
                           cli_runtime_item *visit, void *user)
{
    union host_frame_record record = {.name.name = rapahub_string_of("add(i64, i64) -> i64")};

    (void)cli;
    assert_int_equal(kind, HOST_FRAME_METHODS);
    assert_memory_equal(((const struct control_name *)request)->name.data, "calc", 4);
    assert_int_equal(visit(user, HOST_FRAME_SIGNATURE, &record), 0);
    record.name.name = rapahub_string_of("of another kind");
    assert_int_equal(visit(user, HOST_FRAME_GUEST, &record), 0);
    memset(longest, 'x', sizeof longest);
    record.name.name = (struct rapahub_string){longest, RAPAHUB_SIGNATURE_MAX + 1};
    assert_int_equal(visit(user, HOST_FRAME_SIGNATURE, &record), 0);
    record.name.name.size = RAPAHUB_SIGNATURE_MAX;
    return visit(user, HOST_FRAME_SIGNATURE, &record);
}

static void methods_are_signatures_that_are_not_too_long(void **state)
{
    struct cli cli = {.timeout_ns = 1};
    struct cli_texts texts = {0};

    (void)state;
    assert_int_equal(cli_remote_methods(&cli, "calc", &texts), 0);
    assert_int_equal(texts.count, 2);
    assert_string_equal(texts.texts[0], "add(i64, i64) -> i64");
    assert_int_equal(strlen(texts.texts[1]), RAPAHUB_SIGNATURE_MAX);
    cli_texts_fini(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_signatures_that_are_not_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
