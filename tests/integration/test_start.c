/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that cannot be started: each is refused with the reason, and leaves nothing over. */
#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/hosting.h"

static int spawn(struct hosting *on, const char *chimod)
{
    const struct rapahub_guest_options options = {.chimod = chimod};

    return rapahub_host_spawn(on->host, &options, &on->guest);
}

/* A module that is refused, with these words; the host is none the worse for it. */
static void refuse(const char *chimod, int code, const char *words)
{
    struct hosting on;
    int64_t sum = 0;

    open_host(&on, (struct rapahub_host_options){.guests_max = 1});
    assert_refused(spawn(&on, chimod), code, words);
    assert_int_equal(on.told.restart, 0);
    assert_done(start(&on, CALC, here, NULL));
    assert_done(add(&on, 1, 2, &sum));
    close_host(&on);
}

static void a_missing_module_is_named(void **state)
{
    (void)state;
    refuse("/nowhere/kv.so", RAPAHUB_ENOENT, "/nowhere/kv.so");
}

static void a_folder_is_no_module(void **state)
{
    (void)state;
    refuse("/tmp", RAPAHUB_ELOAD, "/tmp is a folder");
}

static void a_text_is_no_module(void **state)
{
    (void)state;
    refuse("/etc/passwd", RAPAHUB_ELOAD, "/etc/passwd is no ELF file");
}

/* A copy of a module with its head changed. */
static void refuse_changed(size_t at, uint16_t value, const char *words)
{
    char path[] = "/tmp/rapahub-test-XXXXXX", head[4096];
    int from = open(CALC, O_RDONLY | O_CLOEXEC), to = mkstemp(path);

    assert_true(from >= 0 && to >= 0);
    assert_int_equal(read(from, head, sizeof head), sizeof head);
    memcpy(head + at, &value, sizeof value);
    assert_int_equal(write(to, head, sizeof head), sizeof head);
    close(from);
    close(to);
    refuse(path, RAPAHUB_ELOAD, words);
    unlink(path);
}

static void a_module_for_another_machine_is_refused(void **state)
{
    (void)state;
    refuse_changed(offsetof(Elf64_Ehdr, e_machine), EM_RISCV, "risc-v");
}

static void a_program_is_no_module(void **state)
{
    (void)state;
    refuse_changed(offsetof(Elf64_Ehdr, e_type), ET_EXEC, "no shared object");
}

static void a_truncated_module_is_refused(void **state)
{
    (void)state;
    refuse_changed(offsetof(Elf64_Ehdr, e_type), ET_DYN, "a truncated ELF file");
}

static void a_library_without_the_symbol_is_refused(void **state)
{
    (void)state;
    refuse(MODULE("no_symbol"), RAPAHUB_ELOAD, "rapahub_chimod");
}

static void another_abi_is_refused(void **state)
{
    (void)state;
    refuse(MODULE("wrong_abi"), RAPAHUB_EABI, "abi 2");
}

static void a_constructor_that_crashes_is_told(void **state)
{
    (void)state;
    refuse(MODULE("constructor_crash"), RAPAHUB_ESTART,
           "constructor_crash did not start: signal SIGSEGV");
}

static void a_constructor_that_exits_is_told_with_its_last_line(void **state)
{
    (void)state;
    refuse(MODULE("constructor_exit"), RAPAHUB_ESTART,
           "constructor_exit did not start: exit status 3: no licence was found");
}

static void a_constructor_that_never_returns_is_killed(void **state)
{
    const struct rapahub_supervision hasty = {.start_timeout_ns = 300000000};
    const struct rapahub_guest_options options = {.chimod = MODULE("constructor_loop"),
                                                  .supervision = &hasty};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_spawn(on.host, &options, &on.guest), RAPAHUB_ESTART,
                   "constructor_loop was not ready after 300 ms: still in a constructor");
    close_host(&on);
}

static void a_plain_signature_without_a_symbol_is_refused(void **state)
{
    const char *const plain[] = {"lcm(u64, u64) -> u64", NULL};
    const struct rapahub_guest_options options = {.chimod = MODULE("plain"), .plain = plain};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_spawn(on.host, &options, &on.guest), RAPAHUB_ELOAD, "lcm");
    close_host(&on);
}

