/* SPDX-License-Identifier: Apache-2.0 */
/* process: programs that a test starts, each with a deadline and a pidfd. No test waits forever,
 * and no program outlives its test: a program that still runs at its deadline is killed. */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Paths in the build tree, which is laid out like an installed prefix. */
#define PROCESS_RAPAHUB       TEST_PREFIX "/bin/rapahub"
#define PROCESS_CHIMOD(name)  TEST_PREFIX "/" TEST_LIBDIR "/rapahub/" name ".so"
#define PROCESS_LIBEXEC(name) TEST_PREFIX "/libexec/" name

/* bytes kept of each stream; more is read and dropped */
#define PROCESS_OUTPUT_MAX ((size_t)1 << 20)

struct process_options {     /* zero: the default given */
    const char *const *argv; /* ends with NULL; argv[0] is a path or a name on PATH; required */
    const char *const *variables; /* "NAME=value", ends with NULL; added to those of the test */
    const char *input;            /* text for stdin; none: /dev/null */
    const char *folder;           /* the working folder: the test's */
    uint64_t within_ns;           /* deadline of process_finish; 30 s */
};

struct process {
    pid_t pid;
    int pidfd;
    int output, error, input; /* our ends of the pipes; -1 once closed */
    uint64_t deadline_ns;
    char *out, *err; /* so far, each ended by NUL */
    size_t out_size, err_size;
};

/* How the process ended. process_result_fini releases it. */
struct process_result {
    bool timed_out;  /* killed at its deadline; `signal` is SIGKILL then */
    int status;      /* exit status; -1 if a signal ended it */
    int signal;      /* 0 if it exited */
    pid_t pid;       /* for leak_adopt */
    char *out, *err; /* never NULL, ended by NUL */
    size_t out_size, err_size;
};

/* Exit status of a test program that needs processes where there can be none: ctest counts it as
 * skipped. */
#define PROCESS_SKIPPED 77

/* False if there are no pidfds, which happens only under valgrind; says so on stderr. */
bool process_possible(void);

/* Starts a program and finishes it. Returns 0, or -errno if it could not be started. */
int process_run(const struct process_options *options, struct process_result *out);

/* The same for a command line: process_run_argv((const char *[]){PROCESS_RAPAHUB, "ps", NULL},
 * &r). */
int process_run_argv(const char *const argv[], struct process_result *out);

/* Starts a program. Returns 0, or -errno. Descriptors of the test are CLOEXEC, so the program gets
 * only 0, 1 and 2. Its signal mask is empty. If this test dies, the program continues until the
 * time-out of ctest. */
int process_start(const struct process_options *options, struct process *out);

/* Reads the output until stdout (or stderr, if `in_err`) contains `text`, the program has ended, or
 * `within_ns` passed. True if the text is there. */
bool process_until_text(struct process *process, const char *text, bool in_err, uint64_t within_ns);

/* Kills by pidfd, so never another process. Returns 0, or -errno. */
int process_kill(const struct process *process, int signal);

/* Closes stdin, reads all output, waits for the end, kills the program at its deadline, and reaps
 * it. */
int process_finish(struct process *process, struct process_result *out);

void process_result_fini(struct process_result *result);

/* Checks `holds` every millisecond, for at most `within_ns`. For conditions without an event. */
bool process_until(bool (*holds)(void *user), void *user, uint64_t within_ns);

#endif
