/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/copy_stage.h"

#include <string.h>

#include "cluster/base/ids.h"
#include "cluster/store/copy_head.h"
#include "cluster/store/digest.h"

void copy_stage_make(struct copy_story *story, struct hub_random *random)
{
    uint64_t token = cluster_ids_token(0, 1, 0);

    memset(story, 0, sizeof *story);
    for (int i = 1; i <= COPY_STAGE_COPIES; i++) {
        struct cluster_copy *copy = &story->copies[i];
        bool life = hub_random_below(random, 8) == 0,
             whole = i == 1 || life || hub_random_below(random, 5) == 0;
        size_t most = whole ? COPY_STAGE_BYTES : 300, size = hub_random_below(random, most + 1);

        token = life ? cluster_ids_next_life(token) : token;
        for (size_t at = 0; at < size; at++)
            story->bytes[i][at] = (uint8_t)hub_random_next(random);
        *copy = (struct cluster_copy){
            .token = token, .seq = (uint64_t)i * 3, .module = (uint32_t)i, .state_version = 9};
        if (!whole) {
            copy->base_token = story->copies[i - 1].token;
            copy->base_seq = story->copies[i - 1].seq;
        }
        copy->dedup.size = hub_random_below(random, size + 1);
        copy->state = (struct rapahub_bytes){story->bytes[i], size - copy->dedup.size};
        copy->dedup.data = story->bytes[i] + copy->state.size;
    }
}

int copy_stage_newest(const struct copy_story *story, const struct cluster_copy_file *file)
{
    for (int i = 0; i <= COPY_STAGE_COPIES; i++)
        if (story->copies[i].token == file->token && story->copies[i].seq == file->seq)
            return i;
    return -1;
}

struct comparison {
    const struct copy_story *story;
    int next;
    bool equal;
};

static bool bytes_are(struct rapahub_bytes a, struct rapahub_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static int compare(void *user, const struct cluster_copy *copy)
{
    struct comparison *comparison = user;
    const struct cluster_copy *told = &comparison->story->copies[comparison->next];

    if (comparison->next++ > COPY_STAGE_COPIES)
        comparison->equal = false;
    else
        comparison->equal &=
            copy->token == told->token && copy->seq == told->seq &&
            copy->base_token == told->base_token && copy->base_seq == told->base_seq &&
            copy->module == told->module && copy->state_version == told->state_version &&
            bytes_are(copy->state, told->state) && bytes_are(copy->dedup, told->dedup);
    return 0;
}

bool copy_stage_has(const struct copy_story *story, const struct cluster_copy_file *file,
                    int number)
{
    struct comparison comparison = {story, number, true};

    while (comparison.next > 0 && story->copies[comparison.next].base_token != 0)
        comparison.next--;
    return cluster_copy_file_read(file, compare, &comparison) == 0 && comparison.equal &&
           comparison.next == (number > 0 ? number + 1 : 0);
}

void copy_stage_mend(struct disk *disk, const char *name)
{
    size_t size = 0, at = 0;
    uint8_t *bytes = disk_bytes(disk, 0, name, &size);

    while (bytes && at + CLUSTER_COPY_HEAD_SIZE <= size) {
        struct cluster_copy_head head;
        struct cluster_digest digest;

        cluster_copy_head_take(bytes + at, &head);
        if (head.state_size > size || head.dedup_size > size ||
            cluster_copy_head_size(&head) > size - at)
            return;
        if (cluster_digest_begin(&digest) < 0)
            return;
        cluster_digest_add(&digest, bytes + at + CLUSTER_COPY_HEAD_SIZE,
                           head.state_size + head.dedup_size);
        cluster_digest_end(&digest, head.digest);
        cluster_copy_head_put(&head, bytes + at);
        at += cluster_copy_head_size(&head);
    }
}
