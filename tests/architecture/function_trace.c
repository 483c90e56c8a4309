/* SPDX-License-Identifier: Apache-2.0 */
/* function_trace: writes down which function of the libraries begins, when, and from where.
 *
 * A part of both libraries and of rapahub-guest in a build with RAPAHUB_FUNCTION_TRACE, whose code
 * calls it at each entry. It does nothing unless FUNCTION_TRACE names a folder: then each process
 * keeps its last entries in FOLDER/PID.trace, a mapping that outlives a SIGKILL, and its mappings
 * at the start in FOLDER/PID.maps. trace_calls.py reads both. Any thread. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES   (1U << 20)
#define UNTRACED  __attribute__((no_instrument_function))
#define PATH_SIZE 4096

struct entry {
    uint64_t time_ns;
    uint64_t function;
    uint64_t site; /* behind the call */
};

struct trace {
    struct entry *entries;
    uint32_t count; /* wraps: an older entry is written over */
};

static struct trace trace;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

UNTRACED static int copy_file(const char *from, const char *to)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = in < 0 || out < 0 ? -1 : 1;

    while (n > 0) {
        n = read(in, bytes, sizeof bytes);
        if (n > 0 && write(out, bytes, (size_t)n) != n)
            n = -1;
    }
    close(in);
    close(out);
    return (int)n;
}

__attribute__((constructor)) UNTRACED static void begin(void)
{
    const char *folder = getenv("FUNCTION_TRACE");
    size_t size = ENTRIES * sizeof(struct entry);
    char path[PATH_SIZE];
    void *mapped;
    int fd;

    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%d.maps", folder, (int)getpid());
    if (copy_file("/proc/self/maps", path) < 0)
        abort();
    snprintf(path, sizeof path, "%s/%d.trace", folder, (int)getpid());
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
        abort();
    mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        abort();
    trace.entries = mapped;
}

UNTRACED void __cyg_profile_func_enter(void *function, void *site)
{
    struct timespec now;
    struct entry *entry;

    if (!trace.entries)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    entry = &trace.entries[__atomic_fetch_add(&trace.count, 1, __ATOMIC_RELAXED) % ENTRIES];
    entry->function = (uint64_t)(uintptr_t)function;
    entry->site = (uint64_t)(uintptr_t)site;
    entry->time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

UNTRACED void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
