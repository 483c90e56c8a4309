/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors, environment and signals that a guest is born with; and nothing more. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/integration/hosting.h"

/* The descriptors of a process: "pipe:[123]", "/dev/null" … */
struct descriptors {
    char links[64][128]; /* "" : closed */
};

static void look_at(int32_t pid, struct descriptors *out)
{
    char path[64];

    for (int i = 0; i < 64; i++) {
        ssize_t n;

        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, i);
        n = readlink(path, out->links[i], sizeof out->links[i] - 1);
        out->links[i][n > 0 ? n : 0] = '\0';
    }
}

/* Both sides have the file of a segment that may grow. */
static bool is_shared_by_design(const char *link)
{
    return link[0] == '\0' || !strcmp(link, "/dev/null") || !strncmp(link, "anon_inode:", 11) ||
           !strncmp(link, "/dev/shm/", 9);
}

/* Its mapped and loaded files are closed. r[verify hub.spawn.closed] */
static void assert_no_memory_is_open(const struct descriptors *guest)
{
    for (int i = 0; i < 64; i++)
        assert_null(strstr(guest->links[i], "memfd:"));
}

static void assert_nothing_inherited(const struct descriptors *host,
                                     const struct descriptors *guest)
{
    for (int i = 3; i < 64; i++) /* 1 and 2 are pipes, both ends of which have one name */
        for (int j = 0; j < 64; j++)
            if (!is_shared_by_design(guest->links[i]))
                assert_string_not_equal(guest->links[i], host->links[j]);
}

/* A guest has none of the host's descriptors, even inheritable ones. r[verify hub.spawn.fds]
 * r[verify shm.spawn.ticket] r[verify shm.spawn.fd-inheritance] */
static void a_guest_has_its_own_descriptors_only(void **state)
{
    const enum rapahub_trust levels[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct rapahub_guest_options options = {.chimod = CALC, .trust = levels[i]};
        const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
        struct descriptors host, guest;
        struct hosting on;
        int leak[2];

        open_host(&on, (struct rapahub_host_options){0});
        assert_int_equal(pipe(leak), 0); /* not CLOEXEC: the embedder's own carelessness */
        assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
        assert_done(rapahub_host_add_container(on.host, on.guest, &container));
        look_at((int32_t)getpid(), &host);
        look_at(pid_of(&on), &guest);
        assert_string_equal(guest.links[0], "/dev/null");
        assert_int_equal(strncmp(guest.links[1], "pipe:", 5), 0);
        assert_int_equal(strncmp(guest.links[2], "pipe:", 5), 0);
        assert_int_equal(strncmp(guest.links[4], "socket:", 7), 0);
        assert_nothing_inherited(&host, &guest);
        assert_no_memory_is_open(&guest);
        close(leak[0]);
        close(leak[1]);
        close_host(&on);
    }
}

static bool has_variable(struct hosting *on, const char *name)
{
    const struct rapahub_string text = rapahub_string_of(name);
    bool there = false;

    assert_done(ask(on, "variable(string) -> bool", (const void *const[]){&text, NULL}, &there));
    return there;
}

static void open_with(struct hosting *on, enum rapahub_trust trust)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = trust};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};

    setenv("SECRET", "1", 1);
    setenv("RAPAHUB_SECRET", "1", 1);
    setenv("GLIBC_TUNABLES", "", 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    open_host(on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on->host, &options, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void a_standard_guest_sees_a_few_variables(void **state)
{
    struct hosting on;

    (void)state;
    open_with(&on, RAPAHUB_TRUST_STANDARD);
    assert_true(has_variable(&on, "PATH"));
    assert_false(has_variable(&on, "SECRET"));
    assert_false(has_variable(&on, "RAPAHUB_SECRET"));
    close_host(&on);
}

static void a_trusted_guest_sees_all_but_those_that_change_the_loader(void **state)
{
    struct hosting on;

    (void)state;
    open_with(&on, RAPAHUB_TRUST_TRUSTED);
    assert_true(has_variable(&on, "PATH"));
    assert_true(has_variable(&on, "SECRET"));
    assert_false(has_variable(&on, "RAPAHUB_SECRET"));
    assert_false(has_variable(&on, "GLIBC_TUNABLES"));
    close_host(&on);
}

/* A line of /proc/PID/status. */
static uint64_t status_line(int32_t pid, const char *name, int base)
{
    char path[64], text[4096];
    const char *line;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n > 0);
    text[n] = '\0';
    line = strstr(text, name);
    assert_non_null(line);
    return strtoull(line + strlen(name), NULL, base);
}

static void signals_are_as_a_program_expects_them(void **state)
{
    struct hosting on;
    sigset_t some;
    int32_t pid;

    (void)state;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    signal(SIGPIPE, SIG_IGN);
    open_calc(&on);
    pid = pid_of(&on);
    assert_int_equal(status_line(pid, "\nSigBlk:", 16), 0);
    assert_int_equal(status_line(pid, "\nSigIgn:", 16), 0);
    assert_int_equal(status_line(pid, "\nNoNewPrivs:", 10), 1);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &some, NULL);
    close_host(&on);
}

