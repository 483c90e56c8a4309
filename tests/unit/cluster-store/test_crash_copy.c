/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a container are kept while power may fail at any byte: after each byte that is written,
 * and before each other call that changes the disk, the disk is copied as the death of the process
 * or a loss of power would leave it, and the file is read. It has the last copy that was told as
 * kept, or one after it, byte for byte.
 *
 * The seed is printed; RAPAHUB_TEST_SEED repeats a run. RAPAHUB_TEST_IMAGES: how many copies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "tests/store/copy_stage.h"
#include "tests/support/testing.h"

#define IMAGES 2766 /* a fiftieth of the long run's */

struct crash {
    struct disk *disk;
    struct copy_story story;
    struct hub_random random;
    char name[CLUSTER_FILES_NAME_MAX];
    int kept, begun; /* numbers of copies */
    uint64_t every;  /* one in so many places is looked at */
    bool checked;    /* checksums are looked at */
    uint64_t images, wrong[2], aside, newer;
};

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int open_on(struct disk *disk, struct cluster_files_folder *folder,
                   struct cluster_copy_file *file)
{
    *folder = disk_root(disk);
    return cluster_copy_file_open(file, folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER);
}

/* The next copy is kept on what the crash has left. */
static bool goes_on(struct crash *crash, struct disk *image, struct cluster_copy_file *file,
                    struct cluster_files_folder *folder, int number)
{
    int r;

    if (number == COPY_STAGE_COPIES)
        return true;
    r = cluster_copy_file_write(file, &crash->story.copies[number + 1]);
    cluster_copy_file_close(file);
    return r == 0 && open_on(image, folder, file) == 0 &&
           copy_stage_newest(&crash->story, file) == number + 1 &&
           copy_stage_has(&crash->story, file, number + 1);
}

static void look(struct crash *crash, enum disk_crash kind)
{
    struct disk *image = disk_after(crash->disk, kind, &crash->random);
    struct cluster_files_folder folder;
    struct cluster_copy_file file;
    int r, number;
    bool good;

    if (!crash->checked)
        copy_stage_mend(image, crash->name);
    r = open_on(image, &folder, &file);
    number = copy_stage_newest(&crash->story, &file);
    good = r == 0 && number >= crash->kept && number <= crash->begun &&
           copy_stage_has(&crash->story, &file, number);
    if (good && crash->checked && hub_random_below(&crash->random, 4) == 0)
        good = goes_on(crash, image, &file, &folder, number);
    crash->aside += r == 1;
    crash->newer += number > crash->kept;
    crash->wrong[kind] += !good;
    crash->images++;
    cluster_copy_file_close(&file);
    disk_free(image);
}

static void step(void *user)
{
    struct crash *crash = user;

    if (hub_random_below(&crash->random, crash->every) == 0)
        look(crash, DISK_KILLED);
    if (hub_random_below(&crash->random, crash->every) == 0)
        look(crash, DISK_TORN);
}

static void write_copies(struct crash *crash)
{
    struct cluster_files_folder folder;
    struct cluster_copy_file file;

    assert_int_equal(open_on(crash->disk, &folder, &file), 0);
    snprintf(crash->name, sizeof crash->name, "%s", file.name);
    crash->disk->step = step;
    crash->disk->user = crash;
    for (int i = 1; i <= COPY_STAGE_COPIES; i++) {
        crash->begun = i;
        assert_int_equal(cluster_copy_file_write(&file, &crash->story.copies[i]), 0);
        crash->kept = i;
    }
    cluster_copy_file_close(&file);
}

static void sweep(struct crash *crash, uint64_t seed, uint64_t images)
{
    uint64_t rounds = 0;

    crash->every = images < 40000 ? 40000 / images + 1 : 1;
    hub_random_init(&crash->random, seed);
    for (; crash->images < images; rounds++) {
        crash->disk = disk_new();
        crash->kept = crash->begun = 0;
        copy_stage_make(&crash->story, &crash->random);
        write_copies(crash);
        disk_free(crash->disk);
    }
    print_message("seed %" PRIu64 ", %" PRIu64 " rounds, checksums %slooked at: %" PRIu64
                  " images, wrong %" PRIu64 ", put aside %" PRIu64
                  ", with a copy not yet told %" PRIu64 "\n",
                  seed, rounds, crash->checked ? "" : "not ", crash->images,
                  crash->wrong[0] + crash->wrong[1], crash->aside, crash->newer);
}

/* r[verify cluster.copy.durable] */
static void no_crash_makes_another_state(void **state)
{
    struct crash *crash = calloc(1, sizeof *crash);
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_clock_wall() / 1000 % 1000000);

    (void)state;
    crash->checked = true;
    sweep(crash, seed, number_of("RAPAHUB_TEST_IMAGES", IMAGES));
    assert_int_equal(crash->wrong[DISK_KILLED], 0);
    assert_int_equal(crash->wrong[DISK_TORN], 0);
    assert_int_equal(crash->aside, 0);
    assert_true(crash->newer > 0 || crash->every > 1);
    free(crash);
}

/* The same images show that checksums and digests are needed. */
static void without_checksums_there_would_be_wrong_states(void **state)
{
    struct crash *crash = calloc(1, sizeof *crash);
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_clock_wall() / 1000 % 1000000);

    (void)state;
    sweep(crash, seed, number_of("RAPAHUB_TEST_IMAGES", IMAGES));
    assert_true(crash->wrong[DISK_KILLED] + crash->wrong[DISK_TORN] > 0);
    free(crash);
}

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_crash_makes_another_state),
        cmocka_unit_test(without_checksums_there_would_be_wrong_states),
    };

    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
