/* SPDX-License-Identifier: Apache-2.0 */
/* raw host: every byte that is written here is written by its number. */
#include "tests/raw/raw_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/raw/raw_allocator.h"
#include "tests/raw/raw_class.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

extern char **environ;

struct layout {
    uint64_t slot_region, pool, guest_area, guest_stride, total;
    uint64_t block, extents[4]; /* with size classes: bytes of a guest's block; first extents */
};

static uint64_t align64(uint64_t size)
{
    return (size + 63) & ~(uint64_t)63;
}

static uint64_t extent_size(const struct raw_class_config *of)
{
    return 64 + raw_class_records_size(of->slots) + (uint64_t)of->slots * of->slot_size;
}

/* Returns the start of the rings, after pools or classes. */
static uint64_t place_slots(const struct raw_config *config, struct layout *l)
{
    uint64_t at = l->slot_region + 64 * (uint64_t)config->class_count;

    if (config->class_count == 0)
        return align64(l->slot_region + ((uint64_t)config->max_guests + 1) * l->pool);
    l->block = align64(16 * (uint64_t)config->class_count);
    at += config->max_guests * l->block;
    for (uint32_t c = 0; c < config->class_count; c++) {
        l->extents[c] = at;
        at = align64(at + extent_size(&config->classes[c]));
    }
    return at;
}

static struct layout layout_of(const struct raw_config *config)
{
    struct layout l = {0};

    l.slot_region = align64(128 + 64 * (uint64_t)config->max_guests);
    l.pool = align64(8 * (((uint64_t)config->slot_count + 63) / 64)) +
             (uint64_t)config->slot_count * config->slot_size;
    l.guest_area = place_slots(config, &l);
    l.guest_stride = align64(2 * (uint64_t)config->ring_size * 64) +
                     align64(16 * (uint64_t)config->max_channels);
    l.total = l.guest_area + config->max_guests * l.guest_stride;
    return l;
}

static void write_header(uint8_t *base, const struct raw_config *config, const struct layout *l)
{
    raw_store32(base, 8, 1);
    raw_store32(base, 12, 128);
    raw_store64(base, 16, l->total);
    raw_store32(base, 24, config->max_payload);
    raw_store32(base, 28, config->initial_credit);
    raw_store32(base, 32, config->max_guests);
    raw_store32(base, 36, config->ring_size);
    raw_store64(base, 40, 128);
    raw_store64(base, 48, l->slot_region);
    raw_store32(base, 56, config->slot_size);
    raw_store32(base, 60, config->slot_count);
    raw_store32(base, 64, config->max_channels);
    raw_store64(base, 72, config->heartbeat_ns);
}

static void write_entry(uint8_t *base, const struct raw_config *config, const struct layout *l,
                        uint32_t peer)
{
    uint64_t entry = 128 + 64 * ((uint64_t)peer - 1);
    uint64_t area = l->guest_area + (peer - 1) * l->guest_stride;

    for (unsigned i = 8; i <= 20; i += 4)
        raw_store32(base, entry + i, config->first_index);
    raw_store64(base, entry + 32, area);
    raw_store64(base, entry + 40, l->slot_region + (config->class_count ? 0 : peer * l->pool));
    raw_store64(base, entry + 48, area + 2 * (uint64_t)config->ring_size * 64);
}

static void write_bitmap(uint8_t *base, uint64_t at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        raw_set64(base, at + i / 64 * 8, (uint64_t)1 << i % 64);
}