/* The number of the mapped file whose name has these words; 0: there is none. */
static unsigned long mapped(int32_t pid, const char *words)
{
    char path[64], line[512];
    unsigned long inode = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (inode == 0 && fgets(line, sizeof line, file))
        if (strstr(line, words))
            assert_int_equal(sscanf(line, "%*s %*s %*s %*s %lu", &inode), 1);
    fclose(file);
    return inode;
}

/* A module needs librapahub-guest.so: the program is that library, and no second one is loaded. */
static void a_guest_has_the_sdk_once(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_int_not_equal(mapped(pid_of(&on), "/rapahub-guest"), 0);
    assert_int_equal(mapped(pid_of(&on), "librapahub-guest"), 0);
    close_host(&on);
}

struct modules {
    unsigned long numbers[2];
    int count;
};

static void note_module(void *user, const struct rapahub_guest_status *status)
{
    struct modules *modules = user;

    if (modules->count < 2)
        modules->numbers[modules->count++] = mapped(status->pid, "memfd:rapahub-module");
}

/* A process with a descriptor of it can keep others from opening it, so a guest that is not trusted
 * has a copy of its own. */
static void trusted_guests_share_the_memory_of_a_module(void **state)
{
    const enum rapahub_trust levels[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct rapahub_guest_options options = {.chimod = CALC, .trust = levels[i]};
        struct modules modules = {.count = 0};
        struct rapahub_guest_id guest;
        struct hosting on;

        open_host(&on, (struct rapahub_host_options){0});
        assert_done(rapahub_host_spawn(on.host, &options, &guest));
        assert_done(rapahub_host_spawn(on.host, &options, &guest));
        assert_done(rapahub_host_guests(on.host, note_module, &modules));
        assert_int_not_equal(modules.numbers[0], 0);
        assert_int_equal(modules.numbers[0] == modules.numbers[1],
                         levels[i] == RAPAHUB_TRUST_TRUSTED);
        close_host(&on);
    }
}

/* Makes this process one of a terminal. */
static bool take_terminal(void)
{
    int end = posix_openpt(O_RDWR | O_NOCTTY), terminal;

    if (end < 0 || grantpt(end) < 0 || unlockpt(end) < 0 || setsid() < 0)
        return false;
    terminal = open(ptsname(end), O_RDWR); /* this makes it the session's */
    return terminal >= 0 && tcgetsid(terminal) == getpid();
}

/* 0: the terminal is the host's alone. */
static int host_of_a_terminal(void)
{
    bool there = true;
    struct hosting on;
    int32_t pid;

    if (!take_terminal())
        return 10;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, NULL));
    pid = pid_of(&on);
    assert_done(ask(&on, "terminal() -> bool", NULL, &there));
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(getsid(pid), getpid());
    close_host(&on);
    return there;
}

/* r[verify hub.spawn.group] */
static void a_guest_is_in_its_hosts_session_without_its_terminal(void **state)
{
    int status = 0;
    pid_t host;

    (void)state;
    host = fork();
    assert_true(host >= 0);
    if (host == 0)
        _exit(host_of_a_terminal());
    assert_int_equal(waitpid(host, &status, 0), host);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void many_guests_start_and_end(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.guests_max = 40});
    for (uint32_t i = 0; i < 40; i++) {
        const struct rapahub_container_id id = {.pool = {1, 0}, .container = i};

        assert_done(start(&on, CALC, id, NULL));
    }
    assert_int_equal(on.told.ready, 40);
    close_host(&on);
    assert_int_equal(on.told.down, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_has_its_own_descriptors_only),
        cmocka_unit_test(a_standard_guest_sees_a_few_variables),
        cmocka_unit_test(a_trusted_guest_sees_all_but_those_that_change_the_loader),
        cmocka_unit_test(signals_are_as_a_program_expects_them),
        cmocka_unit_test(a_guest_has_the_sdk_once),
        cmocka_unit_test(trusted_guests_share_the_memory_of_a_module),
        cmocka_unit_test(a_guest_is_in_its_hosts_session_without_its_terminal),
        cmocka_unit_test(many_guests_start_and_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