static void a_missing_guest_program_is_named(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.guest_program = "/nowhere/rapahub-guest"});
    assert_refused(spawn(&on, CALC), RAPAHUB_ENOENT, "/nowhere/rapahub-guest");
    close_host(&on);
}

static void a_full_host_takes_no_guest(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.guests_max = 1});
    assert_done(start(&on, CALC, here, NULL));
    assert_refused(spawn(&on, CALC), RAPAHUB_EFULL, "1 guests");
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_done(spawn(&on, CALC));
    close_host(&on);
}

static void strict_is_refused_for_there_is_no_jail(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = RAPAHUB_TRUST_STRICT};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_spawn(on.host, &options, &on.guest), RAPAHUB_ESANDBOX, "seccomp");
    close_host(&on);
}

static void what_this_release_does_not_know_is_refused(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = CALC, .reserved = {1}};
    const struct rapahub_host_options odd = {.reserved = {[7] = 1}}, ring = {.ring_size = 100};
    struct rapahub_host *host;
    struct hosting on;

    (void)state;
    assert_refused(rapahub_host_create(&odd, &host), RAPAHUB_EINVAL, "does not know");
    assert_refused(rapahub_host_create(&ring, &host), RAPAHUB_EINVAL, "ring");
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(rapahub_host_spawn(on.host, &guest, &on.guest), RAPAHUB_EINVAL, "know");
    close_host(&on);
}

/* A spawn at each number of descriptors that is too small: it fails, and undoes what it did. */
static void too_few_descriptors_are_told_and_leave_nothing(void **state)
{
    struct rlimit before, few;
    unsigned failures = 0;
    struct hosting on;
    int64_t sum;
    int next, r = -1;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    getrlimit(RLIMIT_NOFILE, &before);
    next = dup(0);
    close(next);
    few = before;
    for (int extra = 0; r < 0 && extra < 30; extra++) {
        few.rlim_cur = (rlim_t)(next + extra);
        setrlimit(RLIMIT_NOFILE, &few);
        r = spawn(&on, CALC);
        setrlimit(RLIMIT_NOFILE, &before);
        failures += r == RAPAHUB_EMFILE;
        if (r == RAPAHUB_EMFILE)
            assert_non_null(strstr(rapahub_last_error()->text, "RLIMIT_NOFILE"));
        if (getenv("TEST_LOG"))
            fprintf(stderr, "%d more: %s\n", extra, r < 0 ? rapahub_last_error()->text : "");
        assert_true(r == 0 || r == RAPAHUB_EMFILE || r == RAPAHUB_ELOAD || r == RAPAHUB_ESTART);
    }
    assert_true(failures > 5);
    assert_done(start(&on, CALC, here, NULL));
    assert_done(add(&on, 1, 2, &sum));
    close_host(&on);
}

/* A file size limit stands for a full /dev/shm: the space of a shared segment cannot be had. */
static void a_host_without_descriptors_is_told_of_the_limit(void **state)
{
    struct rapahub_host *host = NULL;
    struct rlimit before, few;
    int next = dup(0), r;

    (void)state;
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){(rlim_t)next, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    r = rapahub_host_create(&(struct rapahub_host_options){0}, &host);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_refused(r, RAPAHUB_EMFILE, "RLIMIT_NOFILE");
    assert_null(host);
}

static void a_segment_without_space_is_refused(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rlimit small = {1 << 20, RLIM_INFINITY};
    struct rlimit before;
    struct hosting on;
    int r;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    r = rapahub_host_spawn(on.host, &options, &on.guest);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_true(r < 0);
    assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
    close_host(&on);
}