static void write_classes(uint8_t *base, const struct raw_config *config, const struct layout *l)
{
    uint64_t blocks = l->slot_region + 64 * (uint64_t)config->class_count;

    raw_store64(base, 80, l->slot_region);
    raw_store64(base, 88, l->total);
    raw_store32(base, 104, config->class_count);
    for (uint32_t c = 0; c < config->class_count; c++) {
        uint64_t header = l->slot_region + 64 * (uint64_t)c;
        const struct raw_class_config *of = &config->classes[c];
        const struct raw_extent_name name = {c, 0, of->slots, of->slot_size};

        raw_store32(base, header, of->slot_size);
        raw_store32(base, header + 4, of->slots);
        raw_store32(base, header + 8, 1);
        raw_store64(base, header + 16, (uint64_t)RAW_NO_SLOT << 32);
        raw_store64(base, header + 24, l->extents[c]);
        raw_allocator_format(base + l->extents[c], &name);
        for (uint32_t peer = 0; peer < config->max_guests; peer++)
            raw_store64(base, blocks + peer * l->block + 16 * (uint64_t)c,
                        (uint64_t)RAW_NO_SLOT << 32);
    }
}

static void write_segment(uint8_t *base, const struct raw_config *config, const struct layout *l)
{
    write_header(base, config, l);
    for (uint32_t peer = 1; peer <= config->max_guests; peer++)
        write_entry(base, config, l, peer);
    for (uint32_t pool = 0; pool <= config->max_guests; pool++)
        write_bitmap(base, l->slot_region + pool * l->pool, config->slot_count);
    if (config->class_count > 0)
        write_classes(base, config, l);
    raw_store64(base, 0, 0x0142554841504152);
}

/* The lock tells sweepers that the host lives. */
static int open_file(struct raw_host *host)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)1 << 40, .l_len = 1};
    uint64_t nonce;

    if (getrandom(&nonce, sizeof(nonce), 0) < 0)
        return -1;
    snprintf(host->path, sizeof(host->path), "/dev/shm/rapahub-%u-%d-%016llx", getuid(),
             (int)getpid(), (unsigned long long)nonce);
    host->fd = open(host->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (host->fd < 0)
        host->path[0] = '\0';
    return host->fd < 0 ? -1 : fcntl(host->fd, F_OFD_SETLK, &lock);
}

