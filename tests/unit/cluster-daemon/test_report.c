/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/daemon/report.h"
#include "tests/support/testing.h"

static int ends[2];

static int open_ends(void **state)
{
    (void)state;
    return daemon_report_open(ends);
}

static int close_ends(void **state)
{
    (void)state;
    close(ends[0]);
    return ends[1] >= 0 && close(ends[1]) < 0;
}

static void what_is_sent_is_taken_in_order(void **state)
{
    struct daemon_report report;

    (void)state;
    assert_int_equal(daemon_report_take(ends[0], &report), 0);
    daemon_report_send(ends[1], DAEMON_REPORT_READY, NULL);
    daemon_report_send(ends[1], DAEMON_REPORT_STATUS, "3 pools");
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_int_equal(report.kind, DAEMON_REPORT_READY);
    assert_string_equal(report.text, "");
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_int_equal(report.kind, DAEMON_REPORT_STATUS);
    assert_string_equal(report.text, "3 pools");
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(daemon_report_take(ends[0], &report), -EPIPE);
}

static void a_life_is_taken_as_it_was_sent(void **state)
{
    struct daemon_report_life life = {.node = 3, .boot = 2, .session = 9, .leader = "[::1]:9413"};
    char bytes[1 + sizeof life];
    struct daemon_report report;

    (void)state;
    daemon_report_send_life(ends[1], &life);
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_int_equal(report.kind, DAEMON_REPORT_LIFE);
    assert_int_equal(report.life.node, 3);
    assert_int_equal(report.life.boot, 2);
    assert_int_equal(report.life.session, 9);
    assert_string_equal(report.life.leader, "[::1]:9413");
    memset(life.leader, '\n', sizeof life.leader); /* without an end */
    memcpy(bytes + 1, &life, sizeof life);
    bytes[0] = DAEMON_REPORT_LIFE;
    assert_int_equal(send(ends[1], bytes, sizeof bytes - 1, 0), sizeof bytes - 1);
    assert_int_equal(daemon_report_take(ends[0], &report), 0);
    assert_int_equal(send(ends[1], bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_int_equal(strlen(report.life.leader), sizeof life.leader - 1);
    assert_null(strchr(report.life.leader, '\n'));
}

static void what_is_none_is_passed_over(void **state)
{
    const char *const texts[] = {"\x05", "\x7f", "\xff", "\x01with a text", "\x02x"};
    char large[5000] = {DAEMON_REPORT_STATUS};
    struct daemon_report report;

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(send(ends[1], texts[i], strlen(texts[i]), 0) > 0);
    assert_int_equal(send(ends[1], "\0", 1, 0), 1);
    assert_int_equal(daemon_report_take(ends[0], &report), 0);
    memset(large + 1, 'y', sizeof large - 1);
    assert_true(send(ends[1], large, sizeof large, 0) > 0);
    assert_true(send(ends[1], "\x04\n\x1b[31m\0x", 9, 0) > 0);
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_int_equal(strlen(report.text), DAEMON_REPORT_TEXT - 1);
    assert_int_equal(daemon_report_take(ends[0], &report), 1);
    assert_string_equal(report.text, "??[31m");
}

/* As when the warden is stopped. */
static void nobody_waits_for_a_warden_that_takes_nothing(void **state)
{
    struct daemon_report report;
    unsigned count = 0;

    (void)state;
    for (int i = 0; i < 100000; i++)
        daemon_report_send(ends[1], DAEMON_REPORT_TURN, NULL);
    while (daemon_report_take(ends[0], &report) == 1)
        count++;
    assert_true(count > 10 && count < 100000);
    close(ends[0]);
    daemon_report_send(ends[1], DAEMON_REPORT_TURN, NULL); /* and no signal ends the sender */
    close(ends[1]);
    assert_int_equal(daemon_report_open(ends), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_sent_is_taken_in_order, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(a_life_is_taken_as_it_was_sent, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(what_is_none_is_passed_over, open_ends, close_ends),
        cmocka_unit_test_setup_teardown(nobody_waits_for_a_warden_that_takes_nothing, open_ends,
                                        close_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
