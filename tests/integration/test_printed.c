/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a child is kept over its lives, within bounds of its own; a flood delays neither
 * the guest nor its host. */
#include "tests/integration/child.h"

#define ROOM (256 << 10)

/* By which the host may grow, less than the flood; sanitizers keep what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLACK_KB (512 << 10)
#else
#define SLACK_KB (16 << 10)
#endif

static void say(struct lazy *lazy, const char *text)
{
    const struct rapahub_string line = rapahub_string_of(text);
    const struct rapahub_call call = {
        .target = here, .method = "print(string)", .arguments = (const void *const[]){&line, NULL}};

    assert_done(rapahub_host_call(lazy->on.host, &call, NULL));
}

static size_t read_log(struct lazy *lazy, struct rapahub_child_id child, char *to, size_t size)
{
    size_t kept;

    assert_done(rapahub_child_log(lazy->on.host, child, to, size, &kept));
    return kept;
}

/* Dispatches until the text is in what is kept. */
static char *await_text(struct lazy *lazy, struct rapahub_child_id child, const char *text)
{
    char *log = calloc(1, ROOM);

    assert_non_null(log);
    for (uint64_t end = now_ms() + 10000; now_ms() < end && !strstr(log, text);) {
        dispatch(lazy, 10);
        read_log(lazy, child, log, ROOM);
    }
    if (!strstr(log, text))
        print_error("not in the log: %s\n%s\n", text, log);
    assert_non_null(strstr(log, text));
    return log;
}

static void lines_are_kept_over_lives(void **state)
{
    struct rapahub_child_id child;
    struct lazy lazy;
    char *log, few[8];

    (void)state;
    open_lazy(&lazy, false);
    child = put(&lazy, here, (struct rapahub_supervision){0});
    say(&lazy, "in the first\x1b life\n");
    free(await_text(&lazy, child, "first"));
    die(&lazy);
    say(&lazy, "in the second\n");
    log = await_text(&lazy, child, "second");
    assert_string_equal(log, "in the first\\x1b life\n"
                             "in the second\n");
    assert_int_equal(read_log(&lazy, child, few, sizeof few), strlen(log));
    assert_string_equal(few, "second\n");
    assert_refused(rapahub_child_log(lazy.on.host, child, few, 0, NULL), RAPAHUB_EINVAL, "no room");
    free(log);
    close_host(&lazy.on);
}

/* r[verify supervise.log.kept] r[verify supervise.log] */
static void the_bounds_are_the_childs_own(void **state)
{
    const struct rapahub_supervision how = {.log_ring = 256, .log_line = 64, .log_rate = 3};
    struct rapahub_child_id child;
    struct lazy lazy;
    char *log, line[200];

    (void)state;
    open_lazy(&lazy, false);
    child = put(&lazy, here, how);
    memset(line, 'x', sizeof line - 2);
    memcpy(line + sizeof line - 2, "\n", 2);
    say(&lazy, line);
    log = await_text(&lazy, child, "x\n");
    assert_in_range(strlen(log), 60, 64);
    free(log);
    for (int i = 0; i < 10; i++)
        say(&lazy, "y\n");
    dispatch(&lazy, 1100);
    say(&lazy, "later\n");
    log = await_text(&lazy, child, "later");
    assert_non_null(strstr(log, "y\ny\n(8 more lines within a second)\nlater\n"));
    free(log);
    for (int i = 0; i < 7; i++) {
        say(&lazy, line);
        dispatch(&lazy, 350);
    }
    assert_in_range(read_log(&lazy, child, line, sizeof line), 200, 256);
    close_host(&lazy.on);
}

static void bounds_that_are_none_are_refused(void **state)
{
    static const struct {
        struct rapahub_supervision how;
        const char *words;
    } bad[] = {{{.log_ring = (16 << 20) + 1}, "log_ring"},
               {{.log_line = 63}, "log_line"},
               {{.log_line = 8193}, "log_line"},
               {{.log_rate = 100001}, "log_rate"}};
    struct rapahub_child_id child;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct rapahub_guest_options options = {.chimod = CALC, .supervision = &bad[i].how};

        assert_refused(rapahub_supervisor_add(lazy.root, &options, &child), RAPAHUB_EINVAL,
                       bad[i].words);
    }
    close_host(&lazy.on);
}

static uint64_t resident_kb(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long long kb = 0;
    char line[128];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %llu kB", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

/* 16 MiB, with line ends or without: output that is not kept is read nevertheless, and other guests
 * are served meanwhile. r[verify supervise.log.flood] */
static void a_flood_holds_up_nobody(void **state)
{
    const bool with_lines[] = {true, false};
    struct rapahub_child_id child;
    struct ending ending = {0};
    struct lazy lazy;
    uint64_t before;
    char *log;

    (void)state;
    open_lazy(&lazy, false);
    child = put(&lazy, here, (struct rapahub_supervision){0});
    put(&lazy, other, (struct rapahub_supervision){0});
    pid(&lazy, here);
    pid(&lazy, other);
    before = resident_kb();
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t mib = 16;
        const struct rapahub_call flood = {.target = here,
                                           .method = "flood(u32, bool)",
                                           .arguments =
                                               (const void *const[]){&mib, &with_lines[i], NULL},
                                           .timeout_ns = 60 * SECOND};
        uint64_t end = now_ms() + 60000;
        unsigned served = 0;

        assert_done(rapahub_host_call_async(lazy.on.host, &flood, on_done, &ending, NULL));
        for (; ending.count == i && now_ms() < end; served++)
            pid(&lazy, other);
        assert_int_equal(ending.count, i + 1);
        assert_int_equal(ending.code, 0);
        assert_true(served > 0);
    }
    say(&lazy, "\nthe end\n");
    dispatch(&lazy, 1100);
    say(&lazy, "the end\n");
    log = await_text(&lazy, child, "the end");
    assert_non_null(strstr(log, "more lines within a second"));
    assert_in_range(read_log(&lazy, child, log, ROOM), 1, 64 << 10);
    assert_in_range(resident_kb(), 0, before + SLACK_KB);
    assert_int_equal(status_of(&lazy, child).restarts, 0);
    free(log);
    close_host(&lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_kept_over_lives),
        cmocka_unit_test(the_bounds_are_the_childs_own),
        cmocka_unit_test(bounds_that_are_none_are_refused),
        cmocka_unit_test(a_flood_holds_up_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
