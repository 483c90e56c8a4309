/* SPDX-License-Identifier: Apache-2.0 */
/* tally: writes down each call that it executes, in a file that outlives it. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define NUMBERS 8192 /* the same as in the test */

struct entry {
    _Atomic uint32_t began, ended;
    _Atomic int32_t pid; /* the process that executed it last */
};

struct tally {
    struct entry *entries;
};

static int tally_open(void *self, const struct rapahub_container_info *info)
{
    struct tally *tally = self;
    char path[256];
    int fd;

    if (info->params.size >= sizeof path)
        return RAPAHUB_EINVAL;
    for (size_t i = 0; i < info->params.size; i++)
        path[i] = ((const char *)info->params.data)[i];
    path[info->params.size] = '\0';
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return RAPAHUB_EINVAL;
    tally->entries =
        mmap(NULL, NUMBERS * sizeof *tally->entries, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return tally->entries == MAP_FAILED ? RAPAHUB_ENOMEM : 0;
}

/* Its own number, for so long. */
static int tally_count(void *self, uint32_t number, uint32_t ms, uint32_t *out)
{
    struct tally *tally = self;

    if (number >= NUMBERS)
        return RAPAHUB_EINVAL;
    tally->entries[number].pid = (int32_t)getpid();
    tally->entries[number].began++;
    if (ms > 0)
        pause_ms((int)ms);
    tally->entries[number].ended++;
    *out = number;
    return 0;
}

static const struct rapahub_container_ops ops = {.init = tally_open, .restart = tally_open};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(count, tally_count, u32, u32, u32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "tally", .version = "1.0.0", .state_size = sizeof(struct tally), .ops = &ops,
               .methods = methods);
