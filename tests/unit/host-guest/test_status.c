/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "host/guest/status.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

/* Files that a program which another thread starts at that moment would inherit. */
static unsigned opened, inherited;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    opened++;
    inherited += (flags & O_CLOEXEC) == 0;
    return __real_open(path, flags, 0);
}

static struct host_guest *a_guest(struct host_supervision *host)
{
    struct host_guest *guest = stage_enter(host, "calc");

    guest->id = (struct rapahub_guest_id){.group = 1, .epoch = 2, .peer = 3};
    guest->trust = RAPAHUB_TRUST_TRUSTED;
    guest->totals.restarts = 4;
    guest->totals.calls = 5;
    guest->totals.violations = 6;
    snprintf(guest->module.version, sizeof guest->module.version, "1.2.3");
    return guest;
}

static void a_guest_without_a_process_has_its_record_only(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = a_guest(host);
    struct rapahub_guest_status status = {.pid = 1, .uptime_ns = 1, .resident_bytes = 1};

    (void)state;
    guest->state = HOST_GUEST_BACKOFF;
    host_status_of(guest, &status);
    assert_int_equal(status.guest.group, 1);
    assert_int_equal(status.guest.epoch, 2);
    assert_int_equal(status.guest.peer, 3);
    assert_ptr_equal(status.name, guest->name);
    assert_string_equal(status.state, "restarting");
    assert_ptr_equal(status.chimod, guest->module.chimod);
    assert_string_equal(status.version, "1.2.3");
    assert_int_equal(status.trust, RAPAHUB_TRUST_TRUSTED);
    assert_int_equal(status.restarts, 4);
    assert_int_equal(status.calls, 5);
    assert_int_equal(status.violations, 6);
    assert_false(status.anonymous);
    assert_int_equal(status.pid, 0);
    assert_int_equal(status.uptime_ns, 0);
    assert_int_equal(status.resident_bytes, 0);
    guest->anonymous = true;
    host_status_of(guest, &status);
    assert_true(status.anonymous);
    stage_free(host);
}

static void the_calls_of_the_present_life_are_added_to_those_before(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = a_guest(host);
    struct pair *pair = test_malloc(sizeof *pair);
    const struct hub_limits limits = pair_limits();
    struct host_life life = {.process.pid = getpid()};
    struct rapahub_guest_status status;
    pthread_t thread;

    (void)state;
    pair_open(pair, &limits, 0);
    life.connection.calls = pair->host.connection.calls;
    guest->life = &life;
    host_status_of(guest, &status);
    assert_int_equal(status.calls, 5);
    assert_int_equal(pthread_create(&thread, NULL, pair_echo, &pair->guest), 0);
    for (uint8_t i = 1; i <= 3; i++) {
        assert_int_equal(pair_call(&pair->host, i, 8, hub_clock_after(SOON)), 0);
        host_status_of(guest, &status);
        assert_int_equal(status.calls, 5 + i);
    }
    hub_link_close(pair->guest.connection.link, RAPAHUB_ECLOSED, "");
    assert_int_equal(pthread_join(thread, NULL), 0);
    guest->life = NULL;
    pair_close(pair);
    test_free(pair);
    stage_free(host);
}

static void a_process_has_an_age_and_memory(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = a_guest(host);
    struct host_life life = {.process.pid = getpid(), .born_ns = hub_clock_now()};
    struct rapahub_guest_status status;
    uint64_t before;

    (void)state;
    assert_int_equal(hub_calls_create(1, &life.connection.calls), 0);
    guest->life = &life;
    opened = inherited = 0;
    host_status_of(guest, &status);
    assert_true(opened > 0 && inherited == 0);
    assert_int_equal(status.pid, getpid());
    before = status.uptime_ns;
    assert_true(before <= hub_clock_now() - life.born_ns);
    assert_true(status.resident_bytes > 0);
    assert_int_equal(status.resident_bytes % (uint64_t)sysconf(_SC_PAGESIZE), 0);
    host_status_of(guest, &status);
    assert_true(status.uptime_ns >= before);
    guest->life = NULL;
    hub_calls_release(&life.connection.calls);
    stage_free(host);
}

/* As one that came by itself, and has ended. */
static void the_memory_of_a_process_that_is_not_there_is_unknown(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = a_guest(host);
    struct host_life life = {.process.pid = INT32_MAX,
                             .born_ns = 1}; /* above any number of a process */
    struct rapahub_guest_status status;

    (void)state;
    assert_int_equal(hub_calls_create(1, &life.connection.calls), 0);
    guest->life = &life;
    host_status_of(guest, &status);
    assert_int_equal(status.pid, INT32_MAX);
    assert_int_equal(status.resident_bytes, 0);
    assert_true(status.uptime_ns > 0);
    guest->life = NULL;
    hub_calls_release(&life.connection.calls);
    stage_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_without_a_process_has_its_record_only),
        cmocka_unit_test(the_calls_of_the_present_life_are_added_to_those_before),
        cmocka_unit_test(a_process_has_an_age_and_memory),
        cmocka_unit_test(the_memory_of_a_process_that_is_not_there_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
