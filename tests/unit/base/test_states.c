/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "hub/base/states.h"
#include "tests/support/testing.h"

enum { DOOR_OPEN, DOOR_CLOSED, DOOR_GAP, DOOR_LOCKED };

/* DOOR_GAP is a number without a state, though a state leads to it. */
static const struct hub_states door = {
    .name = "door",
    .of = {[DOOR_OPEN] = {"Open", HUB_TO(DOOR_CLOSED) | HUB_TO(DOOR_GAP)},
           [DOOR_CLOSED] = {"Closed", HUB_TO(DOOR_OPEN) | HUB_TO(DOOR_LOCKED)},
           [DOOR_LOCKED] = {"Locked", HUB_TO(DOOR_CLOSED)}}};

static void only_the_moves_of_the_table_are_allowed(void **state)
{
    (void)state;
    assert_true(hub_states_may(&door, DOOR_OPEN, DOOR_CLOSED));
    assert_true(hub_states_may(&door, DOOR_CLOSED, DOOR_LOCKED));
    assert_false(hub_states_may(&door, DOOR_OPEN, DOOR_LOCKED));
    assert_false(hub_states_may(&door, DOOR_OPEN, DOOR_OPEN));
    assert_false(hub_states_may(&door, DOOR_OPEN, DOOR_GAP));
}

/* Numbers as a peer may have written them. */
static void any_numbers_may_be_asked_about(void **state)
{
    static const uint32_t numbers[] = {DOOR_GAP, 15, 16, 31, 32, 33, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_false(hub_states_may(&door, numbers[i], DOOR_OPEN));
        assert_false(hub_states_may(&door, DOOR_OPEN, numbers[i]));
        assert_string_equal(hub_states_name(&door, numbers[i]), "?");
    }
    assert_string_equal(hub_states_name(&door, DOOR_LOCKED), "Locked");
}

static void catch_line(void *user, enum rapahub_log_level level, const char *topic,
                       const char *text)
{
    snprintf(user, 128, "%s %s: %s", rapahub_log_level_name(level), topic, text);
}

static void a_move_is_made_and_logged(void **state)
{
    uint32_t now = DOOR_OPEN;
    char line[128] = "";

    (void)state;
    rapahub_log_to(catch_line, line, RAPAHUB_LOG_DEBUG);
    hub_states_move(&door, &now, DOOR_CLOSED, "front", "(wind)");
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
    assert_int_equal(now, DOOR_CLOSED);
    assert_string_equal(line, "debug door: front: Open -> Closed (wind)");
}

static void an_illegal_move_of_our_own_aborts(void **state)
{
    const struct rlimit no_core = {0, 0};
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        uint32_t now = DOOR_OPEN;

        (void)setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        hub_states_move(&door, &now, DOOR_LOCKED, "front", "");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_moves_of_the_table_are_allowed),
        cmocka_unit_test(any_numbers_may_be_asked_about),
        cmocka_unit_test(a_move_is_made_and_logged),
        cmocka_unit_test(an_illegal_move_of_our_own_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
