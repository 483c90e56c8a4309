/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the file of a container's copies; the first byte says whether checksums and digests
 * are put right. What was found once is found again, can be read, and takes the next copy. */
#include <fcntl.h>
#include <string.h>

#include <rapahub/log.h>

#include "tests/fuzz/fuzz.h"
#include "tests/store/copy_stage.h"

#define NAME "0000010000000002.00000003.copy"

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int count(void *user, const struct cluster_copy *copy)
{
    *(uint64_t *)user += copy->state.size + copy->dedup.size;
    return 0;
}

static int open_it(struct cluster_files_folder *folder, struct cluster_copy_file *file)
{
    return cluster_copy_file_open(file, folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER);
}

static void check(struct cluster_files_folder *folder, struct cluster_copy_file *file)
{
    struct cluster_copy next = {.token = file->token,
                                .seq = file->seq + 1,
                                .base_token = file->token,
                                .base_seq = file->seq,
                                .state = {"x", 1}};
    uint64_t bytes = 0;

    FUZZ_HOLDS(cluster_copy_file_read(file, count, &bytes) == 0);
    FUZZ_HOLDS(bytes == file->whole + file->changes);
    if (next.seq == 0)
        return;
    FUZZ_HOLDS(cluster_copy_file_write(file, &next) == 0);
    cluster_copy_file_close(file);
    FUZZ_HOLDS(open_it(folder, file) == 0);
    FUZZ_HOLDS(file->token == next.token && file->seq == next.seq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct disk *disk = disk_new();
    struct cluster_files_folder folder = disk_root(disk);
    const struct cluster_files *files = &disk->files;
    struct cluster_copy_file file;
    int fd = files->open(files, 0, NAME, O_RDWR | O_CREAT | O_EXCL, 0600), r;

    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    FUZZ_HOLDS(fd > 0);
    if (size > 0)
        FUZZ_HOLDS(cluster_files_write(files, fd, data + 1, size - 1, 0) == 0);
    if (size > 0 && data[0] & 1)
        copy_stage_mend(disk, NAME);
    r = open_it(&folder, &file);
    FUZZ_HOLDS(r < 0 || (r == 1) == (file.token == 0));
    if (r == 0)
        check(&folder, &file);
    cluster_copy_file_close(&file);
    disk_free(disk);
    return 0;
}
