/* SPDX-License-Identifier: Apache-2.0 */
/* A stage that joins and producers that claim, publish and go on, each stopped after any of its
 * instructions with the other one at any of its own: two processes, stepped by ptrace. First the
 * one goes on to its end, then the other one. At the end no position beyond a ring of the gate is
 * claimed, and none before it is missing: so no place of the ring has two owners, and no position
 * that the stage will do was overwritten.
 *
 * More than 2,000 interleavings over all cases; with --every each instruction of both. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/bus/sequencer/sequencer_claim.h"
#include "tests/support/testing.h"

#define RING      2
#define STAGES    2
#define ROUNDS    2 /* positions that the producer's side puts through */
#define STEPS_MAX 20000

struct ground { /* shared */
    struct hub_region_sequencer body;
    struct hub_region_stage_gate gates[STAGES];
    _Alignas(128) struct hub_a64 avail[RING];
};

enum beginning {
    BEGIN_EMPTY,   /* nothing was claimed */
    BEGIN_BEHIND,  /* the other stage has one position to do, and the producer knows its limit */
    BEGIN_MISSING, /* one position is claimed by a third process, and not published */
    BEGINNINGS
};

static const struct hub_sequencer_stage plan[STAGES];
static struct ground *ground;
static bool shared, every;
static uint64_t known_limit;

static struct hub_sequencer_view view(void)
{
    return (struct hub_sequencer_view){.body = &ground->body,
                                       .gates = ground->gates,
                                       .avail = shared ? ground->avail : NULL,
                                       .ring_size = RING,
                                       .stage_count = STAGES,
                                       .stages = plan};
}

static void set_up(enum beginning beginning)
{
    struct hub_sequencer_view v = view();

    hub_sequencer_view_empty(&v);
    known_limit = 0;
    hub_publish(&ground->gates[0].state, HUB_STAGE_GATING);
    if (beginning == BEGIN_EMPTY)
        return;
    known_limit = RING;
    if (beginning == BEGIN_MISSING) {
        hub_publish64(&ground->body.claim, 1);
        return;
    }
    hub_publish64(&ground->body.claim, 1);
    hub_publish64(&ground->body.cursor, 1);
    hub_publish64(&ground->avail[0], hub_sequencer_published(0));
}

static void join(void)
{
    struct hub_sequencer_view v = view();
    uint64_t seq;

    if (hub_sequencer_gate_join(&v, 1, &seq) < 0)
        _exit(1);
}

/* Claims and publishes where there is room; the other stage does what it can, and leaves at the
 * end: then the gate that joined is the only one. */
static void put_through(void)
{
    struct hub_sequencer_claimer claimer = {.view = view()};
    uint64_t at, done = 0;

    hub_sequencer_claim_begin(&claimer);
    claimer.limit = known_limit;
    for (int i = 0; i < ROUNDS; i++) {
        if (hub_sequencer_claim(&claimer, 1, &at) == 0)
            (void)hub_sequencer_claim_publish(&claimer, at, 1);
        while (hub_sequencer_view_look(&claimer.view, done) == HUB_SEQUENCER_THERE)
            hub_publish64(&ground->gates[0].seq, ++done);
    }
    hub_sequencer_gate_leave(&claimer.view, 0);
    for (int i = 0; i < RING; i++)
        if (hub_sequencer_claim(&claimer, 1, &at) == 0)
            (void)hub_sequencer_claim_publish(&claimer, at, 1);
}

static pid_t begin(void (*work)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

/* Returns false where it came to its end before. */
static bool step(pid_t pid, unsigned steps)
{
    int status;

    for (unsigned i = 0; i < steps; i++) {
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status))
            return false;
    }
    return true;
}

static void finish(pid_t pid)
{
    int status;

    ptrace(PTRACE_CONT, pid, NULL, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned length_of(void (*work)(void), enum beginning beginning)
{
    pid_t pid;
    unsigned steps = 0;

    set_up(beginning);
    pid = begin(work);
    while (steps < STEPS_MAX && step(pid, 1))
        steps++;
    assert_true(steps > 10 && steps < STEPS_MAX);
    return steps;
}

static const char *violation(enum beginning beginning)
{
    struct hub_sequencer_view v = view();
    uint64_t seq = hub_observe64(&ground->gates[1].seq), claims = hub_sequencer_view_claims(&v);

    if (hub_observe(&ground->gates[1].state) != HUB_STAGE_GATING)
        return "the stage has not joined";
    if (claims > seq + RING)
        return "a position beyond a ring of the gate is claimed";
    if (seq > hub_sequencer_view_front(&v))
        return "a position before the gate is not published";
    if (beginning == BEGIN_MISSING && shared && seq > 0)
        return "the place of a claim can be claimed by another producer";
    for (uint64_t i = seq; i < claims; i++)
        if (!(beginning == BEGIN_MISSING && i == 0) &&
            hub_sequencer_view_look(&v, i) != HUB_SEQUENCER_THERE)
            return "a position that the stage will do is not there";
    return NULL;
}

static void cross(enum beginning beginning, unsigned at, unsigned other, bool first)
{
    pid_t stage, producer;
    bool stage_left, producer_left;

    set_up(beginning);
    stage = begin(join);
    producer = begin(put_through);
    stage_left = step(stage, at);
    producer_left = step(producer, other);
    if (first && stage_left)
        finish(stage);
    if (producer_left)
        finish(producer);
    if (!first && stage_left)
        finish(stage);
    if (violation(beginning))
        fail_msg("%s: %u instructions of the stage, %u of the producer", violation(beginning), at,
                 other);
}

static void run(enum beginning beginning)
{
    static const char *const words[] = {"empty", "behind", "missing"};
    unsigned ours = length_of(join, beginning), theirs = length_of(put_through, beginning);
    unsigned across = every ? 1 : 1 + theirs / 20, count = 0;
    unsigned along = every ? 1 : 1 + ours / 26;

    for (unsigned at = 1; at <= ours; at += along)
        for (unsigned other = 1 + at % across; other <= theirs; other += across) {
            cross(beginning, at, other, (at + other) % 2 == 0);
            count++;
        }
    printf("%s, %s: %u of the stage, %u of the producer, %u interleavings, failures 0\n",
           shared ? "many" : "one", words[beginning], ours, theirs, count);
    assert_true(count >= 400);
}

/* r[verify region.stage.join] r[verify region.stage.wrap] */
static void a_stage_joins_beside_any_step_of_a_claim(void **state)
{
    (void)state;
    for (int many = 0; many < 2; many++)
        for (int beginning = 0; beginning < BEGINNINGS; beginning++) {
            shared = many;
            if (shared || beginning != BEGIN_MISSING)
                run((enum beginning)beginning);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stage_joins_beside_any_step_of_a_claim)};

    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        every = true;
    ground = mmap(NULL, sizeof *ground, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ground == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
