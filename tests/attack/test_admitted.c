/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile process that was admitted hurts only itself, as a hostile guest does; and although it
 * is not killed, nothing that it does later counts. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/admit.h>

#include "tests/attack/attack.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define SCRIBBLES 16
#define SCRIBBLED 20000 /* words at a time */

struct intruder {
    pid_t pid;
    int socket;
    struct rapahub_admission ticket;
};

typedef void intruder_run(const struct rapahub_admission *ticket);

/* Its process inherits the ticket, and one end of the socket. */
static void open_intruder(struct stage *stage, struct intruder *intruder, bool serves,
                          intruder_run *run)
{
    struct rapahub_admit_options options = {.name = "hostile", .serves = serves};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    options.hangup = ends[0];
    check_done(rapahub_host_admit(stage->host, &options, &intruder->ticket));
    intruder->pid = fork();
    assert_true(intruder->pid >= 0);
    if (intruder->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], 3);
        run(&intruder->ticket);
        _exit(1);
    }
    close(ends[1]);
    intruder->socket = ends[0];
    close(intruder->ticket.segment);
    close(intruder->ticket.doorbell);
    stage->attacker = intruder->ticket.guest;
}

/* It may have ended already, by what it wrote. */
static void end_intruder(struct stage *stage, const struct intruder *intruder)
{
    uint64_t end = now_ms() + 5000;
    int r;

    while ((r = rapahub_host_kill(stage->host, intruder->ticket.guest)) == 0 && now_ms() < end)
        check_done(rapahub_host_dispatch(stage->host, 50));
    assert_int_equal(r, RAPAHUB_ESTALE);
}

static void close_intruder(struct intruder *intruder)
{
    int status = 0;

    kill(intruder->pid, SIGTERM);
    assert_int_equal(waitpid(intruder->pid, &status, 0), intruder->pid);
    assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* the host sends none */
    close(intruder->socket);
}

/* ---- each attack of a hostile guest ---- */

static void become_hostile(const struct rapahub_admission *ticket)
{
    char path[64], peer[32], bell[32];

    if (!getenv("TEST_LOG")) /* a sanitizer has much to say of what is not freed there */
        (void)!freopen("/dev/null", "w", stderr);
    dup2(ticket->segment, 10);
    dup2(ticket->doorbell, 11);
    snprintf(path, sizeof path, "--hub-path=/proc/self/fd/%d", 10);
    snprintf(peer, sizeof peer, "--peer-id=%u", ticket->peer);
    snprintf(bell, sizeof bell, "--doorbell-fd=%d", 11);
    execl(PROGRAM, PROGRAM, path, peer, bell, NULL);
}

static void note_ready(void *user, const struct rapahub_guest_status *status)
{
    if (strcmp(status->name, "hostile") == 0 && strcmp(status->state, "ready") == 0)
        *(bool *)user = true;
}

static void await_ready(struct stage *stage)
{
    uint64_t end = now_ms() + 5000;
    bool ready = false;

    while (!ready && now_ms() < end) {
        check_done(rapahub_host_dispatch(stage->host, 50));
        check_done(rapahub_host_guests(stage->host, note_ready, &ready));
    }
    assert_true(ready);
}

static void run_with(const struct trial *trial)
{
    const struct setting setting = {
        .heartbeat_ns = UINT64_MAX, .slot_size = 4096, .admitted_max = 1};
    const struct rapahub_container_options container = {.id = hostile, .pool_name = "attack"};
    struct intruder intruder;
    struct stage stage;

    if (getenv("TEST_LOG"))
        fprintf(stderr, "---- %s\n", trial->attack);
    open_stage_alone(&stage, &setting);
    open_intruder(&stage, &intruder, true, become_hostile);
    await_ready(&stage);
    check_done(rapahub_host_add_container(stage.host, stage.attacker, &container));
    begin_attack(&stage, trial->attack);
    call_meanwhile(&stage);
    if (trial->rule && (!trial->perhaps || stage.violations > 0)) {
        check_rule(&stage, trial);
    } else
        assert_int_equal(stage.violations, 0);
    finish_stage(&stage);
    close_intruder(&intruder);
    rapahub_host_destroy(stage.host);
    leak_assert_none(stage.leak);
}

