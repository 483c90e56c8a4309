/* SPDX-License-Identifier: Apache-2.0 */
/* The guest is the other end of a link in this thread; an eventfd stands for the pidfd, and is
 * readable when the process has died. */
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <rapahub/error.h>

#include "host/process/guest.h"
#include "host/process/life.h"
#include "host/process/process.h"
#include "hub/call/call_ends.h"
#include "tests/unit/link/pair.h"

struct rig {
    struct host_process host;
    struct pair pair;
    struct host_group group;
    struct host_guest guest;
    struct host_life *life;
};

/* The segment is the pair's; the host's end of the link is the life's own. */
static void open_life(struct rig *rig)
{
    static const struct hub_channels_manner manner = {.user = NULL};
    const struct hub_limits limits = pair_limits();
    struct end *end = &rig->pair.host;

    pair_open(&rig->pair, &limits, 0);
    hub_connection_close(&end->connection);
    hub_slots_fini(&end->pool);
    rig->group.shared = true;
    rig->group.segment = end->segment;
    assert_int_equal(hub_slots_init_host(&rig->group.pool, end->segment), 0);
    hub_slots_endow(&rig->group.pool, rig->pair.peer);
    rig->life = host_life_create(&rig->guest, &rig->host.owner.loop);
    assert_non_null(rig->life);
    rig->life->host = &rig->host;
    rig->life->segment.group = &rig->group;
    rig->life->segment.view = end->view;
    rig->life->id.peer = rig->pair.peer;
    rig->life->id.epoch = rig->pair.epoch;
    rig->life->doorbell.fd = end->doorbell;
    end->doorbell = -1;
    rig->life->process.pidfd = eventfd(0, EFD_CLOEXEC);
    snprintf(rig->life->name, sizeof rig->life->name, "kv");
    assert_int_equal(host_life_connect(rig->life, NULL, &manner), 0);
}

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);

    host_threads_init(&rig->host.owner.threads);
    assert_int_equal(host_loop_init(&rig->host.owner.loop, 8), 0);
    assert_int_equal(hub_closer_create(&rig->host.closer), 0);
    host_zombies_open(&rig->host.zombies, &rig->host.owner.loop);
    host_futexes_init(&rig->host.owner.futexes);
    rig->guest.supervision.kill_mode = RAPAHUB_KILL_PROCESS;
    open_life(rig);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_life_release(&rig->life);
    pair_close_end(&rig->pair.guest);
    hub_slots_fini(&rig->group.pool);
    hub_segment_release(&rig->pair.host.segment);
    host_futexes_close(&rig->host.owner.futexes);
    hub_closer_release(&rig->host.closer);
    host_loop_fini(&rig->host.owner.loop);
    host_threads_fini(&rig->host.owner.threads);
    test_free(rig);
}

static bool is_woken(struct rig *rig)
{
    bool woken = hub_observe(&rig->host.owner.loop.woken) != 0;

    assert_int_equal(host_loop_turn(&rig->host.owner.loop, 0), 0);
    return woken;
}

static uint32_t work_of(struct rig *rig)
{
    uint32_t work = hub_observe(&rig->life->work);

    hub_publish(&rig->life->work, 0);
    return work;
}

static void die(struct rig *rig)
{
    assert_int_equal(eventfd_write(rig->life->process.pidfd, 1), 0);
}

static void send_request(struct rig *rig)
{
    const struct hub_message message = {HUB_REQUEST, 1, 99};
    const struct hub_parts none = {.head = {"", 1}};

    assert_int_equal(hub_link_send(rig->pair.guest.connection.link, &message, &none, 0), 0);
    assert_true(hub_link_sweep(rig->life->connection.link, UINT32_MAX) >= 0);
}

static void a_request_is_work_and_makes_a_turn_come(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    (void)is_woken(rig);
    send_request(rig);
    assert_true((work_of(rig) & HOST_WORK_REQUEST) != 0);
    assert_true(is_woken(rig));
    close_rig(rig);
}

static void ignore_end(void *user, int code, struct hub_answer *answer)
{
    (void)user;
    (void)code;
    (void)answer;
}

