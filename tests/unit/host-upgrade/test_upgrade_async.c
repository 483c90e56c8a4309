/* SPDX-License-Identifier: Apache-2.0 */
/* The task is another one here, in place of that of upgrade.c: it is over when a test says so. */
#include <string.h>

#include <rapahub/upgrade.h>

#include "host/owner/detached.h"
#include "host/upgrade/upgrade.h"
#include "tests/unit/host-owner/bare.h"

static struct host_upgrade *under_way;
static bool over, refuses;

static int begin(struct host_owner *host, void *argument)
{
    (void)host;
    under_way = argument;
    return refuses || !under_way->options ? rapahub_fail(RAPAHUB_EINVAL, "", "no") : 0;
}

static bool is_over(const void *argument)
{
    (void)argument;
    return over;
}

static int end(struct host_owner *host, void *argument)
{
    (void)host;
    ((struct host_upgrade *)argument)->result.state_bytes = 77;
    return RAPAHUB_ETIMEDOUT;
}

const struct host_threads_task host_upgrade_task = {begin, is_over, end};

static unsigned told;
static int told_code;
static uint64_t told_bytes;

static void on_done(void *user, int code, const struct rapahub_upgrade_result *result)
{
    assert_ptr_equal(user, &told);
    told++;
    told_code = code;
    told_bytes = result->state_bytes;
}

static int upgrade(struct host_owner *host, const struct rapahub_upgrade_options *options)
{
    const struct rapahub_guest_id id = {.group = 1, .peer = 2, .epoch = 3};

    return rapahub_host_upgrade_async((struct rapahub_host *)(void *)host, id, options, on_done,
                                      &told);
}

static void open_host(struct host_owner *host)
{
    told = 0;
    over = refuses = false;
    under_way = NULL;
    bare_open(host);
}

/* The caller's options may be gone by then. */
static void an_upgrade_has_its_own_copy_of_the_options_and_is_told_once(void **state)
{
    char path[] = "/lib/next.so";
    struct rapahub_upgrade_options options = {.chimod = path};
    struct host_owner host;

    (void)state;
    open_host(&host);
    assert_int_equal(upgrade(&host, &options), 0);
    memset(path, 'x', sizeof path - 1);
    options.chimod = NULL;
    assert_int_equal(under_way->id.peer, 2);
    assert_string_equal(under_way->options->chimod, "/lib/next.so");
    assert_int_equal(host_detached_settle(&host), 0);
    over = true;
    assert_int_equal(host_detached_settle(&host), 1);
    assert_int_equal(host_detached_settle(&host), 0);
    assert_true(told == 1 && told_code == RAPAHUB_ETIMEDOUT && told_bytes == 77);
    bare_close(&host);
}

static void an_upgrade_that_does_not_begin_is_told_to_nobody(void **state)
{
    const struct rapahub_upgrade_options options = {.chimod = "/lib/next.so"}, none = {0};
    struct host_owner host;

    (void)state;
    open_host(&host);
    assert_int_equal(upgrade(&host, NULL), RAPAHUB_EINVAL);
    assert_int_equal(upgrade(&host, &none), RAPAHUB_EINVAL);
    refuses = true;
    assert_int_equal(upgrade(&host, &options), RAPAHUB_EINVAL);
    assert_int_equal(told, 0);
    assert_true(hub_list_empty(&host.detached));
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upgrade_has_its_own_copy_of_the_options_and_is_told_once),
        cmocka_unit_test(an_upgrade_that_does_not_begin_is_told_to_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
