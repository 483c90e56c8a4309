/* SPDX-License-Identifier: Apache-2.0 */
/* A child that is forked from the process of a host and runs no other program: every public
 * function that takes a host, or something of one, refuses it there, and the parent is served as
 * before. check_handles.py looks that none is missing here. */
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/admit.h>
#include <rapahub/control.h>
#include <rapahub/route.h>
#include <rapahub/supervise.h>
#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"

#define PATIENCE 10 /* s: an answer that never comes ends the child by SIGALRM */

struct scene {
    struct hosting on;
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct rapahub_child_id child;
    struct rapahub_supervisor *supervisor;
    struct rapahub_observer *observer;
    struct rapahub_control *control;
    struct rapahub_loan loan;
    char folder[32], socket[64];
};

/* The memory that refused functions would write or call. */
static union {
    struct rapahub_guest_id guest;
    struct rapahub_child_id child;
    struct rapahub_child_status status;
    struct rapahub_report report;
    struct rapahub_snapshot snapshot;
    struct rapahub_loan loan;
    struct rapahub_request_id request;
    struct rapahub_upgrade_result upgrade;
    struct rapahub_node_id node;
    struct rapahub_observation observation;
    struct rapahub_supervisor *supervisor;
    struct rapahub_observer *observer;
    uint64_t number;
    size_t size;
    uint32_t small;
    char text[64];
} out;

static const struct rapahub_container_options container = {.id = {{9, 0}, 0}, .pool_name = "x"};
static const struct rapahub_guest_options plugin = {.chimod = CALC};
static const struct rapahub_supervisor_options below = {.name = "below"};
static const struct rapahub_upgrade_options upgrade = {.chimod = CALC};
static const struct rapahub_router router = {.begin = NULL};
static const struct rapahub_raw_call raw_call = {.target = {{1, 0}, 0}};
static const struct rapahub_raw_answer raw_answer = {.status = 0};
static const struct rapahub_method none[] = {RAPAHUB_METHOD_END};

static void visit_child(void *user, const struct rapahub_child_status *status)
{
    (void)user;
    (void)status;
}

static void visit_figure(void *user, const struct rapahub_figure *figure)
{
    (void)user;
    (void)figure;
}

static void visit_method(void *user, const char *signature)
{
    (void)user;
    (void)signature;
}

static void on_done(void *user, int status, const void *result)
{
    (void)user;
    (void)status;
    (void)result;
}

static const struct rapahub_step step = {.target = {{1, 0}, 0}, .on_done = on_done};
static const struct rapahub_question question = {.kind = RAPAHUB_QUESTION_WORK};

static void on_raw(void *user, const struct rapahub_raw_answer *answer)
{
    (void)user;
    (void)answer;
}

static void on_upgraded(void *user, int status, const struct rapahub_upgrade_result *result)
{
    (void)user;
    (void)status;
    (void)result;
}

/* ---- one attempt for each function ---- */

/* For a function that returns no code, the diagnosis has it. */
static int told(void)
{
    return rapahub_last_error()->code;
}

#define TRY(name, code)                          \
    static int try_##name(const struct scene *s) \
    {                                            \
        (void)s;                                 \
        return (code);                           \
    }

/* The way of a small call, from the second one on, or of a loan. */
static int call_bytes(const struct scene *s, const struct rapahub_loan *loan)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_bytes, &rapahub_type_bytes,
                                                       NULL};
    static uint64_t id;
    const struct rapahub_bytes in = {loan ? loan->data : "x", 1};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo",
                                      .types = types,
                                      .arguments = (const void *const[]){&in, NULL},
                                      .loan = (struct rapahub_loan *)(uintptr_t)loan,
                                      .method_id = &id};
    struct rapahub_bytes same;

    return rapahub_host_call(s->host, &call, &same);
}

static int call_any(const struct scene *s)
{
    const struct rapahub_call call = {.target = here, .method = "pid() -> i32"};
    int32_t pid;

    return rapahub_host_call(s->host, &call, &pid);
}

static int call_async(const struct scene *s)
{
    const int64_t a = 1, b = 2;
    const struct rapahub_call call = {.target = here,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&a, &b, NULL}};

    return rapahub_host_call_async(s->host, &call, on_done, NULL, &out.request);
}

