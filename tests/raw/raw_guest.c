/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest: entry states are 0 Empty, 1 Attached, 2 Goodbye, 3 Reserved. */
#include "tests/raw/raw_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

static const char *value_of(const char *argument, const char *name)
{
    size_t size = strlen(name);

    return strncmp(argument, name, size) == 0 ? argument + size : NULL;
}

int raw_guest_ticket(int argc, char *const argv[], struct raw_ticket *out)
{
    const char *value;

    *out = (struct raw_ticket){.bell = -1};
    for (int i = 1; i < argc; i++) {
        if ((value = value_of(argv[i], "--hub-path=")) != NULL)
            snprintf(out->path, sizeof(out->path), "%s", value);
        else if ((value = value_of(argv[i], "--peer-id=")) != NULL)
            out->peer = (uint32_t)strtoul(value, NULL, 10);
        else if ((value = value_of(argv[i], "--doorbell-fd=")) != NULL)
            out->bell = (int)strtol(value, NULL, 10);
    }
    return out->path[0] && out->peer >= 1 && out->peer <= 255 && out->bell >= 0 ? 0 : -EINVAL;
}

static int open_segment(const char *path)
{
    const char *number = value_of(path, "/proc/self/fd/");
    int fd;

    if (!number)
        number = value_of(path, "/dev/fd/");
    fd = number ? fcntl((int)strtol(number, NULL, 10), F_DUPFD_CLOEXEC, 3)
                : open(path, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int map_segment(struct raw_link *link, const char *path)
{
    int fd = open_segment(path);
    struct stat file;
    void *data;
    int r = 0;

    if (fd < 0)
        return fd;
    if (fstat(fd, &file) < 0)
        r = -errno;
    if (r == 0) {
        link->size = (size_t)file.st_size;
        data = mmap(NULL, link->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        r = data == MAP_FAILED ? -errno : 0;
        link->base = r == 0 ? data : NULL;
        link->mapped = r == 0;
    }
    link->file = fd;
    if (r < 0)
        close(fd);
    return r;
}

int raw_guest_attach_mapped(struct raw_link *link, uint8_t *base, size_t size, uint32_t peer)
{
    int r;

    link->host = false;
    if (!link->mapped)
        link->file = -1;
    r = raw_link_init(link, base, size, peer);
    if (r == 0) {
        raw_link_read_indices(link);
        if (!link->behaviour.foreign)
            raw_store32(base, link->own_wait, 1);
        r = raw_swap32(base, link->entry, 3, 1) ? 0 : -ESTALE;
    }
    if (r < 0) {
        raw_link_fini(link);
        return r;
    }
    link->epoch = raw_load32(base, link->entry + 4);
    if (link->bell >= 0)
        raw_wait_ring(link);
    return 0;
}

int raw_guest_attach(const struct raw_ticket *ticket, const struct raw_behaviour *behaviour,
                     struct raw_link *out)
{
    int r;

    *out = (struct raw_link){.bell = ticket->bell};
    if (behaviour)
        out->behaviour = *behaviour;
    if (out->bell >= 0)
        fcntl(out->bell, F_SETFD, FD_CLOEXEC);
    r = map_segment(out, ticket->path);
    if (r == 0)
        return raw_guest_attach_mapped(out, out->base, out->size, ticket->peer);
    raw_link_fini(out);
    return r;
}

void raw_guest_goodbye(struct raw_link *link)
{
    raw_store32(link->base, link->entry, 2);
    raw_wait_wake(link, 0x06, link->out_head);
}

void raw_guest_heartbeat(struct raw_link *link)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    raw_store64(link->base, link->entry + 24,
                (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}