/* In a process of its own, which a signal of the limit would end: 0 where `run` finds all well. */
static int apart(int (*run)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(run());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* A limit of this process, and what a start is refused with there: one text that has all words. */
struct below {
    __rlimit_resource_t resource;
    rlim_t value;
    int code;
    const char *words[3];
};

static bool is_refused(struct hosting *on, const struct below *below, enum rapahub_trust trust)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = trust};
    struct rlimit before, small;
    bool told = true;
    int r;

    getrlimit(below->resource, &before);
    small = (struct rlimit){below->value, before.rlim_max};
    setrlimit(below->resource, &small);
    r = rapahub_host_spawn(on->host, &options, &on->guest);
    setrlimit(below->resource, &before);
    for (int i = 0; i < 3; i++)
        told = told && strstr(rapahub_last_error()->text, below->words[i]);
    if (r != below->code || !told)
        fprintf(stderr, "%d: %s\n", r, rapahub_last_error()->text);
    return r == below->code && told;
}

static bool are_refused(struct hosting *on, const struct below *below)
{
    return is_refused(on, below, RAPAHUB_TRUST_STANDARD) &&
           is_refused(on, below, RAPAHUB_TRUST_TRUSTED);
}

/* The host is none the worse for it. */
static int end_well(struct hosting *on)
{
    bool works = start(on, CALC, here, NULL) == 0;

    rapahub_host_destroy(on->host);
    return works && !leak_end(on->leak) ? 0 : 2;
}

static int live_with_few_descriptors(void)
{
    static const struct below few = {RLIMIT_NOFILE,
                                     20,
                                     RAPAHUB_EMFILE,
                                     {"RLIMIT_NOFILE", "is 20", "descriptors more are needed"}};
    struct hosting on;

    open_host(&on, (struct rapahub_host_options){0});
    for (int taken = 0; taken < 16;)
        taken = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!are_refused(&on, &few))
        return 1;
    return start(&on, CALC, here, NULL) == 0 ? 0 : 2;
}

static int live_with_small_files(void)
{
    static const struct below module = {
        RLIMIT_FSIZE, 4096, RAPAHUB_EFBIG, {"RLIMIT_FSIZE", "is 4096 bytes", "copy the module"}};
    static const struct below segment = {
        RLIMIT_FSIZE, 1 << 20, RAPAHUB_EFBIG, {"RLIMIT_FSIZE", "is 1048576 bytes", "are needed"}};
    struct hosting on;

    open_host(&on, (struct rapahub_host_options){0});
    return are_refused(&on, &module) && are_refused(&on, &segment) ? end_well(&on) : 1;
}

static void a_limit_of_descriptors_is_named(void **state)
{
    (void)state;
    assert_int_equal(apart(live_with_few_descriptors), 0);
}

/* A process that writes beyond the limit without checking first is killed by SIGXFSZ. */
static void a_limit_of_file_sizes_is_named_and_kills_nobody(void **state)
{
    (void)state;
    assert_int_equal(apart(live_with_small_files), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_module_is_named),
        cmocka_unit_test(a_folder_is_no_module),
        cmocka_unit_test(a_text_is_no_module),
        cmocka_unit_test(a_module_for_another_machine_is_refused),
        cmocka_unit_test(a_program_is_no_module),
        cmocka_unit_test(a_truncated_module_is_refused),
        cmocka_unit_test(a_library_without_the_symbol_is_refused),
        cmocka_unit_test(another_abi_is_refused),
        cmocka_unit_test(a_constructor_that_crashes_is_told),
        cmocka_unit_test(a_constructor_that_exits_is_told_with_its_last_line),
        cmocka_unit_test(a_constructor_that_never_returns_is_killed),
        cmocka_unit_test(a_plain_signature_without_a_symbol_is_refused),
        cmocka_unit_test(a_missing_guest_program_is_named),
        cmocka_unit_test(a_full_host_takes_no_guest),
        cmocka_unit_test(strict_is_refused_for_there_is_no_jail),
        cmocka_unit_test(what_this_release_does_not_know_is_refused),
        cmocka_unit_test(too_few_descriptors_are_told_and_leave_nothing),
        cmocka_unit_test(a_host_without_descriptors_is_told_of_the_limit),
        cmocka_unit_test(a_segment_without_space_is_refused),
        cmocka_unit_test(a_limit_of_descriptors_is_named),
        cmocka_unit_test(a_limit_of_file_sizes_is_named_and_kills_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
