/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/ticket.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

static char path_argument[] = "--hub-path=/proc/self/fd/3";
static char peer_argument[] = "--peer-id=1";
static char doorbell_argument[] = "--doorbell-fd=4";

static void free_all(char **arguments)
{
    for (size_t i = 0; arguments[i]; i++)
        free(arguments[i]);
}

/* r[verify shm.spawn.args] */
static void a_ticket_has_the_bytes_of_the_vector(void **state)
{
    struct vectors *all = vectors_open();
    const struct vector *vector = vectors_find(all, "ticket-private");
    const struct hub_ticket ticket = {"/proc/self/fd/3", 1, 4, -1, NULL, 0};
    char *arguments[HUB_TICKET_ARGUMENTS + 1];
    struct hub_ticket back;
    size_t at = 0;
    int count = 0;

    (void)state;
    assert_int_equal(hub_ticket_print(&ticket, arguments), 0);
    for (; arguments[count]; count++) {
        size_t size = strlen(arguments[count]) + 1;

        assert_true(at + size <= vector->size);
        assert_memory_equal(arguments[count], vector->bytes + at, size);
        at += size;
    }
    assert_int_equal(at, vector->size);
    assert_int_equal(hub_ticket_parse(count, arguments, &back), 0);
    assert_string_equal(back.hub_path, ticket.hub_path);
    assert_int_equal(back.peer, 1);
    assert_int_equal(back.doorbell, 4);
    assert_int_equal(back.module, -1);
    assert_null(back.name);
    free_all(arguments);
    vectors_close(all);
}

static void a_module_goes_along(void **state)
{
    const struct hub_ticket ticket = {"/dev/shm/x", 255, 4, 5, "calc.so", 0};
    char *arguments[HUB_TICKET_ARGUMENTS + 1];
    struct hub_ticket back;

    (void)state;
    assert_int_equal(hub_ticket_print(&ticket, arguments), 0);
    assert_string_equal(arguments[3], "--module-fd=5");
    assert_string_equal(arguments[4], "--module-name=calc.so");
    assert_null(arguments[5]);
    assert_int_equal(hub_ticket_parse(5, arguments, &back), 0);
    assert_int_equal(back.peer, 255);
    assert_int_equal(back.module, 5);
    assert_string_equal(back.name, "calc.so");
    free_all(arguments);
}

/* r[verify hub.wait.manner] */
static void the_way_to_wait_goes_along(void **state)
{
    static const char *const words[] = {NULL, "--waiting=poll", "--waiting=sleep",
                                        "--waiting=bell"};
    char odd[] = "--waiting=dance";
    char *const bad[] = {path_argument, peer_argument, doorbell_argument, odd};
    struct hub_ticket back;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct hub_ticket ticket = {"/dev/shm/x", 7, 4, -1, NULL, i};
        char *arguments[HUB_TICKET_ARGUMENTS + 1];

        assert_int_equal(hub_ticket_print(&ticket, arguments), 0);
        if (words[i])
            assert_string_equal(arguments[3], words[i]);
        assert_null(arguments[words[i] ? 4 : 3]);
        assert_int_equal(hub_ticket_parse(words[i] ? 4 : 3, arguments, &back), 0);
        assert_int_equal(back.waiting, i);
        free_all(arguments);
    }
    assert_int_equal(hub_ticket_parse(4, bad, &back), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "'dance' is no way to wait"));
}

static void order_does_not_matter_the_last_wins_and_the_rest_is_ignored(void **state)
{
    char first[] = "--peer-id=x", unknown[] = "--what=1", word[] = "prog", near[] = "--peer-idx=3";
    char *const arguments[] = {word,          first, doorbell_argument, unknown,
                               peer_argument, near,  path_argument};
    struct hub_ticket ticket;

    (void)state;
    assert_int_equal(hub_ticket_parse(7, arguments, &ticket), 0);
    assert_int_equal(ticket.peer, 1);
    assert_int_equal(ticket.doorbell, 4);
    assert_ptr_equal(ticket.hub_path, path_argument + strlen("--hub-path="));
}

