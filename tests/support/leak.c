/* SPDX-License-Identifier: Apache-2.0 */
/* leak: a snapshot is a list of lines, one for each thing. The lines that are in the second
 * snapshot but not in the first are the leaks. A descriptor that was closed and opened for
 * something else has another line. */
#include "tests/support/leak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/pause.h"

#define WAIT_NS       (2 * HUB_SECOND)
#define ADOPTED_MAX   64
#define LINE_MAX_SIZE 512

struct lines {
    char **line;
    size_t count, capacity;
};

/* After it is reaped its number may belong to another process, but that one was born later. */
struct adopted {
    pid_t pid;
    uint64_t born; /* 0: it was gone */
};

struct leak {
    struct lines before;
    struct adopted adopted[ADOPTED_MAX];
    size_t adopted_count;
};

static void *must(void *memory)
{
    if (!memory) {
        fputs("leak: no memory\n", stderr);
        abort();
    }
    return memory;
}

__attribute__((format(printf, 2, 3))) static void add(struct lines *lines, const char *format, ...)
{
    char text[LINE_MAX_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (lines->count == lines->capacity) {
        lines->capacity = 2 * lines->capacity + 32;
        lines->line = must(realloc(lines->line, lines->capacity * sizeof(*lines->line)));
    }
    lines->line[lines->count++] = must(strdup(text));
}

static void lines_fini(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i]);
    free(lines->line);
    *lines = (struct lines){0};
}

static bool has(const struct lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->line[i], text) == 0)
            return true;
    return false;
}

/* Reads the first line of a small file in /proc, without its end; "" if it cannot be read. */
static void read_line(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "re");

    to[0] = '\0';
    if (file && fgets(to, (int)size, file))
        to[strcspn(to, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void name_of(pid_t pid, char *to, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    read_line(path, to, size);
}

/* Returns the birth time in ticks since the start of the machine: the 20th word after the name,
 * which is in brackets and may contain anything. 0: there is no such process. */
static uint64_t birth_of(pid_t pid)
{
    char path[64], line[LINE_MAX_SIZE], *at;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    read_line(path, line, sizeof(line));
    at = strrchr(line, ')');
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static void add_descriptors(struct lines *lines)
{
    DIR *folder = opendir("/proc/self/fd");
    char target[300];

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (size < 0 || fd == dirfd(folder))
            continue;
        target[size] = '\0';
        add(lines, "descriptor %d: %s", fd, target);
    }
    if (folder)
        closedir(folder);
}

/* Reads the numbers in /proc/PID/task/TID/children of every thread. */
static size_t children_of(pid_t parent, pid_t *to, size_t capacity)
{
    char path[600], text[4096];
    size_t count = 0;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    tasks = opendir(path);
    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)parent, entry->d_name);
        read_line(path, text, sizeof(text));
        for (char *at = text, *end; count < capacity; at = end) {
            pid_t child = (pid_t)strtol(at, &end, 10);

            if (end == at)
                break;
            to[count++] = child;
        }
    }
    if (tasks)
        closedir(tasks);
    return count;
}

/* Lists this process and its descendants, nearer ones first. */
static size_t descendants(pid_t *to, size_t capacity)
{
    size_t count = 1;

    to[0] = getpid();
    for (size_t i = 0; i < count; i++)
        count += children_of(to[i], to + count, capacity - count);
    return count;
}

static void add_children(struct lines *lines)
{
    pid_t children[256];
    size_t count = children_of(getpid(), children, sizeof(children) / sizeof(children[0]));
    char name[64];

    for (size_t i = 0; i < count; i++) {
        name_of(children[i], name, sizeof(name));
        add(lines, "child %d: %s", (int)children[i], name);
    }
}

static void add_threads(struct lines *lines)
{
    DIR *tasks = opendir("/proc/self/task");
    char path[300], name[64];

    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        read_line(path, name, sizeof(name));
        add(lines, "thread %s: %s", entry->d_name, name);
    }
    if (tasks)
        closedir(tasks);
}

static void add_mappings(struct lines *lines)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE_MAX_SIZE];

    while (maps && fgets(line, sizeof(line), maps)) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(line, "/memfd:rapahub") || strstr(line, "/dev/shm/rapahub-"))
            add(lines, "mapping %.*s: %s", (int)strcspn(line, " "), line, strchr(line, '/'));
    }
    if (maps)
        fclose(maps);
}

static bool is_still(const struct adopted *adopted)
{
    uint64_t born = birth_of(adopted->pid);

    return born == 0 || born == adopted->born;
}

static bool is_ours(const struct leak *leak, const pid_t *family, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (family[i] == pid)
            return true;
    for (size_t i = 0; i < leak->adopted_count; i++)
        if (leak->adopted[i].pid == pid && is_still(&leak->adopted[i]))
            return true;
    return false;
}

static void add_files(const struct leak *leak, struct lines *lines)
{
    DIR *folder = opendir("/dev/shm");
    pid_t family[256];
    size_t count = descendants(family, sizeof(family) / sizeof(family[0]));
    unsigned uid;
    int pid;

    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (sscanf(entry->d_name, "rapahub-%u-%d-", &uid, &pid) == 2 && uid == getuid() &&
            is_ours(leak, family, count, pid))
            add(lines, "file /dev/shm/%s", entry->d_name);
    if (folder)
        closedir(folder);
}

static void look(const struct leak *leak, struct lines *lines)
{
    add_descriptors(lines);
    add_children(lines);
    add_threads(lines);
    add_mappings(lines);
    add_files(leak, lines);
}

#ifdef __SANITIZE_THREAD__
static void *do_nothing(void *argument)
{
    return argument;
}

/* ThreadSanitizer starts a thread of its own together with the first one of the program. */
static void start_sanitizer(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
        pthread_join(thread, NULL);
}
#else
static void start_sanitizer(void)
{
}
#endif

struct leak *leak_begin(void)
{
    struct leak *leak = must(calloc(1, sizeof(*leak)));

    start_sanitizer();
    look(leak, &leak->before);
    return leak;
}

void leak_adopt(struct leak *leak, pid_t pid)
{
    if (leak->adopted_count == ADOPTED_MAX) {
        fputs("leak: too many processes adopted\n", stderr);
        abort();
    }
    leak->adopted[leak->adopted_count++] = (struct adopted){pid, birth_of(pid)};
}

char *leak_left(const struct leak *leak)
{
    struct lines after = {0};
    char *text = NULL;
    size_t size = 0;

    look(leak, &after);
    for (size_t i = 0; i < after.count; i++) {
        size_t length = strlen(after.line[i]);

        if (has(&leak->before, after.line[i]))
            continue;
        text = must(realloc(text, size + length + 2));
        memcpy(text + size, after.line[i], length);
        memcpy(text + size + length, "\n", 2);
        size += length + 1;
    }
    lines_fini(&after);
    return text;
}

char *leak_end(struct leak *leak)
{
    uint64_t deadline = hub_clock_after(WAIT_NS);
    char *left = leak_left(leak);

    while (left && hub_clock_left(deadline) > 0) {
        free(left);
        pause_ms(5);
        left = leak_left(leak);
    }
    lines_fini(&leak->before);
    free(leak);
    return left;
}