TRY(rapahub_host_call, call_any(s))
TRY(rapahub_host_call_bytes, call_bytes(s, NULL))
TRY(rapahub_host_call_loan, call_bytes(s, &s->loan))
TRY(rapahub_host_call_async, call_async(s))
TRY(rapahub_host_cancel, (rapahub_host_cancel(s->host, (struct rapahub_request_id){1}), told()))
TRY(rapahub_host_cork, rapahub_host_cork(s->host, here, true))
TRY(rapahub_host_set_router, rapahub_host_set_router(s->host, &router))
TRY(rapahub_host_call_raw, rapahub_host_call_raw(s->host, &raw_call, on_raw, NULL, &out.request))
TRY(rapahub_host_offer_inquiries,
    rapahub_host_offer_inquiries(s->host, &(struct rapahub_container_options){.id = here},
                                 &(struct rapahub_inquiries){.begin = NULL}))
TRY(rapahub_host_answer_raw,
    rapahub_host_answer_raw(s->host, (struct rapahub_request_id){1}, &raw_answer))
TRY(rapahub_host_lease, (rapahub_host_lease(s->host, 0), told()))
TRY(rapahub_host_loan, rapahub_host_loan(s->host, here, 100, &out.loan))
TRY(rapahub_host_drop_loan,
    (out.loan = s->loan, rapahub_host_drop_loan(s->host, &out.loan), told()))
TRY(rapahub_host_fd, rapahub_host_fd(s->host))
TRY(rapahub_host_dispatch, rapahub_host_dispatch(s->host, 0))
TRY(rapahub_host_path, rapahub_host_path(s->host) ? 0 : told())
TRY(rapahub_host_quarantined, rapahub_host_quarantined(s->host) ? 0 : told())
TRY(rapahub_host_admit, rapahub_host_admit(s->host, NULL, NULL))
TRY(rapahub_host_spawn, rapahub_host_spawn(s->host, &plugin, &out.guest))
TRY(rapahub_host_stop, rapahub_host_stop(s->host, s->guest))
TRY(rapahub_host_stop_async, rapahub_host_stop_async(s->host, s->guest, on_done, NULL))
TRY(rapahub_host_kill, rapahub_host_kill(s->host, s->guest))
TRY(rapahub_host_add_container, rapahub_host_add_container(s->host, s->guest, &container))
TRY(rapahub_host_offer, rapahub_host_offer(s->host, &container, none, NULL))
TRY(rapahub_host_methods, rapahub_host_methods(s->host, here, visit_method, NULL))
TRY(rapahub_host_guest_methods, rapahub_host_guest_methods(s->host, s->guest, visit_method, NULL))
TRY(rapahub_host_region, rapahub_host_region(s->host, "news", NULL, NULL))
TRY(rapahub_host_subscriptions, rapahub_host_subscriptions(s->host, "news", NULL, NULL))
TRY(rapahub_host_guests, rapahub_host_guests(s->host, NULL, NULL))
TRY(rapahub_host_figures, rapahub_host_figures(s->host, s->guest, visit_figure, NULL))
TRY(rapahub_host_begin, rapahub_host_begin(s->host, s->guest, &container, RAPAHUB_BEGIN_INIT, NULL))
TRY(rapahub_host_plug, rapahub_host_plug(s->host, here, true))
TRY(rapahub_host_hold, rapahub_host_hold(s->host, here, true))
TRY(rapahub_host_drain, rapahub_host_drain(s->host, here, 1))
TRY(rapahub_host_work_remaining, rapahub_host_work_remaining(s->host, here, &out.number))
TRY(rapahub_host_save, rapahub_host_save(s->host, here, NULL))
TRY(rapahub_host_save_changes, rapahub_host_save_changes(s->host, here, NULL, NULL))
TRY(rapahub_host_load_changes, rapahub_host_load_changes(s->host, here, NULL))
TRY(rapahub_host_migrate, rapahub_host_migrate(s->host, here, (struct rapahub_node_id){0}))
TRY(rapahub_host_expand, rapahub_host_expand(s->host, here, (struct rapahub_node_id){0}))
TRY(rapahub_host_schedule_recover, rapahub_host_schedule_recover(s->host, here, here, &out.node))
TRY(rapahub_host_health, rapahub_host_health(s->host, here, &out.small))
TRY(rapahub_host_remove_container, rapahub_host_remove_container(s->host, here))
TRY(rapahub_host_begin_async,
    rapahub_host_begin_async(s->host, &step, s->guest, &container, RAPAHUB_BEGIN_INIT))
