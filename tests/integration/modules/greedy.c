/* SPDX-License-Identifier: Apache-2.0 */
/* greedy: takes as much of the machine as it gets. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#define DESCRIPTORS_MOST 100000

static int greedy_spin(void *self)
{
    (void)self;
    for (volatile uint64_t n = 0;; n++)
        continue;
    return 0;
}

/* How many it had open at once, of its own. */
static int greedy_open(void *self, uint32_t *count)
{
    static int list[DESCRIPTORS_MOST];

    (void)self;
    for (*count = 0; *count < DESCRIPTORS_MOST; ++*count) {
        list[*count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (list[*count] < 0)
            break;
    }
    for (uint32_t i = 0; i < *count; i++)
        close(list[i]);
    return 0;
}

static int greedy_write(void *self, uint64_t bytes, bool *done)
{
    int fd = memfd_create("greedy", MFD_CLOEXEC);

    (void)self;
    *done = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0;
    if (fd >= 0)
        close(fd);
    return 0;
}

static int greedy_take(void *self, uint64_t bytes, bool *done)
{
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)self;
    *done = data != MAP_FAILED;
    if (*done)
        munmap(data, bytes);
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(spin, greedy_spin, void, void),
    RAPAHUB_METHOD(open, greedy_open, u32, void),
    RAPAHUB_METHOD(write, greedy_write, bool, u64),
    RAPAHUB_METHOD(take, greedy_take, bool, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "greedy", .version = "1.0.0", .methods = methods);
