/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/daemon/settings.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

static struct daemon_settings settings;

static int set(const char *path, const char *text)
{
    int key = daemon_settings_find(path);

    assert_true(key >= 0);
    return daemon_settings_set(&settings, (unsigned)key, text);
}

static int open_settings(void **state)
{
    (void)state;
    daemon_settings_init(&settings);
    return 0;
}

static int close_settings(void **state)
{
    (void)state;
    daemon_settings_fini(&settings);
    return 0;
}

/* r[verify cluster.daemon.settings] */
static void what_is_not_set_has_its_default(void **state)
{
    (void)state;
    assert_null(settings.data);
    assert_null(settings.group);
    assert_string_equal(settings.name, "node");
    assert_string_equal(settings.detection, "lan");
    assert_int_equal(settings.level, RAPAHUB_LOG_INFO);
    assert_int_equal(settings.reset_after_ns, 10 * HUB_SECOND);
    assert_int_equal(settings.deaths_max, 5);
    assert_int_equal(settings.period_ns, 60 * HUB_SECOND);
    assert_int_equal(settings.backoff_initial_ns, 100 * HUB_MILLISECOND);
    assert_int_equal(settings.backoff_max_ns, 5 * HUB_SECOND);
    assert_int_equal(settings.keep_ns, 3600 * HUB_SECOND);
    assert_int_equal(settings.guests, 255);
    assert_int_equal(settings.payload, 0); /* the library's */
    assert_int_equal(daemon_settings_check(&settings), 0);
}

/* Each with a value that is taken, and two that are not. r[verify cluster.daemon.settings] */
static void values_that_are_none_are_refused(void **state)
{
    const char *const values[][4] = {{"data", "/var/lib/x", "", ""},
                                     {"name", "a-1_b.c", ".hidden", "a/b"},
                                     {"name", "a", "", "-a"},
                                     {"group", "staff:operator", "staff:king", ":admin"},
                                     {"group", "staff", "", "staff:"},
                                     {"listen", "*:9413,[::1]", "host-7:1", "*,,*"},
                                     {"listen", "127.0.0.1:0", "127.0.0.1:65536", ":9413"},
                                     {"detection", "fast", "slow", ""},
                                     {"detection", "seed", "LAN", "lan,wan"},
                                     {"stop_timeout", "1m", "0s", "60"},
                                     {"stop_timeout", "1ms", "-1s", "1e999s"},
                                     {"metastore.keep", "1s", "999ms", "721h"},
                                     {"metastore.keep", "720h", "0s", "1"},
                                     {"log.level", "debug", "loud", ""},
                                     {"warden.reset_after", "2s", "none", "0"},
                                     {"warden.budget", "256/1h", "257/1h", "none"},
                                     {"warden.budget", "1/1ns", "5/0s", "5"},
                                     {"limits.guests", "1", "0", "256"},
                                     {"limits.payload", "4M", "4G", "0"},
                                     {"limits.memory", "8G", "0", "8 G"},
                                     {"limits.ring", "1024", "65537", "1k"}};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int key = daemon_settings_find(values[i][0]);

        assert_int_equal(set(values[i][0], values[i][1]), 0);
        for (unsigned n = 2; n < 4; n++) {
            assert_int_equal(set(values[i][0], values[i][n]), RAPAHUB_ECONFIG);
            assert_non_null(strstr(rapahub_last_error()->text, values[i][n]));
            assert_string_equal(settings.given[key], values[i][1]); /* the one before stays */
        }
    }
    assert_int_equal(settings.payload, 4 << 20);
    assert_int_equal(settings.memory, (uint64_t)8 << 30);
    assert_int_equal(settings.period_ns, 1);
    assert_string_equal(settings.members.name, "staff");
    assert_int_equal(settings.members.role, RAPAHUB_CONTROL_VIEWER);
}

static void a_name_of_a_group_that_is_too_long_is_refused(void **state)
{
    char name[100];

    (void)state;
    memset(name, 'g', sizeof name);
    name[64] = '\0';
    assert_int_equal(set("group", name), RAPAHUB_ECONFIG);
    assert_int_equal(set("name", name), RAPAHUB_ECONFIG);
    name[63] = '\0';
    assert_int_equal(set("group", name), 0);
    assert_int_equal(set("name", name), 0);
    assert_string_equal(settings.members.name, name);
}

static void delays_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    assert_int_equal(set("warden.backoff.initial", "6s"), 0);
    assert_int_equal(daemon_settings_check(&settings), RAPAHUB_ECONFIG);
    assert_int_equal(set("warden.backoff.max", "6s"), 0);
    assert_int_equal(daemon_settings_check(&settings), 0);
}

/* The text is a part of why it is refused. */
static void expect_metastore_refused(const char *url, const char *text)
{
    assert_int_equal(set("metastore.url", url), RAPAHUB_ECONFIG);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' does not say '%s'", rapahub_last_error()->text, text);
}

#ifdef RAPAHUB_WITH_ETCD

static void expect_contradiction(const char *text)
{
    assert_int_equal(daemon_settings_check(&settings), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, text));
}