TRY(rapahub_host_plug_async, rapahub_host_plug_async(s->host, &step, true))
TRY(rapahub_host_drain_async, rapahub_host_drain_async(s->host, &step))
TRY(rapahub_host_remove_async, rapahub_host_remove_async(s->host, &step))
TRY(rapahub_host_ask_async, rapahub_host_ask_async(s->host, &step, &question))
TRY(rapahub_host_save_async, rapahub_host_save_async(s->host, &step))
TRY(rapahub_host_save_changes_async, rapahub_host_save_changes_async(s->host, &step))
TRY(rapahub_host_load_changes_async, rapahub_host_load_changes_async(s->host, &step))
TRY(rapahub_host_go_on, rapahub_host_go_on(s->host, NULL))
TRY(rapahub_host_supervisor, rapahub_host_supervisor(s->host, &out.supervisor))
TRY(rapahub_host_children, rapahub_host_children(s->host, visit_child, NULL))
TRY(rapahub_host_upgrade, rapahub_host_upgrade(s->host, s->guest, &upgrade, &out.upgrade))
TRY(rapahub_host_upgrade_async,
    rapahub_host_upgrade_async(s->host, s->guest, &upgrade, on_upgraded, NULL))
TRY(rapahub_supervisor_create, rapahub_supervisor_create(s->supervisor, &below, &out.supervisor))
TRY(rapahub_supervisor_stop, rapahub_supervisor_stop(s->supervisor, 1))
TRY(rapahub_supervisor_add, rapahub_supervisor_add(s->supervisor, &plugin, &out.child))
TRY(rapahub_supervisor_observe, rapahub_supervisor_observe(s->supervisor, NULL, &out.observer))
TRY(rapahub_supervisor_snapshot, rapahub_supervisor_snapshot(s->supervisor, NULL, 0, &out.snapshot))
TRY(rapahub_child_of, rapahub_child_of(s->host, s->guest, &out.child))
TRY(rapahub_child_add_container, rapahub_child_add_container(s->host, s->child, &container))
TRY(rapahub_child_start, rapahub_child_start(s->host, s->child, 1))
TRY(rapahub_child_stop, rapahub_child_stop(s->host, s->child, 1))
TRY(rapahub_child_stop_async, rapahub_child_stop_async(s->host, s->child, 1, on_done, NULL))
TRY(rapahub_child_restart, rapahub_child_restart(s->host, s->child, 1))
TRY(rapahub_child_reset, rapahub_child_reset(s->host, s->child))
TRY(rapahub_child_renew, rapahub_child_renew(s->host, s->child, 1))
TRY(rapahub_child_renew_async, rapahub_child_renew_async(s->host, s->child, 1, on_done, NULL))
TRY(rapahub_child_close, rapahub_child_close(s->host, s->child, 1))
TRY(rapahub_child_status, rapahub_child_status(s->host, s->child, &out.status))
TRY(rapahub_child_report, rapahub_child_report(s->host, s->child, 0, &out.report))
TRY(rapahub_child_log, rapahub_child_log(s->host, s->child, out.text, 1, &out.size))
TRY(rapahub_child_monitor, rapahub_child_monitor(s->host, s->child, s->child))
TRY(rapahub_child_demonitor, rapahub_child_demonitor(s->host, s->child, s->child))
TRY(rapahub_observer_fd, rapahub_observer_fd(s->observer))
TRY(rapahub_observer_read, rapahub_observer_read(s->observer, &out.observation, 1, &out.size))
TRY(rapahub_control_fd, rapahub_control_fd(s->control))
TRY(rapahub_control_dispatch, rapahub_control_dispatch(s->control))
TRY(rapahub_control_offer, rapahub_control_offer(s->control, "x", here.pool))
TRY(rapahub_control_withdraw, (rapahub_control_withdraw(s->control, "x"), told()))
TRY(rapahub_control_log, (rapahub_control_log(s->control, RAPAHUB_LOG_INFO, "", ""), told()))

/* These end the child's copy, and say nothing. */
TRY(rapahub_observer_close, (rapahub_observer_close(s->observer), RAPAHUB_ESTATE))
TRY(rapahub_control_close, (rapahub_control_close(s->control), RAPAHUB_ESTATE))
TRY(rapahub_host_destroy, (rapahub_host_destroy(s->host), RAPAHUB_ESTATE))

