/* SPDX-License-Identifier: Apache-2.0 */
/* rapahubd: the program rapahubd with the node of fake_node.c, in folders of its own. */
#ifndef TESTS_CLUSTER_RAPAHUBD_H
#define TESTS_CLUSTER_RAPAHUBD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define RAPAHUBD_WITHIN  (20 * HUB_SECOND)
#define RAPAHUBD_OPTIONS 8
#define RAPAHUBD_INLINE  __attribute__((unused)) static

struct rapahubd {
    char root[64], data[96], run[96]; /* `run` as rapahub looks for it in XDG_RUNTIME_DIR=root */
    struct process process;           /* the warden */
};

/* How often to repeat something: more in the long run. */
RAPAHUBD_INLINE unsigned rapahubd_rounds(unsigned few)
{
    const char *text = getenv("RAPAHUB_TEST_ROUNDS");

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    few = (few + 3) / 4; /* a start takes four times as long */
#endif
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : few;
}

/* With settings that are no machine's. */
RAPAHUBD_INLINE void rapahubd_make(struct rapahubd *d)
{
    char config[128];

    memset(d, 0, sizeof *d);
    snprintf(d->root, sizeof d->root, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(d->root));
    snprintf(config, sizeof config, "%s/empty.yaml", d->root);
    close(open(config, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    snprintf(d->data, sizeof d->data, "%s/data", d->root);
    snprintf(d->run, sizeof d->run, "%s/rapahub", d->root);
}

RAPAHUBD_INLINE int rapahubd_forget(const char *name, const struct stat *status, int kind,
                                    struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(name);
}

RAPAHUBD_INLINE void rapahubd_remove(struct rapahubd *d)
{
    (void)nftw(d->root, rapahubd_forget, 8, FTW_DEPTH | FTW_PHYS);
}

/* `fake` is FAKE_NODE, `more` another variable or NULL; the options are ended by NULL. */
RAPAHUBD_INLINE struct process rapahubd_start(const struct rapahubd *d, const char *fake,
                                              const char *const *more, const char *const *options)
{
    char data[128], run[128], words[128], config[128];
    const char *argv[RAPAHUBD_OPTIONS + 4] = {RAPAHUBD, data, run};
    const char *variables[6] = {words, config,
                                "RAPAHUB_GUEST=" PROCESS_LIBEXEC("rapahub/rapahub-guest")};
    const struct process_options how = {
        .argv = argv, .variables = variables, .within_ns = 900 * HUB_SECOND};
    struct process process;

    snprintf(data, sizeof data, "--data=%s", d->data);
    snprintf(run, sizeof run, "--run=%s", d->run);
    snprintf(words, sizeof words, "FAKE_NODE=%s", fake);
    snprintf(config, sizeof config, "RAPAHUB_CONFIG=%s/empty.yaml", d->root);
    for (unsigned i = 0; options && options[i]; i++)
        argv[3 + i] = options[i];
    for (unsigned i = 0; more && more[i]; i++)
        variables[3 + i] = more[i];
    assert_int_equal(process_start(&how, &process), 0);
    return process;
}

/* The process of the last life that began; 0: none did. */
RAPAHUBD_INLINE pid_t rapahubd_life(const struct rapahubd *d)
{
    const char *at = d->process.err, *next;
    pid_t pid = 0;

    while ((next = strstr(at, "fake: life "))) {
        at = next + strlen("fake: life ");
        pid = (pid_t)strtol(at, NULL, 10);
    }
    return strstr(at, ": serves '") ? pid : 0;
}

/* Waits until another daemon than `before` serves. 0: the warden has ended. */
RAPAHUBD_INLINE pid_t rapahubd_serves(struct rapahubd *d, pid_t before)
{
    uint64_t deadline = hub_clock_after(RAPAHUBD_WITHIN);
    pid_t life = 0;

    while ((life == 0 || life == before) && hub_clock_left(deadline) > 0) {
        (void)process_until_text(&d->process, "no such text", true, 2 * HUB_MILLISECOND);
        life = rapahubd_life(d);
        if (d->process.error < 0)
            break;
    }
    return life == before ? 0 : life;
}

/* The state of a process, as /proc has it; 0: it is not there. */
RAPAHUBD_INLINE char rapahubd_state_of(pid_t pid)
{
    char path[64], text[512] = "";
    const char *after = NULL;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file) {
        after = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
        (void)fclose(file);
    }
    return after ? after[2] : '\0';
}

RAPAHUBD_INLINE bool rapahubd_is_dead(pid_t pid)
{
    char state = rapahubd_state_of(pid);

    return state == '\0' || state == 'Z';
}

/* The numbers in a file of the data folder, the first of each line. Returns how many. */
RAPAHUBD_INLINE unsigned rapahubd_numbers(const struct rapahubd *d, const char *name, pid_t *to,
                                          unsigned most)
{
    char path[160], line[64];
    unsigned count = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", d->data, name);
    file = fopen(path, "re");
    while (file && count < most && fgets(line, sizeof line, file))
        to[count++] = (pid_t)strtol(line, NULL, 10);
    if (file)
        (void)fclose(file);
    return count;
}

RAPAHUBD_INLINE bool rapahubd_guests_are_dead(void *user)
{
    pid_t guests[8];
    unsigned count = rapahubd_numbers(user, "guests", guests, 8);

    for (unsigned i = 0; i < count; i++)
        if (!rapahubd_is_dead(guests[i]))
            return false;
    return true;
}

RAPAHUBD_INLINE bool rapahubd_lock_is_free(const struct rapahubd *d)
{
    char path[160];
    int fd, r;

    snprintf(path, sizeof path, "%s/lock", d->data);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    r = flock(fd, LOCK_EX | LOCK_NB);
    close(fd);
    return r == 0;
}

RAPAHUBD_INLINE bool rapahubd_is_empty(const char *folder)
{
    DIR *list = opendir(folder);
    unsigned count = 0;

    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count <= 2;
}

/* No process, no lock, no socket; and no guest of any life was alive when the next one began. */
RAPAHUBD_INLINE void rapahubd_expect_nothing(struct rapahubd *d)
{
    pid_t alive[4];

    assert_true(rapahubd_guests_are_dead(d));
    assert_true(rapahubd_lock_is_free(d));
    assert_true(rapahubd_is_empty(d->run));
    assert_int_equal(rapahubd_numbers(d, "alive", alive, 4), 0);
}

/* Ends it by a signal, 0: it ends by itself; and looks at what it leaves. No signal may come then:
 * SIGCONT would have LeakSanitizer, which stops the threads of a process that ends, wait for ever.
 */
RAPAHUBD_INLINE void rapahubd_end(struct rapahubd *d, int number, int status)
{
    struct process_result result;

    assert_int_equal(process_kill(&d->process, number), 0);
    assert_int_equal(process_finish(&d->process, &result), 0);
    if (result.status != status)
        fail_msg("status %d, signal %d: %s", result.status, result.signal, result.err);
    process_result_fini(&result);
    rapahubd_expect_nothing(d);
}

#endif
