/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/daemon/config.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

static char path[64];
static struct daemon_settings settings;
static char quote[DAEMON_CONFIG_QUOTE];

static int open_file(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/rapahub-test-XXXXXX");
    close(mkostemp(path, O_CLOEXEC));
    daemon_settings_init(&settings);
    return 0;
}

static int close_file(void **state)
{
    (void)state;
    daemon_settings_fini(&settings);
    return unlink(path);
}

static int read_text(const char *text)
{
    FILE *file = fopen(path, "we");

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return daemon_config_read(path, &settings, quote);
}

/* `why` begins with line and column. */
static void refuse(const char *text, const char *why)
{
    char wanted[300];

    assert_int_equal(read_text(text), RAPAHUB_ECONFIG);
    snprintf(wanted, sizeof wanted, "%s:%s", path, why);
    assert_string_equal(rapahub_last_error()->text, wanted);
    assert_non_null(strchr(quote, '^'));
}

/* r[verify cluster.daemon.settings] */
static void keys_are_read_in_maps(void **state)
{
    (void)state;
    assert_int_equal(read_text("data: /d\nlog: {level: warn}\n"
                               "warden:\n  reset_after: 3s\n  backoff: {max: 9s}\n"),
                     0);
    assert_string_equal(settings.data, "/d");
    assert_int_equal(settings.level, RAPAHUB_LOG_WARN);
    assert_int_equal(settings.reset_after_ns, 3 * HUB_SECOND);
    assert_int_equal(settings.backoff_max_ns, 9 * HUB_SECOND);
    assert_int_equal(settings.backoff_initial_ns, 100 * HUB_MILLISECOND);
    assert_string_equal(quote, "");
}

/* r[verify cluster.daemon.settings] */
static void an_option_goes_before_its_key(void **state)
{
    (void)state;
    assert_int_equal(
        daemon_settings_set(&settings, (unsigned)daemon_settings_find("name"), "first"), 0);
    assert_int_equal(read_text("name: second\n"), 0);
    assert_string_equal(settings.name, "first");
}

static void an_empty_file_sets_nothing(void **state)
{
    (void)state;
    assert_int_equal(read_text(""), 0);
    assert_int_equal(read_text("# nothing\n"), 0);
    assert_int_equal(read_text("---\n"), 0);
    assert_null(settings.data);
}

/* r[verify exp.config] r[verify cluster.daemon.settings] */
static void what_is_wrong_is_told_with_its_place(void **state)
{
    (void)state;
    refuse("dta: /d\n", "1:1: unknown key 'dta', did you mean 'data'?");
    refuse("log:\n  lewel: info\n", "2:3: unknown key 'lewel', did you mean 'level'?");
    refuse("whatever: 1\n", "1:1: unknown key 'whatever'; man rapahub.yaml has those there are");
    refuse("data: d\n", "1:7: data: 'd' does not begin with '/'; write the whole path");
    refuse("data:\n", "1:1: data has no value; write a folder");
    refuse("data: [/d]\n", "1:7: data has no value; write a folder");
    refuse("log: info\n", "1:6: log: a map of its keys belongs here");
    refuse("log:\n", "1:1: log: a map of its keys belongs here");
    refuse("log.level: info\n", "1:1: 'log.level' is no key; write log: {level: ...}");
    refuse("name: a\nname: b\n", "2:1: 'name' is said in line 1 already; take one away");
    refuse("stop_timeout: soon\n", "1:15: stop_timeout: 'soon' is not a duration, as 30s");
    refuse("limits: {guests: 0}\n", "1:18: limits.guests: '0' is no whole number from 1 to 255");
    refuse("- data\n", "1:1: a map of keys belongs here");
    refuse("data\n", "1:1: a map of keys belongs here");
}

/* A key that an option has set is looked at, too. */
static void a_wrong_value_is_refused_although_an_option_goes_before(void **state)
{
    (void)state;
    assert_int_equal(
        daemon_settings_set(&settings, (unsigned)daemon_settings_find("stop_timeout"), "1s"), 0);
    refuse("stop_timeout: soon\n", "1:15: stop_timeout: 'soon' is not a duration, as 30s");
    assert_int_equal(settings.stop_timeout_ns, HUB_SECOND);
}

static void deep_and_long_keys_are_refused(void **state)
{
    char text[2000];

    (void)state;
    for (int i = 0; i < 20; i++)
        memcpy(text + 6 * i, "log: {", 7);
    assert_int_equal(read_text(text), RAPAHUB_ECONFIG);
    refuse("log: {log: {level: info}}\n",
           "1:7: unknown key 'log'; man rapahub.yaml has those there are");
    memset(text, 'k', 1000);
    memcpy(text + 1000, ": 1\n", 5);
    assert_int_equal(read_text(text), RAPAHUB_ECONFIG);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    assert_int_equal(daemon_config_read("/nowhere/x.yaml", &settings, quote), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "/nowhere/x.yaml"));
    assert_int_equal(daemon_config_read("/tmp", &settings, quote), RAPAHUB_ECONFIG);
    assert_string_equal(quote, "");
}

static void the_first_file_that_is_there_is_read(void **state)
{
    struct daemon_config_places places = {.option = "/o", .variable = "/v", .system = path};
    char found[DAEMON_CONFIG_PATH];

    (void)state;
    assert_true(daemon_config_find(&places, found));
    assert_string_equal(found, "/o"); /* also if it is not there: that is told */
    places.option = NULL;
    assert_true(daemon_config_find(&places, found));
    assert_string_equal(found, "/v");
    places.variable = "";
    places.config_home = "/nowhere";
    assert_true(daemon_config_find(&places, found));
    assert_string_equal(found, path);
    places.config_home = NULL;
    places.home = "/nowhere";
    assert_true(daemon_config_find(&places, found));
    places.system = "/nowhere";
    assert_false(daemon_config_find(&places, found));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_file, close_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_are_read_in_maps),
        TEST(an_option_goes_before_its_key),
        TEST(an_empty_file_sets_nothing),
        TEST(what_is_wrong_is_told_with_its_place),
        TEST(a_wrong_value_is_refused_although_an_option_goes_before),
        TEST(deep_and_long_keys_are_refused),
        TEST(a_file_that_cannot_be_read_is_named),
        TEST(the_first_file_that_is_there_is_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
