/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/guest_records.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/crc32c.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define TOPIC   "node"
#define RULE    "cluster.guests.file"
#define NAME    "guests"
#define PID_MAX (4 << 20) /* no kernel gives a process a higher number */

/* The file is a header of 64 bytes and 16 for each guest, little-endian: 0 magic, 8 u32 version, 12
 * u32 number of guests, 16 the machine's boot, 32 u32 CRC32C of the guests, 36 zeros, 60 u32 CRC32C
 * of the bytes before. A guest is 0 u32 process, 4 zeros, 8 u64 start. */
#define MAGIC    "RPHGST\x01"
#define VERSION  1
#define HEADER   64
#define EACH     16
#define FILE_MAX (HEADER + EACH * (size_t)CLUSTER_GUEST_RECORDS_MAX)

_Static_assert(sizeof MAGIC == 8, "its last byte is 0");

#define PUT(to, at, number)       memcpy((to) + (at), &(number), sizeof(number))
#define TAKE_AT(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

struct header {
    uint32_t version, count, checksum;
    uint8_t boot[CLUSTER_MACHINE_ID];
};

void cluster_guest_records_init(struct cluster_guest_records *records,
                                const struct cluster_files_folder *folder,
                                const uint8_t boot[CLUSTER_MACHINE_ID])
{
    records->folder = folder;
    records->count = 0;
    memcpy(records->boot, boot, sizeof records->boot);
}

/* The first process of all, this one and its parent are no guests, whatever a file says. */
static bool may_be_guest(pid_t pid)
{
    return pid > 1 && pid <= PID_MAX && pid != getpid() && pid != getppid();
}

static size_t place_of(const struct cluster_guest_records *records,
                       struct cluster_guest_record guest)
{
    size_t i = 0;

    while (i < records->count &&
           (records->of[i].pid != guest.pid || records->of[i].start != guest.start))
        i++;
    return i;
}

int cluster_guest_records_add(struct cluster_guest_records *records,
                              struct cluster_guest_record guest)
{
    if (!may_be_guest(guest.pid))
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "process %d is no guest", (int)guest.pid);
    if (place_of(records, guest) < records->count)
        return 0;
    if (records->count == CLUSTER_GUEST_RECORDS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, RULE, "%s/" NAME ": it has %d guests, no more fit",
                            records->folder->path, CLUSTER_GUEST_RECORDS_MAX);
    records->of[records->count++] = guest;
    return 0;
}

void cluster_guest_records_remove(struct cluster_guest_records *records,
                                  struct cluster_guest_record guest)
{
    size_t place = place_of(records, guest);

    if (place < records->count)
        records->of[place] = records->of[--records->count];
}

/* ---- the file ---- */

static void put_header(const struct header *header, uint8_t to[HEADER])
{
    uint32_t checksum;

    memset(to, 0, HEADER);
    memcpy(to, MAGIC, sizeof MAGIC);
    PUT(to, 8, header->version);
    PUT(to, 12, header->count);
    memcpy(to + 16, header->boot, sizeof header->boot);
    PUT(to, 32, header->checksum);
    checksum = hub_crc32c(0, to, HEADER - 4);
    PUT(to, HEADER - 4, checksum);
}

static size_t print(const struct cluster_guest_records *records, uint8_t to[FILE_MAX])
{
    struct header header = {.version = VERSION, .count = (uint32_t)records->count};
    size_t size = HEADER + EACH * records->count;

    memset(to, 0, size);
    for (size_t i = 0; i < records->count; i++) {
        uint32_t pid = (uint32_t)records->of[i].pid;

        PUT(to + HEADER, EACH * i, pid);
        PUT(to + HEADER, EACH * i + 8, records->of[i].start);
    }
    memcpy(header.boot, records->boot, sizeof header.boot);
    header.checksum = hub_crc32c(0, to + HEADER, size - HEADER);
    put_header(&header, to);
    return size;
}

/* r[impl cluster.guests.file] */
int cluster_guest_records_write(const struct cluster_guest_records *records)
{
    const struct cluster_files_folder *folder = records->folder;
    uint8_t bytes[FILE_MAX];
    size_t size = print(records, bytes);
    int fd = cluster_files_create(folder, NAME ".new"), r;

    if (fd < 0)
        return cluster_files_fail(folder, NAME, "write it", fd);
    r = cluster_files_write(folder->files, fd, bytes, size, 0);
    if (r < 0) {
        folder->files->close(folder->files, fd);
        folder->files->remove(folder->files, folder->fd, NAME ".new");
        return cluster_files_fail(folder, NAME, "write it", r);
    }
    return cluster_files_settle(folder, fd, NAME ".new", NAME);
}

/* False: it is no header of any version. */
static bool take_header(const uint8_t *from, size_t size, struct header *out)
{
    uint32_t checksum;

    if (size < HEADER || memcmp(from, MAGIC, sizeof MAGIC) != 0)
        return false;
    TAKE_AT(out->version, from, 8);
    TAKE_AT(out->count, from, 12);
    memcpy(out->boot, from + 16, sizeof out->boot);
    TAKE_AT(out->checksum, from, 32);
    TAKE_AT(checksum, from, HEADER - 4);
    return checksum == hub_crc32c(0, from, HEADER - 4);
}

