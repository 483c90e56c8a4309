/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

static const char *const names[] = {"RAPAHUB_WAIT_SERVER", "CHI_WAIT_SERVER",
                                    "RAPAHUB_CLIENT_RETRY_TIMEOUT", "CHI_CLIENT_RETRY_TIMEOUT"};

static int set_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        unsetenv(names[i]);
    return 0;
}

/* r[verify cluster.client.variables] */
static void variables_fill_what_is_not_set(void **state)
{
    struct rapahub_client_options options = {.wait_ns = 0};

    (void)state;
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.wait_ns + options.retry_ns, 0);
    setenv("CHI_WAIT_SERVER", "7", 1);
    setenv("CHI_CLIENT_RETRY_TIMEOUT", "60.0", 1);
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.wait_ns, 7 * HUB_SECOND);
    assert_int_equal(options.retry_ns, 60 * HUB_SECOND);
    options = (struct rapahub_client_options){.retry_ns = 5};
    setenv("RAPAHUB_WAIT_SERVER", "0.5", 1);
    setenv("RAPAHUB_CLIENT_RETRY_TIMEOUT", "9", 1);
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.wait_ns, HUB_SECOND / 2);
    assert_int_equal(options.retry_ns, 5);
    setenv("RAPAHUB_WAIT_SERVER", "", 1); /* as if it were not there */
    options.wait_ns = 0;
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.wait_ns, 7 * HUB_SECOND);
}

/* r[verify cluster.client.variables] */
static void what_is_no_time_is_refused_by_name(void **state)
{
    static const char *const wrong[] = {"x", "1s", "-1", "0", "nan", "inf", "1e9", " "};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned j = 0; j < sizeof wrong / sizeof *wrong; j++) {
            struct rapahub_client_options options = {.wait_ns = 0};

            setenv(names[2 * i], wrong[j], 1);
            assert_int_equal(rapahub_client_environment(&options), RAPAHUB_ECONFIG);
            assert_non_null(strstr(rapahub_last_error()->text, names[2 * i]));
        }
        unsetenv(names[2 * i]);
    }
}

/* r[verify cluster.client.variables] */
static void a_variable_chooses_the_transport(void **state)
{
    static const char name[] = "RAPAHUB_CLIENT_TRANSPORT";
    struct rapahub_client_options options = {.wait_ns = 0};

    (void)state;
    setenv(name, "shared-memory", 1);
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.transport, RAPAHUB_CLIENT_SHARED_MEMORY);
    setenv(name, "socket", 1); /* it is set already */
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.transport, RAPAHUB_CLIENT_SHARED_MEMORY);
    options.transport = RAPAHUB_CLIENT_AUTOMATIC;
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.transport, RAPAHUB_CLIENT_SOCKET);
    options.transport = RAPAHUB_CLIENT_AUTOMATIC;
    setenv(name, "automatic", 1);
    assert_int_equal(rapahub_client_environment(&options), 0);
    assert_int_equal(options.transport, RAPAHUB_CLIENT_AUTOMATIC);
    setenv(name, "pigeon", 1);
    assert_int_equal(rapahub_client_environment(&options), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, name));
    unsetenv(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_variable_chooses_the_transport, set_up),
        cmocka_unit_test_setup(variables_fill_what_is_not_set, set_up),
        cmocka_unit_test_setup(what_is_no_time_is_refused_by_name, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