/* r[verify hub.admit.end] r[verify hub.violation] */
static void whatever_it_does_it_hurts_only_itself(void **state)
{
    static const struct trial trials[] = {
        {"head_max", "shm.ring.capacity", false},
        {"tail_back", "shm.ring.capacity", false},
        {"state_77", "shm.segment.peer-state", false},
        {"state_empty", "shm.segment.peer-state", false},
        {"epoch_up", "shm.crash.epoch", false},
        {"type_eight", "message.unknown-variant", false},
        {"slot_beyond", "shm.payload.slot", false},
        {"free_all", "shm.slot.free", true},
        {"id_twice", "call.request-id.duplicate-detection", false},
        {"metadata_many", "call.metadata.limits", false},
        {"overwrite", NULL, false},
        {"cancel_storm", NULL, false},
        {"never_reads", NULL, false},
        {"request_flood", NULL, false},
        {"goodbye_garbage", NULL, false}};

    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        run_with(&trials[i]);
}

/* ---- garbage everywhere ---- */

static uint32_t next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* It attaches, and then writes at random places, most of them near the beginning, until it is
 * killed. */
static void scribble(const struct rapahub_admission *ticket)
{
    struct raw_ticket raw = {.peer = ticket->peer, .bell = ticket->doorbell};
    uint32_t seed = (uint32_t)getpid() | 1;
    struct raw_link link;

    snprintf(raw.path, sizeof raw.path, "/proc/self/fd/%d", ticket->segment);
    if (raw_guest_attach(&raw, NULL, &link) < 0)
        _exit(70);
    for (uint32_t i = 0;; i++) {
        size_t most = next(&seed) % 4 ? 4096 : link.size;

        raw_store32(link.base, next(&seed) % (most / 4) * 4, next(&seed));
        if (i % SCRIBBLED == 0 && write(link.bell, "x", 1) < 0)
            pause_ms(1);
    }
}

/* r[verify hub.admit.end] r[verify hub.loop.bound] */
static void garbage_in_its_segment_is_its_own(void **state)
{
    const struct setting setting = {
        .heartbeat_ns = UINT64_MAX, .slot_size = 4096, .admitted_max = 1};
    struct intruder intruder;
    struct stage stage;

    (void)state;
    open_stage_alone(&stage, &setting);
    for (unsigned i = 0; i < SCRIBBLES; i++) {
        open_intruder(&stage, &intruder, false, scribble);
        for (int j = 0; j < 500; j++)
            call_neighbour(&stage, j);
        end_intruder(&stage, &intruder);
        call_neighbour(&stage, i); /* it still writes there */
        close_intruder(&intruder);
    }
    rapahub_host_destroy(stage.host);
    leak_assert_none(stage.leak);
}

/* ---- many ---- */

static void wait_for_ever(const struct rapahub_admission *ticket)
{
    (void)ticket;
    for (;;)
        pause_ms(-1);
}

/* One place, a hundred times: nothing grows. r[verify hub.admit.bound] */
static void one_that_comes_again_and_again_gets_no_more_than_its_place(void **state)
{
    const struct setting setting = {
        .heartbeat_ns = UINT64_MAX, .slot_size = 4096, .admitted_max = 1};
    struct intruder intruder;
    struct stage stage;

    (void)state;
    open_stage_alone(&stage, &setting);
    for (int i = 0; i < 100; i++) {
        open_intruder(&stage, &intruder, false, wait_for_ever);
        check_done(rapahub_host_dispatch(stage.host, 0));
        check_done(rapahub_host_kill(stage.host, intruder.ticket.guest));
        check_done(rapahub_host_dispatch(stage.host, 0));
        call_neighbour(&stage, i);
        close_intruder(&intruder);
    }
    assert_int_equal(stage.down, 0); /* none of them was ever ready */
    rapahub_host_destroy(stage.host);
    leak_assert_none(stage.leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_it_does_it_hurts_only_itself),
        cmocka_unit_test(garbage_in_its_segment_is_its_own),
        cmocka_unit_test(one_that_comes_again_and_again_gets_no_more_than_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
