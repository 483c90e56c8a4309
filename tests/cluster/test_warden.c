/* SPDX-License-Identifier: Apache-2.0 */
/* warden: what follows the death of a daemon, on real processes. */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cluster/rapahubd.h"

#define ROUNDS 20

static struct rapahubd d;

static int begin(void **state)
{
    (void)state;
    rapahubd_make(&d);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rapahubd_remove(&d);
    return 0;
}

static void start(const char *fake, const char *const *more, const char *const *options)
{
    d.process = rapahubd_start(&d, fake, more, options);
}

static unsigned count_fds(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    DIR *list;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    list = opendir(path);
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

/* Children of the warden that are dead and not reaped. */
static unsigned count_zombies(void)
{
    char path[96];
    unsigned count = 0;
    FILE *list;
    int pid;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)d.process.pid,
             (int)d.process.pid);
    list = fopen(path, "re");
    while (list && fscanf(list, "%d", &pid) == 1)
        count += rapahubd_state_of(pid) == 'Z';
    if (list)
        (void)fclose(list);
    return count;
}

/* r[verify cluster.warden.ends] r[verify cluster.warden.restart] */
static void nothing_of_a_killed_daemon_is_alive_when_the_next_begins(void **state)
{
    const char *const options[] = {"--warden-reset-after=1us", NULL};
    unsigned rounds = rapahubd_rounds(ROUNDS), fds = 0;
    uint64_t begun_ns, longest = 0;
    pid_t life;

    (void)state;
    start("", NULL, options);
    life = rapahubd_serves(&d, 0);
    for (unsigned i = 0; i < rounds; i++) {
        fds = i == 0 ? count_fds(d.process.pid) : fds;
        assert_true(life > 0);
        begun_ns = hub_clock_now();
        assert_int_equal(kill(life, SIGKILL), 0);
        life = rapahubd_serves(&d, life);
        longest = hub_clock_now() - begun_ns > longest ? hub_clock_now() - begun_ns : longest;
        assert_int_equal(count_zombies(), 0);
        assert_int_equal(count_fds(d.process.pid), fds);
    }
    print_message("daemons killed | %u | longest until the next serves | %.1f ms\n", rounds,
                  (double)longest / 1e6);
    rapahubd_end(&d, SIGTERM, 0);
}

/* Says whether a descriptor of a process leads to something whose name has this part. */
static bool has_fd(pid_t pid, const char *part)
{
    char path[64], file[400], to[512];
    const struct dirent *entry;
    bool found = false;
    DIR *list;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    list = opendir(path);
    while (list && !found && (entry = readdir(list))) {
        ssize_t size;

        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        size = readlink(file, to, sizeof to - 1);
        to[size > 0 ? size : 0] = '\0';
        found = strstr(to, part) != NULL;
    }
    if (list)
        closedir(list);
    return found;
}

static pid_t guest_of(pid_t life)
{
    const char *at = strstr(d.process.err, "fake: ready in ");

    (void)life;
    at = at ? strstr(at, "pid ") : NULL;
    return at ? (pid_t)strtol(at + 4, NULL, 10) : 0;
}

/* r[verify cluster.warden.lock] r[verify cluster.daemon.notify] */
static void guests_have_neither_lock_nor_sockets_of_the_daemon(void **state)
{
    const char *const more[] = {"FAKE_GUEST=" PROCESS_CHIMOD("echo"),
                                "NOTIFY_SOCKET=@rapahub-test-none", NULL};
    char path[64], variables[20000];
    pid_t life, guest;
    FILE *file;

    (void)state;
    start("", more, NULL);
    life = rapahubd_serves(&d, 0);
    guest = guest_of(life);
    assert_true(life > 0 && guest > 0);
    assert_int_equal(getpgid(life), life); /* the keys of a terminal reach it by the warden alone */
    assert_true(has_fd(life, "/data/lock") && has_fd(life, "pidfd"));
    assert_false(has_fd(guest, "/data/lock") || has_fd(guest, "pidfd"));
    assert_false(has_fd(guest, "signalfd") || has_fd(guest, "/rapahub/"));
    snprintf(path, sizeof path, "/proc/%d/environ", (int)life); /* guests have less */
    file = fopen(path, "re");
    variables[fread(variables, 1, sizeof variables - 1, file)] = '\0';
    (void)fclose(file);
    for (const char *at = variables; *at; at += strlen(at) + 1)
        assert_true(strncmp(at, "NOTIFY_SOCKET", 13) != 0);
    assert_int_equal(kill(life, SIGKILL), 0);
    assert_true(rapahubd_serves(&d, life) > 0);
    assert_true(rapahubd_is_dead(guest));
    rapahubd_end(&d, SIGTERM, 0);
}

/* A stopped warden holds nobody up; what it missed is done when it goes on. */
static void a_warden_that_is_stopped_goes_on_later(void **state)
{
    pid_t life, next;

    (void)state;
    start("", NULL, NULL);
    life = rapahubd_serves(&d, 0);
    assert_int_equal(process_kill(&d.process, SIGSTOP), 0);
    pause_ms(300);
    assert_false(rapahubd_is_dead(life));
    assert_int_equal(kill(life, SIGKILL), 0);
    pause_ms(100);
    assert_int_equal(process_kill(&d.process, SIGCONT), 0);
    next = rapahubd_serves(&d, life);
    assert_true(next > 0);

    assert_int_equal(process_kill(&d.process, SIGSTOP), 0);
    assert_int_equal(kill(next, SIGTERM), 0); /* it ends in order without its warden */
    pause_ms(100);
    assert_int_equal(process_kill(&d.process, SIGCONT), 0);
    rapahubd_end(&d, 0, 0);
}

