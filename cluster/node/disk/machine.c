/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define BOOT_ID    "/proc/sys/kernel/random/boot_id"
#define MACHINE_ID "/etc/machine-id"
#define START_AT   22 /* the field of /proc/PID/stat, from 1 on */

/* Reads a small file of the kernel as text. Returns its size, or -errno. */
static int read_text(const char *path, char *to, size_t size)
{
    OWN(hub_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;

    if (fd < 0)
        return -errno;
    while (done < size - 1) {
        ssize_t n = read(fd, to + done, size - 1 - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    to[done] = 0;
    return (int)done;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads 32 digits, with or without hyphens between them. */
static bool take_id(const char *text, uint8_t to[CLUSTER_MACHINE_ID])
{
    size_t digits = 0;

    for (; *text && *text != '\n'; text++) {
        int digit = digit_of(*text);

        if (*text == '-')
            continue;
        if (digit < 0 || digits == 2 * (size_t)CLUSTER_MACHINE_ID)
            return false;
        to[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : to[digits / 2] | digit);
        digits++;
    }
    return digits == 2 * (size_t)CLUSTER_MACHINE_ID;
}

int cluster_machine_read(struct cluster_machine *out)
{
    char text[128];
    int r = read_text(BOOT_ID, text, sizeof text);

    memset(out, 0, sizeof *out);
    if (r < 0)
        return rapahub_fail(r, "", BOOT_ID ": cannot read it: %s: mount /proc",
                            strerrordesc_np(-r));
    if (!take_id(text, out->boot))
        return rapahub_fail(RAPAHUB_EFORMAT, "", BOOT_ID ": no id of a boot");
    r = read_text(MACHINE_ID, text, sizeof text);
    if (r < 0 || !take_id(text, out->id))
        memset(out->id, 0, sizeof out->id);
    return 0;
}

/* The name of the program stands in brackets and may have any bytes, brackets and spaces too. */
static bool take_start(const char *stat, uint64_t *out)
{
    const char *at = strrchr(stat, ')');
    char *end;

    for (unsigned field = 2; at && field < START_AT; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return false;
    errno = 0;
    *out = strtoull(at, &end, 10);
    return end > at && *end == ' ' && errno == 0;
}

int cluster_machine_start_of(pid_t pid, uint64_t *out)
{
    char path[32], text[1024];
    int r;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    r = read_text(path, text, sizeof text);
    if (r == -ENOENT || r == -ESRCH)
        return access("/proc/self/stat", R_OK) == 0
                   ? -ESRCH
                   : rapahub_fail(RAPAHUB_ENOENT, "", "/proc/self/stat is not there: mount /proc");
    if (r < 0)
        return rapahub_fail(r, "", "%s: cannot read it: %s", path, strerrordesc_np(-r));
    if (!take_start(text, out))
        return rapahub_fail(RAPAHUB_EFORMAT, "", "%s: it does not say when the process began",
                            path);
    return 0;
}