/* Each has its own mark: the first is not taken for both. */
static void an_answer_behind_a_request_is_work_too(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_call call = {
        .payload = {.head = {"", 1}}, .deadline_ns = hub_clock_after(SOON), .done = ignore_end};
    struct rig *rig = open_rig();
    struct hub_connection *guest = &rig->pair.guest.connection;
    uint64_t number;

    (void)state;
    assert_int_equal(hub_calls_begin(rig->life->connection.calls, &call, &number), 0);
    assert_int_equal(hub_link_sweep(guest->link, 8), 1);
    assert_int_equal(hub_inbound_calls_answer(guest->served,
                                              hub_inbound_calls_next(guest->served, NULL, NULL),
                                              &ok, (struct rapahub_bytes){NULL, 0}),
                     0);
    hub_publish(&rig->life->work, HOST_WORK_REQUEST);
    assert_int_equal(hub_link_sweep(rig->life->connection.link, 8), 1);
    assert_true((work_of(rig) & HOST_WORK_ANSWER) != 0);
    assert_int_equal(hub_call_ends_deliver(rig->life->connection.calls), 1);
    close_rig(rig);
}

/* It looks at the work of all lives after the events of its turn. */
static void an_owner_that_handles_its_events_is_not_woken(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    (void)is_woken(rig);
    rig->host.owner.loop.handling = true;
    send_request(rig);
    rig->host.owner.loop.handling = false;
    assert_true((work_of(rig) & HOST_WORK_REQUEST) != 0);
    assert_false(is_woken(rig));
    close_rig(rig);
}

static void the_reason_of_a_goodbye_is_kept(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    hub_link_say_goodbye(rig->pair.guest.connection.link, "", "no more work");
    assert_true(hub_link_sweep(rig->life->connection.link, UINT32_MAX) >= 0);
    assert_string_equal(rig->life->goodbye.reason, "no more work");
    assert_int_equal(hub_observe(&rig->life->goodbye.leaving), 1);
    assert_true((work_of(rig) & HOST_WORK_GOODBYE) != 0);
    close_rig(rig);
}

static void hint(struct rig *rig)
{
    rig->life->connection.events.on_hint(rig->life->connection.events.user);
}

/* r[verify hub.death.proof] */
static void a_hang_up_kills_a_guest_that_did_not_say_that_it_leaves(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    hub_publish(&rig->life->goodbye.leaving, 1);
    hint(rig);
    assert_int_equal(hub_observe(&rig->life->goodbye.parted), 0);
    assert_true((work_of(rig) & HOST_WORK_HINT) != 0);
    hub_publish(&rig->life->goodbye.leaving, 0);
    hint(rig);
    assert_int_equal(hub_observe(&rig->life->goodbye.parted), 1);
    assert_int_equal(hub_observe(&rig->life->exit.cause), HOST_CAUSE_NONE);
    assert_false(hub_link_closed(rig->life->connection.link)); /* a hint is no proof */
    close_rig(rig);
}

/* Callers must not wait for a busy owner. r[verify hub.death.proof] */
static void a_hang_up_of_a_dead_guest_ends_its_calls_at_once(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    die(rig);
    hint(rig);
    assert_true(hub_link_closed(rig->life->connection.link));
    assert_int_equal(hub_link_cause(rig->life->connection.link), RAPAHUB_EDIED);
    assert_true((work_of(rig) & HOST_WORK_CLOSED) != 0);
    close_rig(rig);
}

/* r[verify hub.death.proof] */
static void an_anonymous_guest_is_dead_when_its_lock_is_free_too(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_false(host_life_proven(rig->life));
    rig->life->anonymous = true;
    die(rig);
    assert_false(host_life_proven(rig->life)); /* it never had a lock */
    rig->life->segment.locked = true;
    assert_true(host_life_proven(rig->life));
    rig->life->anonymous = false;
    close_rig(rig);
}

