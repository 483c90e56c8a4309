/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/owner/forked.h"
#include "host/owner/owner.h"
#include "tests/support/testing.h"

static struct host_owner *new_host(void)
{
    struct host_owner *host = host_forked_new(sizeof *host);

    assert_non_null(host);
    return host;
}

/* The exit status of a forked child that looks at this host. */
static int in_child(int (*look)(const struct host_owner *host), const struct host_owner *host)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(look(host));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int is_refused(const struct host_owner *host)
{
    return host_forked_check(host) == RAPAHUB_ESTATE &&
           strcmp(rapahub_last_error()->rule, "hub.host.fork") == 0;
}

/* r[verify hub.host.fork] */
static void a_host_is_refused_in_a_forked_child_only(void **state)
{
    struct host_owner *host = new_host();

    (void)state;
    host->registry.callers.number = 7;
    assert_int_equal(host_forked_check(host), 0);
    assert_int_equal(in_child(is_refused, host), 1);
    assert_int_equal(host_forked_check(host), 0);
    assert_int_equal(host->registry.callers.number, 7);
    host_forked_free(host);
}

static int is_intact(const struct host_owner *host)
{
    return host->registry.callers.number == 0 && host->registry.guests_max == 11 &&
           hub_observe(&host->shown) == 13;
}

/* A child may still look at options and names, before it executes another program. */
static void nothing_but_the_number_of_callers_is_lost_in_a_child(void **state)
{
    struct host_owner *host = new_host();

    (void)state;
    host->registry.callers.number = 7;
    host->registry.guests_max = 11;
    hub_publish(&host->shown, 13);
    assert_int_equal(in_child(is_intact, host), 1);
    host_forked_free(host);
}

static int is_kept(const struct host_owner *host)
{
    return *(const uint8_t *)(const void *)host == 7;
}

/* The memory may be anybody's afterwards. */
static void the_page_of_a_freed_host_is_copied_to_children_again(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (page + sizeof(struct host_owner) + page - 1) / page * page;
    void *other;

    (void)state;
    host_forked_free(new_host());
    other = aligned_alloc(page, size);
    assert_non_null(other);
    memset(other, 7, size);
    assert_int_equal(in_child(is_kept, other), 1);
    free(other);
}

/* Memory that was used before is taken again. */
static void a_new_host_is_zeroed(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct host_owner *host = new_host();
        const uint8_t *bytes = (const uint8_t *)host;

        for (size_t at = 0; at < sizeof *host; at++)
            assert_int_equal(bytes[at], 0);
        memset(host, 0x5a, sizeof *host);
        host_forked_free(host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_refused_in_a_forked_child_only),
        cmocka_unit_test(nothing_but_the_number_of_callers_is_lost_in_a_child),
        cmocka_unit_test(the_page_of_a_freed_host_is_copied_to_children_again),
        cmocka_unit_test(a_new_host_is_zeroed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