#define ENTRY(name)       \
    {                     \
#name, try_##name \
    }

static const struct {
    const char *name;
    int (*run)(const struct scene *scene);
} tries[] = {
    ENTRY(rapahub_host_call),
    ENTRY(rapahub_host_call_bytes),
    ENTRY(rapahub_host_call_loan),
    ENTRY(rapahub_host_call_async),
    ENTRY(rapahub_host_cancel),
    ENTRY(rapahub_host_cork),
    ENTRY(rapahub_host_set_router),
    ENTRY(rapahub_host_call_raw),
    ENTRY(rapahub_host_answer_raw),
    ENTRY(rapahub_host_offer_inquiries),
    ENTRY(rapahub_host_lease),
    ENTRY(rapahub_host_loan),
    ENTRY(rapahub_host_drop_loan),
    ENTRY(rapahub_host_fd),
    ENTRY(rapahub_host_dispatch),
    ENTRY(rapahub_host_path),
    ENTRY(rapahub_host_quarantined),
    ENTRY(rapahub_host_admit),
    ENTRY(rapahub_host_spawn),
    ENTRY(rapahub_host_stop),
    ENTRY(rapahub_host_stop_async),
    ENTRY(rapahub_host_kill),
    ENTRY(rapahub_host_add_container),
    ENTRY(rapahub_host_offer),
    ENTRY(rapahub_host_methods),
    ENTRY(rapahub_host_guest_methods),
    ENTRY(rapahub_host_region),
    ENTRY(rapahub_host_subscriptions),
    ENTRY(rapahub_host_guests),
    ENTRY(rapahub_host_figures),
    ENTRY(rapahub_host_begin),
    ENTRY(rapahub_host_plug),
    ENTRY(rapahub_host_hold),
    ENTRY(rapahub_host_drain),
    ENTRY(rapahub_host_work_remaining),
    ENTRY(rapahub_host_save),
    ENTRY(rapahub_host_save_changes),
    ENTRY(rapahub_host_load_changes),
    ENTRY(rapahub_host_migrate),
    ENTRY(rapahub_host_expand),
    ENTRY(rapahub_host_schedule_recover),
    ENTRY(rapahub_host_health),
    ENTRY(rapahub_host_remove_container),
    ENTRY(rapahub_host_begin_async),
    ENTRY(rapahub_host_plug_async),
    ENTRY(rapahub_host_drain_async),
    ENTRY(rapahub_host_remove_async),
    ENTRY(rapahub_host_ask_async),
    ENTRY(rapahub_host_save_async),
    ENTRY(rapahub_host_save_changes_async),
    ENTRY(rapahub_host_load_changes_async),
    ENTRY(rapahub_host_go_on),
    ENTRY(rapahub_host_supervisor),
    ENTRY(rapahub_host_children),
    ENTRY(rapahub_host_upgrade),
    ENTRY(rapahub_host_upgrade_async),
    ENTRY(rapahub_supervisor_create),
    ENTRY(rapahub_supervisor_stop),
    ENTRY(rapahub_supervisor_add),
    ENTRY(rapahub_supervisor_observe),
    ENTRY(rapahub_supervisor_snapshot),
    ENTRY(rapahub_child_of),
    ENTRY(rapahub_child_add_container),
    ENTRY(rapahub_child_start),
    ENTRY(rapahub_child_stop),
    ENTRY(rapahub_child_stop_async),
    ENTRY(rapahub_child_restart),
    ENTRY(rapahub_child_reset),
    ENTRY(rapahub_child_renew),
    ENTRY(rapahub_child_renew_async),
    ENTRY(rapahub_child_close),
    ENTRY(rapahub_child_status),
    ENTRY(rapahub_child_report),
    ENTRY(rapahub_child_log),
    ENTRY(rapahub_child_monitor),
    ENTRY(rapahub_child_demonitor),
    ENTRY(rapahub_observer_fd),
    ENTRY(rapahub_observer_read),
    ENTRY(rapahub_control_fd),
    ENTRY(rapahub_control_dispatch),
    ENTRY(rapahub_control_offer),
    ENTRY(rapahub_control_withdraw),
    ENTRY(rapahub_control_log),
    ENTRY(rapahub_observer_close),
    ENTRY(rapahub_control_close),
    ENTRY(rapahub_host_destroy),
};