static int open_memory(struct raw_host *host)
{
    if (host->config.file)
        return open_file(host);
    host->fd = memfd_create("rapahub", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return host->fd < 0 ? -1 : 0;
}

int raw_host_create(const struct raw_config *config, struct raw_host *out)
{
    struct layout l = layout_of(config);
    void *data = MAP_FAILED;
    int r;

    *out = (struct raw_host){.config = *config, .size = l.total, .fd = -1};
    r = open_memory(out);
    if (r == 0)
        r = ftruncate(out->fd, (off_t)l.total);
    if (r == 0 && !config->file)
        r = fcntl(out->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (r == 0)
        data = mmap(NULL, l.total, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    if (data == MAP_FAILED) {
        r = -errno;
        raw_host_destroy(out);
        return r;
    }
    out->base = data;
    write_segment(out->base, config, &l);
    return 0;
}

void raw_host_destroy(struct raw_host *host)
{
    if (host->base)
        munmap(host->base, host->size);
    if (host->path[0])
        unlink(host->path);
    if (host->fd >= 0)
        close(host->fd);
    *host = (struct raw_host){.fd = -1};
}

static int open_bell(struct raw_link *link, enum raw_bell kind, int *guest_bell)
{
    int type = (kind == RAW_BELL_DGRAM ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int pair[2] = {-1, -1};

    if (kind != RAW_BELL_NONE && socketpair(AF_UNIX, type, 0, pair) < 0)
        return -errno;
    link->bell = pair[0];
    *guest_bell = pair[1];
    return 0;
}

int raw_host_reserve(struct raw_host *host, uint32_t peer, enum raw_bell kind,
                     struct raw_link *link, int *guest_bell)
{
    int r;

    link->host = true;
    link->bell = -1;
    link->file = host->path[0] ? host->fd : -1;
    r = raw_link_init(link, host->base, host->size, peer);
    if (r < 0)
        return r;
    if (!raw_swap32(host->base, link->entry, 0, 3))
        r = -EBUSY;
    if (r == 0)
        r = open_bell(link, kind, guest_bell);
    if (r < 0) {
        raw_link_fini(link);
        return r;
    }
    link->epoch = raw_load32(host->base, link->entry + 4) + 1;
    raw_store32(host->base, link->entry + 4, link->epoch);
    if (!link->behaviour.foreign)
        raw_store32(host->base, link->own_wait, 0x05);
    raw_link_read_indices(link);
    return 0;
}

static bool is_attached(struct raw_link *link)
{
    return raw_load32(link->base, link->entry) == 1;
}

int raw_host_await(struct raw_link *link, int timeout_ms)
{
    const struct raw_wait wait = {link->entry, 0x02, 0x04, is_attached};

    return raw_wait_for(link, &wait, timeout_ms);
}

void raw_host_ticket(const struct raw_host *host, const struct raw_link *link,
                     struct raw_arguments *out)
{
    snprintf(out->path, sizeof(out->path), "--hub-path=%s",
             host->path[0] ? host->path : "/proc/self/fd/3");
    snprintf(out->peer, sizeof(out->peer), "--peer-id=%u", link->peer);
    snprintf(out->bell, sizeof(out->bell), "--doorbell-fd=4");
}

/* Copies far above 4 first, so that neither is overwritten before it is duplicated. */
static int give(posix_spawn_file_actions_t *actions, int fd, int as)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 16);

    if (copy >= 0)
        posix_spawn_file_actions_adddup2(actions, copy, as);
    return copy;
}

static void close_copy(int fd)
{
    if (fd >= 0)
        close(fd);
}

static char **with_ticket(const char *const argv[], const struct raw_arguments *ticket)
{
    size_t count = 0;
    char **all;

    while (argv[count])
        count++;
    all = calloc(count + 4, sizeof(*all));
    for (size_t i = 0; all && i < count; i++)
        all[i] = strdup(argv[i]);
    if (all) {
        all[count] = strdup(ticket->path);
        all[count + 1] = strdup(ticket->peer);
        all[count + 2] = strdup(ticket->bell);
    }
    return all;
}

static int spawn(struct raw_host *host, char **argv, int guest_bell, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int segment = -1, bell = -1, r;

    posix_spawn_file_actions_init(&actions);
    if (!host->path[0])
        segment = give(&actions, host->fd, 3);
    if (guest_bell >= 0)
        bell = give(&actions, guest_bell, 4);
    r = -posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close_copy(segment);
    close_copy(bell);
    return r;
}

int raw_host_spawn(struct raw_host *host, struct raw_link *link, const char *const argv[],
                   int guest_bell, struct raw_program *out)
{
    struct raw_arguments ticket;
    char **all;
    int r;

    *out = (struct raw_program){.pidfd = -1};
    raw_host_ticket(host, link, &ticket);
    all = with_ticket(argv, &ticket);
    if (!all)
        return -ENOMEM;
    r = spawn(host, all, guest_bell, &out->pid);
    for (char **at = all; *at; at++)
        free(*at);
    free(all);
    close_copy(guest_bell);
    if (r < 0)
        return r;
    out->pidfd = pidfd_open(out->pid, 0);
    return out->pidfd < 0 ? -errno : 0;
}

int raw_host_reap(struct raw_program *program, int timeout_ms)
{
    struct pollfd death = {.fd = program->pidfd, .events = POLLIN};
    siginfo_t info = {0};
    int r = 0;

    if (poll(&death, 1, timeout_ms) <= 0)
        pidfd_send_signal(program->pidfd, SIGKILL, NULL, 0);
    if (waitid(P_PIDFD, (id_t)program->pidfd, &info, WEXITED) < 0)
        r = -errno;
    close_copy(program->pidfd);
    program->pidfd = -1;
    if (r < 0)
        return r;
    return info.si_code == CLD_EXITED ? info.si_status : 256 + info.si_status;
}

void raw_host_goodbye(struct raw_host *host, struct raw_link *link)
{
    raw_store32(host->base, 68, 1);
    raw_wait_wake(link, 0x06, link->out_head);
    raw_wait_wake(link, 0x18, link->in_tail);
}
