/* SPDX-License-Identifier: Apache-2.0 */
/* ring: pieces that go one way through a few slots of shared memory, with one memcpy in and one out
 * and two counters: what the two CPUs can do at best. How many slots are best the caches decide, so
 * several numbers are tried, and the best one counts. */
#include "tests/bench/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/place.h"

#define LARGE     (1U << 20)
#define SLOTS_MAX 64
#define NAME      "ring-"

/* Slots begin at a page, and a line apart, as they do not all fall into one set of a cache. */
#define STRIDE_OF(size) ((size_t)(size) + 4096)

struct ring {
    _Alignas(4096) uint64_t head;
    _Alignas(64) uint64_t tail;
    _Alignas(4096) uint8_t data[];
};

struct rings {
    struct place_child child;
    struct ring *ring;
    uint8_t *from;
    uint64_t sent;
    uint32_t size, slots;
};

static uint64_t look(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static size_t bytes_of(uint32_t size, uint32_t slots)
{
    return sizeof(struct ring) + slots * STRIDE_OF(size);
}

static void *map(int memory, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);

    return at == MAP_FAILED ? NULL : at;
}

bool ring_is_peer(const char *name)
{
    return strncmp(name, NAME, strlen(NAME)) == 0;
}

int ring_peer(const char *name)
{
    char *end;
    uint32_t size = (uint32_t)strtoul(name + strlen(NAME), &end, 10);
    uint32_t slots = *end == '-' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
    struct ring *ring = slots > 0 ? map(3, bytes_of(size, slots)) : NULL;
    uint8_t *to = aligned_alloc(4096, LARGE);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!ring || !to || size > LARGE || send(4, "", 1, MSG_NOSIGNAL) != 1)
        return 1;
    memset(to, 1, LARGE);
    for (uint64_t taken = 0;; taken++) {
        while (look(&ring->head) == taken)
            ;
        memcpy(to, ring->data + taken % slots * STRIDE_OF(size), size);
        __asm__ volatile("" : : "r"(to) : "memory");
        __atomic_store_n(&ring->tail, taken + 1, __ATOMIC_RELEASE);
    }
}

static int once(void *user)
{
    struct rings *rings = user;
    struct ring *ring = rings->ring;

    while (rings->sent - look(&ring->tail) >= rings->slots)
        ;
    memcpy(ring->data + rings->sent % rings->slots * STRIDE_OF(rings->size), rings->from,
           rings->size);
    __atomic_store_n(&ring->head, ++rings->sent, __ATOMIC_RELEASE);
    return 0;
}

static int start(struct rings *rings, const struct suite_subject *subject)
{
    int ends[2], low = memfd_create("bench", MFD_CLOEXEC), r;
    int memory = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 10), theirs; /* 3, 4 are the child's */
    char name[32], byte;

    rings->child = (struct place_child){.memory = memory, .socket = -1};
    if (low >= 0)
        close(low);
    if (memory < 0 || ftruncate(memory, (off_t)bytes_of(rings->size, rings->slots)) < 0)
        return -errno;
    rings->ring = map(memory, bytes_of(rings->size, rings->slots));
    if (!rings->ring || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -ENOMEM;
    rings->child.socket = ends[0];
    theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    snprintf(name, sizeof name, NAME "%u-%u", rings->size, rings->slots);
    r = place_spawn(name, memory, theirs, &rings->child.pid);
    close(theirs);
    if (r == 0)
        r = place_guest(subject->place, rings->child.pid);
    return r == 0 && read(ends[0], &byte, 1) != 1 ? -EPIPE : r;
}

static int with_slots(struct rings *rings, const struct suite_subject *subject,
                      const struct suite_options *options, struct trial *out)
{
    struct trial_plan plan = {
        .once = once, .user = rings, .ms = options->trial_ms / 2, .fifo = options->fifo};
    int r = start(rings, subject);

    rings->sent = 0;
    if (r == 0) {
        plan.peer = rings->child.pid;
        r = trial_run(&plan, out);
    }
    if (rings->ring)
        munmap(rings->ring, bytes_of(rings->size, rings->slots));
    rings->ring = NULL;
    place_stop(&rings->child);
    return r;
}

/* `second` is how many slots were best. */
static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static const uint32_t slots[] = {2, 4, 8, 32, SLOTS_MAX};
    struct rings rings = {.size = subject->size, .from = aligned_alloc(4096, LARGE)};
    int r = rings.from ? place_host(subject->place, out) : -ENOMEM;

    if (r == 0)
        memset(rings.from, 1, LARGE);
    for (size_t i = 0; r == 0 && i < sizeof slots / sizeof *slots; i++) {
        struct trial trial = {.load = out->load};

        rings.slots = slots[i];
        r = with_slots(&rings, subject, options, &trial);
        trial.value = trial.batch_ns > 0 ? rings.size / trial.batch_ns : 0; /* GB/s */
        trial.second = slots[i];
        if (r == 0 && trial.value > out->value)
            *out = trial;
    }
    free(rings.from);
    place_end();
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject ring_subjects[] = {
    {"ring-64k", "memcpy in and out of a ring", run, SUITE_POLL, SUITE_CROSS, 0, 65536, 0, 0},
    {"ring-1m", "memcpy in and out of a ring", run, SUITE_POLL, SUITE_CROSS, 0, LARGE, 0, 0},
    {0},
};
