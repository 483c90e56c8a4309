/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts with 16 guests killed at random moments, from the first spawn on to a steady load with
 * guests that die and are started again: no guest outlives its host, and the next host that starts
 * finds the dead one's files and removes them.
 *
 * The seed is printed; RAPAHUB_TEST_SEED repeats a run. RAPAHUB_TEST_KILLS: how many. The program
 * starts itself as such a host: test_fault_orphans host. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/host.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/fault/orphans.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define GUESTS 16
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define KILLS 10
#define SPAN  (800 * HUB_MILLISECOND)
#else
#define KILLS 100
#define SPAN  (120 * HUB_MILLISECOND) /* half of it is spawning, half is calls and deaths */
#endif

RAPAHUB_STUB(i64, i64, i64);

/* ---- the host that will be killed ---- */

static struct rapahub_container_id container(uint32_t number)
{
    return (struct rapahub_container_id){{1 + number, 0}, 0};
}

static int start_guest(struct rapahub_host *host, uint32_t number)
{
    const struct rapahub_supervision often = {
        .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY, .backoff_initial_ns = 1, .backoff_max_ns = 1};
    const struct rapahub_guest_options plugin = {.chimod = PROCESS_CHIMOD("echo"),
                                                 .trust = number % 2 ? RAPAHUB_TRUST_TRUSTED
                                                                     : RAPAHUB_TRUST_STANDARD,
                                                 .supervision = &often};
    const struct rapahub_container_options pool = {.id = container(number), .pool_name = "orphans"};
    struct rapahub_guest_id guest;
    int r = rapahub_host_spawn(host, &plugin, &guest);

    return r == 0 ? rapahub_host_add_container(host, guest, &pool) : r;
}

struct victim {
    uint64_t skip;
    int pid;
};

static void choose(void *user, const struct rapahub_guest_status *status)
{
    struct victim *victim = user;

    if (status->pid > 0 && victim->skip-- == 0)
        victim->pid = status->pid;
}

/* Each so many calls one of its guests dies, so that it is killed while it recovers, too. */
static int be_a_host(void)
{
    const struct rapahub_host_options options = {.name = "orphans"};
    struct rapahub_host *host = NULL;
    struct hub_random random;
    int r = rapahub_host_create(&options, &host);

    hub_random_init(&random, (uint64_t)getpid());
    for (uint32_t i = 0; r == 0 && i < GUESTS; i++)
        r = start_guest(host, i);
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
        return 1;
    }
    for (uint64_t n = 0;; n++) {
        struct victim victim = {hub_random_below(&random, GUESTS), 0};
        int64_t same;

        (void)i64(host, container((uint32_t)hub_random_below(&random, GUESTS)), 1, &same);
        if (n % 64 == 0 && rapahub_host_guests(host, choose, &victim) == 0 && victim.pid > 0)
            kill(victim.pid, SIGKILL);
    }
}

/* ---- the test ---- */

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

struct tally {
    uint64_t guests, files, longest_ns;
};

static void kill_one(uint64_t at_ns, struct tally *tally)
{
    const char *const argv[] = {"/proc/self/exe", "host", NULL};
    const struct process_options options = {.argv = argv};
    struct process host;
    uint64_t start;
    pid_t pid;

    assert_int_equal(process_start(&options, &host), 0);
    pid = host.pid;
    pause_ns(at_ns);
    start = hub_clock_now();
    assert_int_equal(process_kill(&host, SIGKILL), 0);
    close(host.pidfd);
    close(host.output);
    close(host.error);
    close(host.input);
    free(host.out);
    free(host.err);
    if (!process_until(orphans_nobody_left, NULL, ORPHANS_GONE)) {
        orphans_show();
        fail_msg("guests outlived their host, %d", (int)pid);
    }
    start = hub_clock_now() - start;
    tally->longest_ns = start > tally->longest_ns ? start : tally->longest_ns;
    tally->files += orphans_files_of(pid);
    assert_int_equal(orphans_start_another_host(), 0);
    assert_int_equal(orphans_files_of(pid), 0);
}

/* r[verify supervise.orphan] r[verify hub.file.sweep] */
static void no_guest_and_no_file_outlives_a_host(void **state)
{
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_random_nonce() % 1000000);
    uint64_t kills = number_of("RAPAHUB_TEST_KILLS", KILLS);
    struct hub_random random;
    struct tally tally = {0};

    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    hub_random_init(&random, seed);
    assert_true(orphans_adopt());
    for (uint64_t n = 0; n < kills; n++)
        kill_one(hub_random_below(&random, SPAN), &tally);
    print_message("%" PRIu64 " kills: 0 guests left, the last one gone within %" PRIu64
                  " us; %" PRIu64 " files left, and removed by the next host\n",
                  kills, tally.longest_ns / 1000, tally.files);
    if (kills >= KILLS)
        assert_true(tally.files > 0); /* else no host has come so far */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_guest_and_no_file_outlives_a_host),
    };

    if (argc > 1 && strcmp(argv[1], "host") == 0)
        return be_a_host();
    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
