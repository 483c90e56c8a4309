/* SPDX-License-Identifier: Apache-2.0 */
/* process: programs started by a test, each with a deadline and a pidfd. No test waits for ever,
 * and none leaves a program behind: whoever is still there when its deadline passes is killed.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the build tree, which looks like an installed prefix, keeps things. */
#define PROCESS_RAPAHUB       TEST_PREFIX "/bin/rapahub"
#define PROCESS_CHIMOD(name)  TEST_PREFIX "/" TEST_LIBDIR "/rapahub/" name ".so"
#define PROCESS_LIBEXEC(name) TEST_PREFIX "/libexec/" name

#define PROCESS_OUTPUT_MAX ((size_t)1 << 20) /* kept of each stream; more is read and dropped */

struct process_options {     /* zero: the default named */
    const char *const *argv; /* ends with NULL; argv[0] is a path or a name on PATH; required */
    const char *const *variables; /* "NAME=value", ends with NULL; besides those of the test */
    const char *input;            /* text for stdin; none: /dev/null */
    const char *folder;           /* where it runs: here */
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

/* How it ended. process_result_fini releases it. */
struct process_result {
    bool timed_out;  /* killed at its deadline; `signal` is SIGKILL then */
    int status;      /* exit status; -1 if a signal ended it */
    int signal;      /* 0 if it exited */
    pid_t pid;       /* for leak_adopt */
    char *out, *err; /* never NULL, ended by NUL */
    size_t out_size, err_size;
};

/* A program whose tests all need processes ends with this where there can be none: ctest counts it
 * as skipped. */
#define PROCESS_SKIPPED 77

/* False where there are no pidfds, which is under valgrind only; says so on stderr. */
bool process_possible(void);

/* Starts and finishes it. 0, or -errno if it could not be started. */
int process_run(const struct process_options *options, struct process_result *out);

/* The same for a command line: process_run_argv((const char *[]){PROCESS_RAPAHUB, "ps", NULL}, &r).
 */
int process_run_argv(const char *const argv[], struct process_result *out);

/* 0, or -errno. Descriptors of the test are CLOEXEC, so the program gets 0, 1 and 2 only. The
 * signal mask is empty there; if this test dies, the program goes on: a ctest time-out is the last
 * net. */
int process_start(const struct process_options *options, struct process *out);

/* Reads its output until it holds `text` in stdout (or in stderr, `in_err`), it has ended, or
 * `within_ns` passed; true if the text is there. */
bool process_until_text(struct process *process, const char *text, bool in_err, uint64_t within_ns);

/* By pidfd: never a stranger. 0, or -errno. */
int process_kill(const struct process *process, int signal);

/* Closes its stdin, reads all output, waits for the end, kills it at its deadline, takes it. */
int process_finish(struct process *process, struct process_result *out);

void process_result_fini(struct process_result *result);

/* Looks every millisecond whether `holds`, for at most `within_ns`. For what gives no event. */
bool process_until(bool (*holds)(void *user), void *user, uint64_t within_ns);

#endif