/* Reads a guest. False where no guest can be so. */
static bool take_guest(const uint8_t *from, struct cluster_guest_record *out)
{
    uint32_t pid;

    TAKE_AT(pid, from, 0);
    TAKE_AT(out->start, from, 8);
    out->pid = pid <= PID_MAX ? (pid_t)pid : 0;
    return out->pid > 1;
}

static int damaged(const struct cluster_guest_records *records)
{
    return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                        "%s/" NAME ": it is damaged, so guests of the last life may still run: end "
                        "those of this folder, then remove the file",
                        records->folder->path);
}

/* Reads the guests of this boot into the list. A guest of another boot is dead, also where the rest
 * of the file cannot be read. */
static int take_all(struct cluster_guest_records *records, const uint8_t *bytes, size_t size)
{
    struct header header;

    if (!take_header(bytes, size, &header))
        return damaged(records);
    if (memcmp(header.boot, records->boot, sizeof header.boot) != 0)
        return 0;
    if (header.version != VERSION)
        return rapahub_fail(RAPAHUB_EABI, RULE,
                            "%s/" NAME ": version %" PRIu32 ", this release reads %d: use the "
                            "release that wrote it",
                            records->folder->path, header.version, VERSION);
    if (header.count > CLUSTER_GUEST_RECORDS_MAX || size != HEADER + EACH * (size_t)header.count ||
        header.checksum != hub_crc32c(0, bytes + HEADER, size - HEADER))
        return damaged(records);
    for (uint32_t i = 0; i < header.count; i++)
        if (!take_guest(bytes + HEADER + EACH * (size_t)i, &records->of[records->count++]))
            return damaged(records);
    return 0;
}

int cluster_guest_records_read(struct cluster_guest_records *records)
{
    OWN(hub_memory) uint8_t *bytes = NULL;
    size_t size;
    int r = cluster_files_load(records->folder, NAME, FILE_MAX, &bytes, &size);

    records->count = 0;
    if (r == -ENOENT)
        return 0;
    if (r == -EFBIG)
        return damaged(records);
    if (r == 0)
        r = take_all(records, bytes, size);
    if (r < 0)
        records->count = 0;
    return r;
}

/* ---- the guests of the last life ---- */

static int cannot_end(const struct cluster_guest_records *records, pid_t pid, int code)
{
    return rapahub_fail(code, "cluster.guests.dead",
                        "%s/" NAME ": guest %d of the last life cannot be ended: %s: end it, then "
                        "start again",
                        records->folder->path, (int)pid, strerrordesc_np(-code));
}

static int kill_and_wait(const struct cluster_guest_records *records, pid_t pid, int pidfd,
                         uint64_t deadline_ns)
{
    int r;

    if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
        return cannot_end(records, pid, -errno);
    r = hub_proof_wait(pidfd, deadline_ns);
    if (r == -ETIMEDOUT)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.guests.dead",
                            "%s/" NAME ": guest %d of the last life was killed and does not end: "
                            "look at what it waits for, then start again",
                            records->folder->path, (int)pid);
    return r < 0 ? cannot_end(records, pid, r) : 0;
}

/* Returns 1 if it was killed, 0 if it was dead. The descriptor is opened before the start is read:
 * if the number goes to another process in between, that one's start is read, and it is later. */
static int end_guest(const struct cluster_guest_records *records, struct cluster_guest_record guest,
                     uint64_t deadline_ns)
{
    OWN(hub_fd) int pidfd = -1;
    uint64_t start;
    int r;

    if (!may_be_guest(guest.pid))
        return 0;
    pidfd = hub_proof_open(guest.pid);
    if (pidfd == -ESRCH || pidfd == -EINVAL || pidfd == -ENOENT) /* by now it is a thread's */
        return 0;
    if (pidfd < 0)
        return cannot_end(records, guest.pid, pidfd);
    r = cluster_machine_start_of(guest.pid, &start);
    if (r == -ESRCH)
        return 0;
    if (r < 0)
        return r;
    if (start != guest.start || hub_proof_of_death(pidfd))
        return 0;
    r = kill_and_wait(records, guest.pid, pidfd, deadline_ns);
    return r < 0 ? r : 1;
}

/* r[impl cluster.guests.dead] */
int cluster_guest_records_end_all(struct cluster_guest_records *records, uint64_t deadline_ns,
                                  size_t *killed)
{
    int r = cluster_guest_records_read(records);

    *killed = 0;
    for (size_t i = 0; i < records->count && r >= 0; i++) {
        r = end_guest(records, records->of[i], deadline_ns);
        *killed += r == 1;
    }
    if (r < 0)
        return r;
    if (*killed > 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%zu guests of the last life still ran: killed",
                    *killed);
    if (records->count == 0)
        return 0;
    records->count = 0;
    return cluster_guest_records_write(records);
}