/* r[verify cluster.warden.restart] */
static void a_daemon_that_cannot_live_is_an_alarm_and_is_tried_on(void **state)
{
    const char *const options[] = {"--warden-budget=3/60s", "--warden-backoff-initial=20ms",
                                   "--warden-backoff-max=50ms", NULL};

    (void)state;
    start("dies", NULL, options);
    assert_true(
        process_until_text(&d.process, "ALARM: rapahubd died 3 times", true, RAPAHUBD_WITHIN));
    for (int i = 0; i < 3; i++)
        assert_true(
            process_until_text(&d.process, "is tried again every 50.0 ms", true, RAPAHUBD_WITHIN));
    assert_int_equal(process_kill(&d.process, SIGTERM), 0);
    {
        struct process_result result;

        assert_int_equal(process_finish(&d.process, &result), 0);
        assert_true(result.status == 0 || result.status == 128 + SIGKILL);
        process_result_fini(&result);
    }
    assert_true(rapahubd_guests_are_dead(&d) && rapahubd_lock_is_free(&d));
}

static void make_file(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", d.data, name);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void remove_file(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", d.data, name);
    (void)unlink(path);
}

/* A node that must not go on ends its daemon, which is started again. */
static void a_node_that_fails_is_begun_again(void **state)
{
    pid_t life;

    (void)state;
    start("broken", NULL, NULL);
    life = rapahubd_serves(&d, 0);
    make_file("break");
    assert_true(process_until_text(&d.process, "has ended: status 1", true, RAPAHUBD_WITHIN));
    remove_file("break");
    assert_true(rapahubd_serves(&d, life) > 0);
    rapahubd_end(&d, SIGTERM, 0);
}

/* ---- the service manager ---- */

static char manager_variable[64];

/* In a name of this process's own. */
static int listen_as_manager(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct timeval most = {0, 1000};
    char name[32];

    snprintf(name, sizeof name, "rapahub-manager-%d", (int)getpid());
    snprintf(manager_variable, sizeof manager_variable, "NOTIFY_SOCKET=@%s", name);
    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%s", name);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name))), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
    return fd;
}

/* Says whether a line comes within the time. */
static bool hears(int fd, const char *line, uint64_t within_ns)
{
    uint64_t deadline = hub_clock_after(within_ns);
    char text[1024];

    while (hub_clock_left(deadline) > 0) {
        ssize_t size = recv(fd, text, sizeof text - 1, 0);

        text[size > 0 ? size : 0] = '\0';
        if (size > 0 && strstr(text, line))
            return true;
    }
    return false;
}

static void drain(int fd)
{
    char text[1024];

    while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
        continue;
}

/* r[verify cluster.daemon.notify] */
static void the_service_manager_hears_as_long_as_the_loop_turns(void **state)
{
    const char *const more[] = {manager_variable, "WATCHDOG_USEC=2000000", NULL};
    int fd = listen_as_manager();
    char line[64];
    pid_t life;

    (void)state;
    start("sticks", more, NULL);
    snprintf(line, sizeof line, "READY=1\nMAINPID=%d\n", (int)d.process.pid);
    assert_true(hears(fd, line, RAPAHUBD_WITHIN));
    life = rapahubd_serves(&d, 0);
    for (int i = 0; i < 3; i++)
        assert_true(hears(fd, "WATCHDOG=1", 2 * HUB_SECOND));
    make_file("stick");
    pause_ms(300); /* until it is seen, and what was on its way has come */
    drain(fd);
    assert_false(hears(fd, "WATCHDOG=1", 1500 * HUB_MILLISECOND));
    remove_file("stick");
    assert_true(hears(fd, "WATCHDOG=1", RAPAHUBD_WITHIN));
    assert_int_equal(kill(life, SIGKILL), 0);
    assert_true(hears(fd, "STATUS=rapahubd died", RAPAHUBD_WITHIN));
    assert_true(hears(fd, "READY=1", RAPAHUBD_WITHIN));
    assert_true(rapahubd_serves(&d, life) > 0);
    assert_int_equal(process_kill(&d.process, SIGTERM), 0);
    assert_true(hears(fd, "STOPPING=1", RAPAHUBD_WITHIN));
    close(fd);
    rapahubd_end(&d, 0, 0);
}

/* r[verify cluster.daemon.notify] */
static void the_service_manager_hears_while_there_is_no_daemon(void **state)
{
    const char *const more[] = {manager_variable, "WATCHDOG_USEC=2000000", NULL};
    const char *const options[] = {"--warden-budget=1/60s", "--warden-backoff-initial=60s",
                                   "--warden-backoff-max=60s", NULL};
    int fd = listen_as_manager();

    (void)state;
    start("dies", more, options);
    assert_true(process_until_text(&d.process, "ALARM", true, RAPAHUBD_WITHIN));
    for (int i = 0; i < 3; i++)
        assert_true(hears(fd, "WATCHDOG=1", 2 * HUB_SECOND));
    close(fd);
    rapahubd_end(&d, SIGTERM, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_of_a_killed_daemon_is_alive_when_the_next_begins),
        TEST(guests_have_neither_lock_nor_sockets_of_the_daemon),
        TEST(a_warden_that_is_stopped_goes_on_later),
        TEST(a_daemon_that_cannot_live_is_an_alarm_and_is_tried_on),
        TEST(a_node_that_fails_is_begun_again),
        TEST(the_service_manager_hears_as_long_as_the_loop_turns),
        TEST(the_service_manager_hears_while_there_is_no_daemon)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
