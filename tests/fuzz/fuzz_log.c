/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files of a node's log: the first byte says how many segments there are, whether
 * there is a snapshot, and whether all checksums are put right; the rest is shared out among them.
 * What was replayed once is replayed again, and then is whole; what was put aside stays away. */
#include <fcntl.h>
#include <string.h>

#include <rapahub/log.h>

#include "tests/fuzz/fuzz.h"
#include "tests/store/log_stage.h"

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static void put(struct disk *disk, const char *name, const uint8_t *data, size_t size)
{
    const struct cluster_files *files = &disk->files;
    int fd = files->open(files, 0, name, O_RDWR | O_CREAT | O_EXCL, 0600);

    FUZZ_HOLDS(fd > 0 && cluster_files_write(files, fd, data, size, 0) == 0);
}

static void fill(struct disk *disk, const uint8_t *data, size_t size)
{
    size_t segments = data[0] & 3, files = segments + (data[0] >> 2 & 1), each;

    if (files == 0)
        return;
    each = (size - 1) / files;
    for (size_t i = 0; i < files; i++) {
        char name[CLUSTER_FILES_NAME_MAX] = CLUSTER_SEGMENTS_SNAPSHOT;

        if (i < segments)
            cluster_segments_name(i + 1, name);
        put(disk, name, data + 1 + i * each, each);
    }
    if (data[0] & 8)
        log_stage_mend(disk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log_found first, again;
    struct disk *disk;

    if (size == 0)
        return 0;
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    disk = disk_new();
    fill(disk, data, size);
    first = log_stage_read(disk);
    again = log_stage_read(disk);
    if (first.code < 0) {
        FUZZ_HOLDS(again.code == first.code);
    } else {
        FUZZ_HOLDS(again.code == 0 && again.replay.end == CLUSTER_REPLAY_WHOLE);
        FUZZ_HOLDS(again.replay.revision == first.replay.revision);
        FUZZ_HOLDS(first.replay.end == CLUSTER_REPLAY_DAMAGED ||
                   memcmp(&first.map, &again.map, sizeof first.map) == 0);
    }
    disk_free(disk);
    return 0;
}