static void only_a_guest_s_own_goodbye_is_one(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_false(host_life_said_goodbye(rig->life));
    host_life_part(rig->life);
    assert_int_equal(hub_observe(&rig->life->segment.view.entry->state), HUB_PEER_GOODBYE);
    assert_false(host_life_said_goodbye(rig->life));
    hub_publish(&rig->life->goodbye.parted, 0);
    assert_true(host_life_said_goodbye(rig->life));
    host_life_kill(rig->life, HOST_CAUSE_STALL);
    assert_int_equal(hub_observe(&rig->life->goodbye.parted), 0); /* it was faster */
    close_rig(rig);
}

static void the_first_cause_of_a_kill_counts(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    host_life_kill(rig->life, HOST_CAUSE_STALL);
    host_life_kill(rig->life, HOST_CAUSE_STOP_TIMEOUT);
    assert_int_equal(hub_observe(&rig->life->exit.cause), HOST_CAUSE_STALL);
    assert_int_equal(hub_observe(&rig->life->goodbye.parted), 1);
    close_rig(rig);
}

/* The owner may free it then. */
static void the_last_user_of_an_ended_life_makes_a_turn_come(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    host_life_hold(rig->life);
    (void)is_woken(rig);
    host_life_drop(rig->life);
    assert_false(is_woken(rig)); /* it goes on */
    host_life_hold(rig->life);
    host_life_hold(rig->life);
    hub_link_close(rig->life->connection.link, RAPAHUB_ECLOSED, "");
    (void)is_woken(rig);
    host_life_drop(rig->life);
    assert_false(is_woken(rig));
    host_life_drop(rig->life);
    assert_true(is_woken(rig));
    close_rig(rig);
}

static void assert_explained(struct rig *rig, int code, const char *text)
{
    assert_int_equal(host_life_explain(rig->life, code, "sum"), code);
    assert_string_equal(rapahub_last_error()->text, text);
}

static void the_end_of_a_call_is_explained_by_the_end_of_its_guest(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->life->exit.how = (struct hub_exit){CLD_KILLED, SIGSEGV};
    hub_publish(&rig->life->exit.known, 1);
    assert_explained(rig, RAPAHUB_EDIED, "the guest kv died during sum: signal SIGSEGV");
    snprintf(rig->life->exit.why, sizeof rig->life->exit.why, "no such symbol");
    assert_explained(rig, RAPAHUB_EDIED, "the guest kv died during sum: no such symbol");
    assert_explained(rig, RAPAHUB_ECLOSED, "the guest kv said goodbye during sum");
    snprintf(rig->life->goodbye.reason, sizeof rig->life->goodbye.reason, "done");
    assert_explained(rig, RAPAHUB_ECLOSED, "the guest kv said goodbye during sum: done");
    assert_explained(rig, RAPAHUB_ESTALE, "the guest kv has ended; sum was not executed");
    assert_explained(rig, RAPAHUB_ETIMEDOUT, "kv did not answer sum in time");
    hub_link_close(rig->life->connection.link, RAPAHUB_EPROTOCOL, "sec.call.own");
    assert_explained(rig, RAPAHUB_EPROTOCOL,
                     "the guest kv broke a rule of the protocol during sum: sec.call.own");
    assert_string_equal(rapahub_last_error()->rule, "sec.call.own");
    close_rig(rig);
}

static void assert_ended(struct rig *rig, enum rapahub_exit_class class, const char *text)
{
    char said[128];

    assert_int_equal(host_life_ended(rig->life, said, sizeof said), class);
    assert_string_equal(said, text);
}

static void the_end_of_a_guest_is_what_the_kernel_or_the_host_knows_of_it(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->life->exit.how = (struct hub_exit){CLD_EXITED, 3};
    hub_publish(&rig->life->exit.known, 1);
    assert_ended(rig, RAPAHUB_EXIT_CODE, "exit status 3");
    rig->life->exit.how = (struct hub_exit){CLD_KILLED, SIGKILL};
    hub_publish(&rig->life->exit.cause, HOST_CAUSE_STALL);
    assert_int_equal(host_life_ended(rig->life, (char[64]){0}, 64), RAPAHUB_EXIT_WATCHDOG);
    rig->life->anonymous = true; /* only its parent learns its exit status */
    assert_int_equal(host_life_ended(rig->life, (char[64]){0}, 64), RAPAHUB_EXIT_WATCHDOG);
    hub_publish(&rig->life->exit.cause, HOST_CAUSE_NONE);
    assert_ended(rig, RAPAHUB_EXIT_LOST, "died; only its parent knows how");
    rig->life->goodbye.detached = true;
    snprintf(rig->life->goodbye.reason, sizeof rig->life->goodbye.reason, "done");
    assert_ended(rig, RAPAHUB_EXIT_CLEAN, "detached: done");
    rig->life->death.quarantined = true;
    rig->life->goodbye.detached = false;
    assert_ended(rig, RAPAHUB_EXIT_LOST, "it has no lock: nobody can prove that it is dead");
    rig->life->anonymous = rig->life->death.quarantined = false;
    close_rig(rig);
}