static void each_of_the_three_must_be_there(void **state)
{
    char *const all[] = {path_argument, peer_argument, doorbell_argument};
    static const char *const names[] = {"--hub-path=", "--peer-id=", "--doorbell-fd="};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *const arguments[] = {all[(i + 1) % 3], all[(i + 2) % 3]};
        struct hub_ticket ticket;

        assert_int_equal(hub_ticket_parse(2, arguments, &ticket), RAPAHUB_EFORMAT);
        assert_non_null(strstr(rapahub_last_error()->text, names[i]));
        assert_string_equal(rapahub_last_error()->rule, "shm.spawn.args");
    }
}

static void malformed_values_are_refused(void **state)
{
    static const char *const bad[] = {"--peer-id=",
                                      "--peer-id=0",
                                      "--peer-id=256",
                                      "--peer-id=-1",
                                      "--peer-id=+1",
                                      "--peer-id= 1",
                                      "--peer-id=1 ",
                                      "--peer-id=0x1",
                                      "--peer-id=01",
                                      "--peer-id=1x",
                                      "--peer-id=4294967297",
                                      "--doorbell-fd=",
                                      "--doorbell-fd=-1",
                                      "--doorbell-fd=2147483648",
                                      "--doorbell-fd=18446744073709551620",
                                      "--module-fd=x",
                                      "--hub-path="};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char copy[64];
        char *const arguments[] = {path_argument, peer_argument, doorbell_argument, copy};
        struct hub_ticket ticket;

        snprintf(copy, sizeof(copy), "%s", bad[i]);
        assert_int_equal(hub_ticket_parse(4, arguments, &ticket), RAPAHUB_EFORMAT);
    }
}

static void a_path_is_bounded(void **state)
{
    char *path = malloc(HUB_TICKET_PATH_MAX + 64);
    char *const arguments[] = {path, peer_argument, doorbell_argument};
    size_t longest = strlen("--hub-path=") + HUB_TICKET_PATH_MAX - 1;
    struct hub_ticket ticket;

    (void)state;
    memset(path, 'p', HUB_TICKET_PATH_MAX + 64);
    memcpy(path, "--hub-path=", strlen("--hub-path="));
    path[longest] = '\0';
    assert_int_equal(hub_ticket_parse(3, arguments, &ticket), 0);
    path[longest] = 'p';
    path[longest + 1] = '\0';
    assert_int_equal(hub_ticket_parse(3, arguments, &ticket), RAPAHUB_EFORMAT);
    free(path);
}

/* The function has the type of main's arguments. */
#define WORDS(list) ((char *const *)(uintptr_t)(list))

/* r[verify shm.spawn.args] */
static void a_path_alone_is_for_a_guest_nobody_started(void **state)
{
    const char *const path[] = {"guest", "--hub-path=/x", "module.so"};
    const char *const half[] = {"guest", "--hub-path=/x", "--peer-id=1"};
    const char *const bell[] = {"guest", "--hub-path=/x", "--doorbell-fd=4"};
    const char *const whole[] = {"guest", "--hub-path=/x", "--peer-id=2", "--doorbell-fd=4"};
    struct hub_ticket ticket = {.peer = 9};

    (void)state;
    assert_int_equal(hub_ticket_parse_path(3, WORDS(path), &ticket), 0);
    assert_string_equal(ticket.hub_path, "/x");
    assert_int_equal(ticket.peer, 0);
    assert_int_equal(ticket.doorbell, -1);
    assert_int_equal(ticket.module, -1);
    assert_int_equal(hub_ticket_parse(3, WORDS(path), &ticket), RAPAHUB_EFORMAT);
    assert_int_equal(hub_ticket_parse_path(3, WORDS(half), &ticket), RAPAHUB_EFORMAT);
    assert_int_equal(hub_ticket_parse_path(3, WORDS(bell), &ticket), RAPAHUB_EFORMAT);
    assert_int_equal(hub_ticket_parse_path(1, WORDS(path), &ticket), RAPAHUB_EFORMAT);
    assert_int_equal(hub_ticket_parse_path(4, WORDS(whole), &ticket), 0);
    assert_int_equal(ticket.peer, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_has_the_bytes_of_the_vector),
        cmocka_unit_test(a_module_goes_along),
        cmocka_unit_test(the_way_to_wait_goes_along),
        cmocka_unit_test(order_does_not_matter_the_last_wins_and_the_rest_is_ignored),
        cmocka_unit_test(each_of_the_three_must_be_there),
        cmocka_unit_test(malformed_values_are_refused),
        cmocka_unit_test(a_path_is_bounded),
        cmocka_unit_test(a_path_alone_is_for_a_guest_nobody_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
