/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest-sdk/current.h"
#include "guest-sdk/guest_state.h"
#include "guest-sdk/last_words.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

/* Runs `end` in a child with last words; what it wrote to standard error goes to `text`: the signal
 * it died of. */
static int words_of(void (*end)(void), char *text, size_t size)
{
    const struct rlimit no_core = {0, 0};
    int ends[2], status = 0;
    size_t got = 0;
    ssize_t n;
    pid_t child;

    if (!process_possible())
        skip(); /* valgrind has an opinion of its own about faults */
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        (void)setrlimit(RLIMIT_CORE, &no_core);
        guest_last_words_install();
        end();
        _exit(0);
    }
    close(ends[1]);
    while (got < size - 1 && (n = read(ends[0], text + got, size - 1 - got)) > 0)
        got += (size_t)n;
    text[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return WTERMSIG(status);
}

/* Through a variable the compiler cannot see through. */
__attribute__((no_sanitize("address", "undefined", "thread"))) static void touch(uintptr_t address)
{
    volatile uintptr_t unknown = address;

    *(volatile int *)unknown = 1;
}

static void touch_nothing(void)
{
    touch(0x10);
}

static void a_fault_is_told_with_its_address_and_kills(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(words_of(touch_nothing, text, sizeof text), SIGSEGV);
    assert_string_equal(text, "last words: signal SIGSEGV at 0x10\n");
}

static void give_up(void)
{
    abort();
}

static void an_abort_is_told_and_kills(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(words_of(give_up, text, sizeof text), SIGABRT);
    assert_string_equal(text, "last words: signal SIGABRT\n");
}

static void send_bus(void)
{
    raise(SIGBUS);
}

/* Sends the signal as another process does: with si_code 0. */
static void kill_by_bus(void)
{
    kill(getpid(), SIGBUS);
}

/* A process that was sent a signal must not continue when the handler returns. */
static void a_signal_that_was_sent_kills_too(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(words_of(send_bus, text, sizeof text), SIGBUS);
    assert_int_equal(strncmp(text, "last words: signal SIGBUS", 25), 0);
    assert_int_equal(words_of(kill_by_bus, text, sizeof text), SIGBUS);
    assert_int_equal(strncmp(text, "last words: signal SIGBUS", 25), 0);
}

static void fault_in_a_method(void)
{
    struct hub_request request = {.id = 41};
    struct guest_container container = {.handle = 1};
    struct guest_frame frame = {.request = &request, .container = &container, .method = "put"};
    const struct rapahub_chimod chimod = {.name = "kv"};
    struct guest guest = {.frame = &frame};

    guest.module.name = "kv.so";
    guest.module.chimod = &chimod;
    /* The pages around this function: touch() is before it or after it. */
    guest.module.start = ((uintptr_t)fault_in_a_method & ~(uintptr_t)0xfff) - 0x3000;
    guest.module.end = guest.module.start + 0x7000;
    guest_current_set(&guest);
    touch(0x20);
}

static void a_fault_in_a_method_names_module_method_and_request(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(words_of(fault_in_a_method, text, sizeof text), SIGSEGV);
    assert_non_null(strstr(text, "SIGSEGV at 0x20 in kv.so+0x"));
    assert_non_null(strstr(text, ", method kv.put, request 41\n"));
}

static void fault_in_a_long_method(void)
{
    static char name[1000];
    struct hub_request request = {.id = 41};
    struct guest_frame frame = {.request = &request, .method = name};
    struct guest guest = {.frame = &frame};

    memset(name, 'x', sizeof name - 1);
    guest_current_set(&guest);
    touch(0x20);
}

static void a_line_ends_where_its_room_does(void **state)
{
    static const char begin[] = "last words: signal SIGSEGV at 0x20, method xxx";
    char text[2048];

    (void)state;
    assert_int_equal(words_of(fault_in_a_long_method, text, sizeof text), SIGSEGV);
    assert_int_equal(strlen(text), 512);
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
    assert_int_equal(strspn(text + strlen(begin), "x"), 512 - strlen(begin));
}

/* The stack is used up: the handler has one of its own. */
__attribute__((no_sanitize("address", "undefined"), noinline)) static int deeper(int depth)
{
    volatile char room[4096];

    room[0] = (char)depth;
    return depth < 0 ? room[0] : deeper(depth + 1) + room[0];
}

static void overflow(void)
{
    const struct rlimit small = {1 << 20, 1 << 20};

    (void)setrlimit(RLIMIT_STACK, &small);
    (void)deeper(0);
}

static void an_overflown_stack_is_told_as_well(void **state)
{
    char text[512];

    (void)state;
    assert_int_equal(words_of(overflow, text, sizeof text), SIGSEGV);
    assert_int_equal(strncmp(text, "last words: signal SIGSEGV", 26), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_told_with_its_address_and_kills),
        cmocka_unit_test(an_abort_is_told_and_kills),
        cmocka_unit_test(a_signal_that_was_sent_kills_too),
        cmocka_unit_test(a_fault_in_a_method_names_module_method_and_request),
        cmocka_unit_test(a_line_ends_where_its_room_does),
        cmocka_unit_test(an_overflown_stack_is_told_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