/* ---- children ---- */

/* A child's status: 0 where the function refused, with its reason. */
static int child_of(const struct scene *scene, size_t i)
{
    pid_t child = fork();
    int status = -1, r;

    if (child == 0) {
        alarm(PATIENCE);
        rapahub_clear_error();
        r = tries[i].run(scene);
        _exit(r == RAPAHUB_ESTATE ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void *try_all(void *user)
{
    const struct scene *scene = user;
    unsigned *wrong = calloc(1, sizeof *wrong);

    for (size_t i = 0; wrong && i < sizeof tries / sizeof *tries; i++) {
        int status = child_of(scene, i);

        if (status != 0)
            print_error("%s: signal %d, status %d\n", tries[i].name, WTERMSIG(status),
                        WEXITSTATUS(status));
        *wrong += status != 0;
    }
    return wrong;
}

static void open_scene(struct scene *scene, const char *module, bool own_thread)
{
    struct rapahub_control_options control = {.name = "forked"};

    memset(scene, 0, sizeof *scene);
    open_host(&scene->on, (struct rapahub_host_options){.own_thread = own_thread});
    scene->host = scene->on.host;
    assert_done(start(&scene->on, module, here, NULL));
    scene->guest = scene->on.guest;
    assert_done(rapahub_child_of(scene->host, scene->guest, &scene->child));
    assert_done(rapahub_host_supervisor(scene->host, &scene->supervisor));
    assert_done(rapahub_supervisor_observe(scene->supervisor, NULL, &scene->observer));
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rapahub-forked-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->socket, sizeof scene->socket, "%s/socket", scene->folder);
    control.path = scene->socket;
    control.host = RAPAHUB_CONTROL_HOST(scene->host);
    assert_done(rapahub_control_open(&control, &scene->control));
    assert_done(rapahub_host_loan(scene->host, here, 100, &scene->loan));
}

/* Nothing of the parent's was touched: the same life answers, and its socket is there. */
static void close_scene(struct scene *scene, int32_t pid)
{
    assert_int_equal(call_bytes(scene, NULL), 0);
    assert_int_equal(pid_of(&scene->on), pid);
    assert_int_equal(access(scene->socket, F_OK), 0);
    rapahub_host_drop_loan(scene->host, &scene->loan);
    rapahub_observer_close(scene->observer);
    rapahub_control_close(scene->control);
    assert_int_equal(rmdir(scene->folder), 0);
    close_host(&scene->on);
}

/* By the thread that has called, whose memory of that is in the child, and by one that never has.
 */
static void check(bool own_thread)
{
    struct scene scene;
    pthread_t thread;
    unsigned *wrong;
    void *others;
    int32_t pid;

    open_scene(&scene, CALC, own_thread);
    for (int i = 0; i < 100; i++)
        assert_int_equal(call_bytes(&scene, NULL), 0);
    pid = pid_of(&scene.on);
    wrong = try_all(&scene);
    assert_int_equal(*wrong, 0);
    assert_int_equal(pthread_create(&thread, NULL, try_all, &scene), 0);
    assert_int_equal(pthread_join(thread, &others), 0);
    assert_int_equal(*(unsigned *)others, 0);
    free(wrong);
    free(others);
    close_scene(&scene, pid);
}

/* r[verify hub.host.fork] */
static void every_function_refuses_a_forked_child(void **state)
{
    (void)state;
    check(false);
}

/* r[verify hub.host.fork] */
static void also_where_the_library_has_the_thread(void **state)
{
    (void)state;
    check(true);
}

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* It has the descriptors that its parent had before there was a host. r[verify hub.host.fork] */
static void a_forked_child_gives_back_what_it_has(void **state)
{
    unsigned before = count_descriptors();
    struct scene scene;
    int32_t pid;
    pid_t child;
    int status;

    (void)state;
    open_scene(&scene, CALC, false);
    pid = pid_of(&scene.on);
    child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        rapahub_observer_close(scene.observer);
        rapahub_control_close(scene.control);
        rapahub_host_destroy(scene.host);
        _exit((int)(count_descriptors() - before));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close_scene(&scene, pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_refuses_a_forked_child),
        cmocka_unit_test(also_where_the_library_has_the_thread),
        cmocka_unit_test(a_forked_child_gives_back_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
