/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose method has another signature in its next life: its caller's memory is read and
 * written only as the caller said. A page that must not be touched begins after the memory of the
 * argument, and of the result. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/integration/hosting.h"

#define WAYS 10 /* besides the first one */
#define MARK INT64_C(0x0102030405060708)

RAPAHUB_STUB(take, i64, i64);

struct stage {
    struct hosting on;
    char *pages[3];
    int64_t *given, *result; /* the last words before a page that must not be touched */
    const void **arguments;  /* and the same of the list itself: one, and its end */
};

static void *before_a_hole(struct stage *stage, unsigned index, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(at != MAP_FAILED);
    assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
    stage->pages[index] = at;
    return at + page - size;
}

static void set_way(unsigned way)
{
    FILE *file = fopen(CHANGING_WAY, "we");

    assert_non_null(file);
    fprintf(file, "%u\n", way);
    assert_int_equal(fclose(file), 0);
}

static void open_stage(struct stage *stage)
{
    const struct rapahub_supervision often = {.restarts_max = 256,
                                              .backoff_initial_ns = RAPAHUB_NONE};

    memset(stage, 0, sizeof *stage);
    set_way(0);
    stage->given = before_a_hole(stage, 0, sizeof *stage->given);
    stage->result = before_a_hole(stage, 1, sizeof *stage->result);
    stage->arguments = before_a_hole(stage, 2, 2 * sizeof *stage->arguments);
    *stage->given = MARK;
    stage->arguments[0] = stage->given;
    stage->arguments[1] = NULL;
    open_host(&stage->on, (struct rapahub_host_options){0});
    assert_done(start(&stage->on, MODULE("changing"), here, &often));
}

static void close_stage(struct stage *stage)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    close_host(&stage->on);
    for (unsigned i = 0; i < 3; i++)
        munmap(stage->pages[i], 2 * page);
    unlink(CHANGING_WAY);
}

/* The next life has that way. */
static void change(struct stage *stage, unsigned way)
{
    const unsigned ready = stage->on.told.ready;

    set_way(way);
    assert_done(rapahub_host_kill(stage->on.host, stage->on.told.guest));
    assert_true(until(&stage->on, &stage->on.told.ready, ready + 1));
}

static void never(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ++*(unsigned *)user;
}

/* 0: it was refused before anything was sent. */
static unsigned refused_async(struct stage *stage, const struct rapahub_call *call, int code)
{
    unsigned ended = 0;

    if (rapahub_host_call_async(stage->on.host, call, never, &ended, NULL) == code && ended == 0)
        return 0;
    print_error("not refused at once: %s\n", rapahub_last_error()->text);
    return 1;
}

/* By its name alone, by what it was, and by a stub that knows its id from the last life. */
static void all_is_refused(struct stage *stage)
{
    const struct rapahub_call bare = {
        .target = here, .method = "take", .arguments = stage->arguments};
    struct rapahub_call whole = bare;

    whole.method = "take(i64) -> i64";
    *stage->result = MARK;
    assert_refused(rapahub_host_call(stage->on.host, &bare, stage->result), RAPAHUB_EINVAL,
                   "the types of take are not said");
    assert_string_equal(rapahub_last_error()->rule, "hub.call.memory");
    assert_int_equal(refused_async(stage, &bare, RAPAHUB_EINVAL), 0);
    assert_int_equal(rapahub_host_call(stage->on.host, &whole, stage->result), RAPAHUB_EARGUMENTS);
    assert_int_equal(refused_async(stage, &whole, RAPAHUB_EARGUMENTS), 0);
    assert_int_equal(take(stage->on.host, here, *stage->given, stage->result), RAPAHUB_ENOMETHOD);
    assert_int_equal(*stage->result, MARK);
    assert_int_equal(*stage->given, MARK);
}

/* r[verify hub.call.memory] */
static void no_signature_of_a_plugin_says_what_is_read_or_written(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    for (unsigned way = 1; way <= WAYS; way++) {
        *stage.result = 0;
        assert_done(take(stage.on.host, here, *stage.given, stage.result));
        assert_int_equal(*stage.result, MARK);
        change(&stage, way);
        all_is_refused(&stage);
        change(&stage, 0);
    }
    assert_done(take(stage.on.host, here, *stage.given, stage.result));
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_signature_of_a_plugin_says_what_is_read_or_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
