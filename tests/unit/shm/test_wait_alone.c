/* SPDX-License-Identifier: Apache-2.0 */
/* A side without a doorbell: there is no hang-up, so it checks for the end of its peer by
 * itself. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/shm/wait.h"
#include "hub/shm/wait_for.h"
#include "tests/support/testing.h"

#define PATIENCE (10 * HUB_SECOND)

struct alone {
    struct hub_a32 own, peer;
    struct hub_wait wait;
    int hang_ups;
};

static void begin(struct alone *alone)
{
    *alone = (struct alone){.hang_ups = 0};
    hub_store_relaxed(&alone->peer, HUB_WAIT_PART);
    hub_wait_init(&alone->wait, &alone->own, &alone->peer, -1, -1);
}

static bool hung_up_was_called(void *user)
{
    return ((struct alone *)user)->hang_ups > 0;
}

static void count_hang_up(void *user)
{
    ((struct alone *)user)->hang_ups++;
}

static int wait_for(struct alone *alone, uint32_t bits, uint64_t span_ns)
{
    const struct hub_wait_order order = {.bits = bits,
                                         .last = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(span_ns),
                                         .ready = hung_up_was_called,
                                         .hung_up = count_hang_up,
                                         .user = alone};

    return hub_wait_for(&alone->wait, &order);
}

/* Two open file descriptions of one file: the host's, and that of the guest. */
static void open_file(int *host, int *guest)
{
    char path[64];

    *host = memfd_create("segment", MFD_CLOEXEC);
    assert_true(*host >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *host);
    *guest = open(path, O_RDWR | O_CLOEXEC);
    assert_true(*guest >= 0);
    assert_int_equal(hub_lock_try(*host, HUB_LOCK_HOST, 1), 0);
}

/* r[verify hub.file.lock] r[verify shm.doorbell.optional] */
static void a_host_whose_lock_is_free_has_hung_up(void **state)
{
    struct alone alone;
    int host, guest;

    (void)state;
    open_file(&host, &guest);
    for (int foreign = 0; foreign <= 1; foreign++) {
        begin(&alone);
        hub_store_relaxed(&alone.peer, foreign ? 0 : HUB_WAIT_PART);
        alone.wait.host_lock = guest;
        assert_int_equal(wait_for(&alone, HUB_WAIT_RX, 120 * HUB_MILLISECOND), -ETIMEDOUT);
        assert_int_equal(alone.hang_ups, 0);
    }
    close(host);
    assert_int_equal(wait_for(&alone, HUB_WAIT_RX, PATIENCE), 0);
    assert_int_equal(alone.hang_ups, 1);
    alone.hang_ups = 0;
    assert_int_equal(wait_for(&alone, HUB_WAIT_RX, 120 * HUB_MILLISECOND), -ETIMEDOUT);
    close(guest);
}

/* The holder of the token notices it. */
static void who_waits_to_send_does_not_ask_for_the_lock(void **state)
{
    struct alone alone;
    int host, guest;

    (void)state;
    open_file(&host, &guest);
    begin(&alone);
    alone.wait.host_lock = guest;
    close(host);
    assert_int_equal(wait_for(&alone, HUB_WAIT_TX, 120 * HUB_MILLISECOND), -ETIMEDOUT);
    close(guest);
}

/* An eventfd stands for the pidfd: it becomes readable just so. r[verify shm.death.process-handle]
 */
static void a_guest_s_death_is_seen_without_a_doorbell(void **state)
{
    struct alone alone;

    (void)state;
    begin(&alone);
    alone.wait.pidfd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(wait_for(&alone, HUB_WAIT_RX, 120 * HUB_MILLISECOND), -ETIMEDOUT);
    assert_int_equal(eventfd_write(alone.wait.pidfd, 1), 0);
    assert_int_equal(wait_for(&alone, HUB_WAIT_RX, PATIENCE), 0);
    close(alone.wait.pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_whose_lock_is_free_has_hung_up),
        cmocka_unit_test(who_waits_to_send_does_not_ask_for_the_lock),
        cmocka_unit_test(a_guest_s_death_is_seen_without_a_doorbell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