/* ---- all that it held is given back ---- */

static struct host_group *make_group(void)
{
    const struct hub_limits limits = pair_limits();
    const struct host_group_plan plan = {.number = 1, .shared = true};
    struct host_group *group = NULL;

    assert_int_equal(host_group_create(&limits, &plan, &group), 0);
    return group;
}

/* A life without a link in this group. */
static struct host_life *make_life(struct rig *rig, struct host_group *group, bool born)
{
    struct host_life *life = host_life_create(&rig->guest, &rig->host.owner.loop);

    assert_non_null(life);
    life->host = &rig->host;
    life->segment.group = group;
    assert_int_equal(host_group_enter(group, 1, &life->id.peer, &life->id.epoch), 0);
    life->segment.entered = true;
    if (born)
        life->process.pidfd = eventfd(1, EFD_CLOEXEC);
    return life;
}

/* r[verify shm.crash.recovery] r[verify hub.death.quarantine] */
static void the_entry_of_a_life_is_free_again_unless_its_death_is_not_proven(void **state)
{
    struct host_group *group = make_group();
    struct rig *rig = open_rig();

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct host_life *life = make_life(rig, group, i > 0);

        life->death.quarantined = i == 2;
        host_life_release(&life);
        assert_null(life);
        assert_int_equal(group->guests, 0);
        assert_int_equal(group->quarantined, i == 2);
    }
    host_group_release(&group);
    close_rig(rig);
}

static void the_descriptors_of_a_life_are_closed_with_it(void **state)
{
    struct rig *rig = open_rig();
    int pidfd = rig->life->process.pidfd, doorbell = rig->life->doorbell.fd;

    (void)state;
    rig->life->doorbell.watch = (struct host_watch){.fd = doorbell, .user = rig};
    assert_int_equal(host_life_listen(rig->life), 0);
    host_life_release(&rig->life);
    hub_closer_settle(rig->host.closer);
    assert_int_equal(fcntl(pidfd, F_GETFD), -1);
    assert_int_equal(fcntl(doorbell, F_GETFD), -1);
    assert_int_equal(host_loop_turn(&rig->host.owner.loop, 0), 0);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_work_and_makes_a_turn_come),
        cmocka_unit_test(an_answer_behind_a_request_is_work_too),
        cmocka_unit_test(an_owner_that_handles_its_events_is_not_woken),
        cmocka_unit_test(the_reason_of_a_goodbye_is_kept),
        cmocka_unit_test(a_hang_up_kills_a_guest_that_did_not_say_that_it_leaves),
        cmocka_unit_test(a_hang_up_of_a_dead_guest_ends_its_calls_at_once),
        cmocka_unit_test(an_anonymous_guest_is_dead_when_its_lock_is_free_too),
        cmocka_unit_test(only_a_guest_s_own_goodbye_is_one),
        cmocka_unit_test(the_first_cause_of_a_kill_counts),
        cmocka_unit_test(the_last_user_of_an_ended_life_makes_a_turn_come),
        cmocka_unit_test(the_end_of_a_call_is_explained_by_the_end_of_its_guest),
        cmocka_unit_test(the_end_of_a_guest_is_what_the_kernel_or_the_host_knows_of_it),
        cmocka_unit_test(the_entry_of_a_life_is_free_again_unless_its_death_is_not_proven),
        cmocka_unit_test(the_descriptors_of_a_life_are_closed_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