/* r[verify cluster.daemon.metastore] */
static void the_url_of_a_metastore_is_looked_at(void **state)
{
    (void)state;
    expect_metastore_refused("sqlite:/x", "is no metastore; write etcd://");
    expect_metastore_refused("etcd://host:2379", "the prefix has");
    expect_metastore_refused("etcd://host:2379,/x", "a host is missing");
    expect_metastore_refused("etcd://host:99999/x", "a host is none");
    expect_metastore_refused("etcd://a,b,c,d,e,f,g,h,i/x", "more than 8 hosts");
    assert_int_equal(set("metastore.url", "etcd://a,b:1/x"), 0);
    assert_string_equal(settings.metastore, "etcd://a,b:1/x");
}

/* r[verify cluster.daemon.metastore] */
static void what_a_metastore_in_etcd_has_no_use_for_is_refused(void **state)
{
    (void)state;
    assert_int_equal(set("metastore.tls", "/etc/x"), 0);
    assert_int_equal(daemon_settings_check(&settings), 0); /* the folder may name a URL */
    assert_int_equal(set("metastore.url", "etcd://a/x"), 0);
    expect_contradiction("goes without TLS; write etcds://");
    assert_int_equal(set("metastore.url", "etcds://a/x"), 0);
    assert_int_equal(daemon_settings_check(&settings), 0);
    assert_int_equal(set("metastore.keep", "1h"), 0);
    expect_contradiction("--auto-compaction-retention");
}

#else

/* r[verify cluster.daemon.metastore] */
static void the_url_of_a_metastore_is_looked_at(void **state)
{
    (void)state;
    expect_metastore_refused("sqlite:/x", "is no metastore; write etcd://");
    expect_metastore_refused("etcd://a/x", "built without etcd (WITH_ETCD)");
}

#endif

/* r[verify cluster.daemon.settings] */
static void each_key_has_an_option_of_its_own(void **state)
{
    char name[DAEMON_SETTINGS_WORD];
    unsigned count = 0;

    (void)state;
    for (; daemon_settings_keys[count].path; count++) {
        assert_int_equal(daemon_settings_find(daemon_settings_keys[count].path), count);
        assert_int_equal(daemon_settings_find_option(daemon_settings_option(count, name)), count);
        assert_true(strlen(daemon_settings_keys[count].path) + 2 < DAEMON_SETTINGS_WORD);
    }
    assert_int_equal(count, DAEMON_SETTINGS_KEYS);
    assert_int_equal(daemon_settings_find("log"), -1);
    assert_int_equal(daemon_settings_find_option("log.level"), -1);
    assert_true(daemon_settings_is_group("log"));
    assert_true(daemon_settings_is_group("warden.backoff"));
    assert_false(daemon_settings_is_group("warden.b"));
    assert_false(daemon_settings_is_group("log.level"));
}

static void a_word_that_is_none_has_a_nearest(void **state)
{
    char near[DAEMON_SETTINGS_WORD];

    (void)state;
    assert_string_equal(daemon_settings_suggest("", "dta", near), "data");
    assert_string_equal(daemon_settings_suggest("", "wardne", near), "warden");
    assert_string_equal(daemon_settings_suggest("log.", "lewel", near), "level");
    assert_null(daemon_settings_suggest("log.", "data", near));
    assert_string_equal(daemon_settings_suggest_option("log-lewel", near), "log-level");
    assert_string_equal(daemon_settings_suggest_option("confg", near), "config");
    assert_null(daemon_settings_suggest_option("nothing-like-it", near));
}

static char *read_page(const char *name, char *to, size_t size)
{
    FILE *file = fopen(name, "re");

    assert_non_null(file);
    to[fread(to, 1, size - 1, file)] = '\0';
    (void)fclose(file);
    return to;
}

/* r[verify cluster.daemon.settings] */
static void the_manual_names_each_key_and_each_option(void **state)
{
    static char program[65536], file[65536];
    char name[DAEMON_SETTINGS_WORD], wanted[DAEMON_SETTINGS_WORD + 8];

    (void)state;
    (void)read_page(TEST_DATA "/../../docs/man/rapahubd.8.scd", program, sizeof program);
    (void)read_page(TEST_DATA "/../../docs/man/rapahub.yaml.5.scd", file, sizeof file);
    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++) {
        const struct daemon_settings_key *key = &daemon_settings_keys[i];

        snprintf(wanted, sizeof wanted, "*--%s* _", daemon_settings_option(i, name));
        if (!strstr(program, wanted))
            fail_msg("rapahubd(8) does not name %s", wanted);
        snprintf(wanted, sizeof wanted, "\n*%s*: _", key->path);
        if (!strstr(file, wanted))
            fail_msg("rapahub.yaml(5) does not name %s", wanted);
        if (key->fallback && !strstr(file, key->fallback))
            fail_msg("rapahub.yaml(5) does not name the default %s of %s", key->fallback,
                     key->path);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_settings, close_settings)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_is_not_set_has_its_default),
                                       TEST(values_that_are_none_are_refused),
                                       TEST(a_name_of_a_group_that_is_too_long_is_refused),
                                       TEST(the_url_of_a_metastore_is_looked_at),
#ifdef RAPAHUB_WITH_ETCD
                                       TEST(what_a_metastore_in_etcd_has_no_use_for_is_refused),
#endif
                                       TEST(delays_that_contradict_each_other_are_refused),
                                       TEST(each_key_has_an_option_of_its_own),
                                       TEST(a_word_that_is_none_has_a_nearest),
                                       TEST(the_manual_names_each_key_and_each_option)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
