/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/imports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/daemon/process.h"
#include "hub/base/clock.h"
#include "hub/base/names.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define TOPIC     "rapahubd"
#define SUFFIX    ".yaml"
#define FILE_NAME 64                /* bytes of a name */
#define FILE_SIZE ((off_t)1 << 20)  /* bytes of a file */
#define WITHIN_NS (60 * HUB_SECOND) /* for a file */
#define TEXT      1024

static void tell(const char *name, const char *why)
{
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "restart/%.100s: not applied, and kept: %s", name, why);
}

/* ---- which files ---- */

static bool has_suffix(const char *name)
{
    size_t size = strlen(name), end = strlen(SUFFIX);

    return size > end && strcmp(name + size - end, SUFFIX) == 0;
}

/* The name becomes a word of a command line, and a part of lines of the log. */
static bool is_plain(const char *name)
{
    return name[0] != '-' && name[0] != '.' && strlen(name) < FILE_NAME &&
           strspn(name, HUB_NAMES_LETTERS) == strlen(name);
}

/* Says why a file is not to be read; NULL: it may be. */
static const char *refuse_file(int folder, const char *name)
{
    struct stat status;

    if (!is_plain(name))
        return "its name has more than letters, digits, '_', '-' and '.', or is too long";
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return "it cannot be looked at";
    if (!S_ISREG(status.st_mode))
        return "it is no plain file; copy it into one";
    if (status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return "it is another user's, or others may write to it";
    return status.st_size > FILE_SIZE ? "it has more than 1 MiB" : NULL;
}

/* A name of anybody, as a line can have it. */
static void print_name(const char *name, char to[FILE_NAME])
{
    size_t size = 0;

    for (; size < FILE_NAME - 1 && name[size]; size++)
        to[size] = strchr(HUB_NAMES_LETTERS, name[size]) ? name[size] : '?';
    to[size] = '\0';
}

static void take_name(struct daemon_imports *imports, int folder, const char *name)
{
    const char *why = refuse_file(folder, name);
    char shown[FILE_NAME];

    if (!why && imports->count == DAEMON_IMPORTS_FILES)
        why = "there are too many files at once; the next start goes on";
    if (!why) {
        imports->names[imports->count] = strdup(name);
        why = imports->names[imports->count] ? NULL : "no memory";
    }
    if (!why) {
        imports->count++;
        return;
    }
    print_name(name, shown);
    tell(shown, why);
}

static int compare(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static void list_files(struct daemon_imports *imports)
{
    OWN(hub_fd)
    int folder = open(imports->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
    const struct dirent *entry;

    imports->names = calloc(DAEMON_IMPORTS_FILES, sizeof *imports->names);
    if (!list || !imports->names)
        goto done;
    while ((entry = readdir(list)))
        if (has_suffix(entry->d_name))
            take_name(imports, folder, entry->d_name);
    qsort(imports->names, imports->count, sizeof *imports->names, compare);
done:
    if (list) {
        (void)TAKE(folder); /* it is the list's */
        closedir(list);
    }
}

/* ---- the process ---- */

static int start(struct daemon_imports *imports, const char *name)
{
    char path[DAEMON_IMPORTS_FOLDER + FILE_NAME];
    char words[][12] = {"rapahub", "apply", "--once",    "-q",  "-o", "name",
                        "--color", "never", "--timeout", "50s", "-f", "--node"};
    char *const arguments[] = {words[0],  words[1], words[2],  words[3],      words[4],
                               words[5],  words[6], words[7],  words[8],      words[9],
                               words[10], path,     words[11], imports->node, NULL};
    int ends[2], r;

    snprintf(path, sizeof path, "%s/%s", imports->folder, name);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return rapahub_fail(-errno, "", "no pipe: %s", strerrordesc_np(errno));
    r = daemon_process_command(arguments, ends[1], &imports->pid, &imports->pidfd);
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    imports->output = ends[0];
    imports->deadline_ns = hub_clock_after(WITHIN_NS);
    return 0;
}

/* Begins with the next file that a process can be started for. */
static void start_next(struct daemon_imports *imports)
{
    while (imports->pidfd < 0 && imports->at < imports->count) {
        const char *name = imports->names[imports->at++];

        if (start(imports, name) < 0) {
            tell(name, rapahub_last_error()->text);
            rapahub_clear_error();
        }
    }
}

/* The first line of what it said is what was wrong. */
static void read_reason(const struct daemon_imports *imports, char to[TEXT])
{
    static const char error[] = "error: ";
    ssize_t size = read(imports->output, to, TEXT - 1);
    char *at;

    to[size > 0 ? size : 0] = '\0';
    at = strstr(to, error);
    if (at)
        memmove(to, at + sizeof error - 1, strlen(at + sizeof error - 1) + 1);
    to[strcspn(to, "\n")] = '\0';
    for (at = to; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    if (!to[0])
        snprintf(to, TEXT, "rapahub has died, or taken more than %d s",
                 (int)(WITHIN_NS / HUB_SECOND));
}

static void end_process(struct daemon_imports *imports, siginfo_t *info)
{
    while (waitid(P_PIDFD, (id_t)imports->pidfd, info, WEXITED) < 0 && errno == EINTR)
        continue;
    hub_fd_release(&imports->pidfd);
}

/* ---- all of it ---- */

/* r[impl cluster.daemon.restart] */
void daemon_imports_begin(struct daemon_imports *imports, const char *data, const char *node)
{
    *imports = (struct daemon_imports){.pidfd = -1, .output = -1};
    if (snprintf(imports->folder, sizeof imports->folder, "%s/restart", data) >=
            (int)sizeof imports->folder ||
        snprintf(imports->node, sizeof imports->node, "unix:%s", node) >= (int)sizeof imports->node)
        return; /* no node has such a folder or socket */
    list_files(imports);
    start_next(imports);
}

int daemon_imports_fd(const struct daemon_imports *imports)
{
    return imports->pidfd;
}

void daemon_imports_step(struct daemon_imports *imports)
{
    siginfo_t info = {.si_pid = 0};
    char text[TEXT];
    const char *name;

    if (imports->pidfd < 0)
        return;
    if (hub_clock_left(imports->deadline_ns) == 0)
        (void)kill(imports->pid, SIGKILL); /* it is not reaped, so the number is its own */
    if (!hub_proof_of_death(imports->pidfd))
        return;
    name = imports->names[imports->at - 1];
    end_process(imports, &info);
    read_reason(imports, text);
    hub_fd_release(&imports->output);
    if (info.si_code == CLD_EXITED && info.si_status == 0)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "restart/%s: applied", name);
    else
        tell(name, text);
    start_next(imports);
}

void daemon_imports_end(struct daemon_imports *imports)
{
    siginfo_t info;

    if (imports->pidfd >= 0) {
        (void)kill(imports->pid, SIGKILL);
        end_process(imports, &info);
    }
    hub_fd_release(&imports->output);
    for (unsigned i = 0; i < imports->count; i++)
        free(imports->names[i]);
    free(imports->names);
    imports->names = NULL;
    imports->count = 0;
}
