/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a loss of power that the power sweep rests on: it leaves what a file system may
 * leave, and nothing that none would. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fault/node_folder.h"
#include "tests/fault/power_loss.h"
#include "tests/support/testing.h"

#define SEEDS 64
#define OLD   "old bytes"
#define NEW   "new bytes of the file"

struct stage {
    char top[64];
    struct power_loss loss;
};

/* What was found in the file over all seeds. */
struct found {
    unsigned old, new, other;
};

static void path_of(const struct stage *stage, const char *name, char to[128])
{
    snprintf(to, 128, "%.64s/%s", stage->loss.folder, name);
}

static int write_file(const struct stage *stage, const char *name, const char *text)
{
    char path[128];
    int fd;

    path_of(stage, name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void begin(struct stage *stage, bool torn, unsigned seed)
{
    snprintf(stage->top, sizeof stage->top, "/dev/shm/power_loss.XXXXXX");
    assert_non_null(mkdtemp(stage->top));
    snprintf(stage->loss.folder, sizeof stage->loss.folder, "%s/data", stage->top);
    snprintf(stage->loss.kept, sizeof stage->loss.kept, "%s/kept", stage->top);
    stage->loss.torn = torn;
    stage->loss.seed = seed;
    assert_int_equal(mkdir(stage->loss.folder, 0700), 0);
    close(write_file(stage, "file", OLD));
    power_loss_begin(&stage->loss);
}

static void replace(const struct stage *stage, bool synced)
{
    char from[128], to[128];
    int fd = write_file(stage, "file.new", NEW);

    if (synced)
        power_loss_sync(&stage->loss, getpid(), fd);
    close(fd);
    path_of(stage, "file.new", from);
    path_of(stage, "file", to);
    assert_int_equal(rename(from, to), 0);
}

static void sync_folder(const struct stage *stage)
{
    int fd = open(stage->loss.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    power_loss_sync(&stage->loss, getpid(), fd);
    close(fd);
}

static void strike(struct stage *stage, struct found *found)
{
    char path[128], text[64] = "";
    FILE *file;

    power_loss_strike(&stage->loss);
    path_of(stage, "file", path);
    file = fopen(path, "re");
    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    if (strcmp(text, OLD) == 0)
        found->old++;
    else if (strcmp(text, NEW) == 0)
        found->new ++;
    else
        found->other++;
    node_folder_remove(stage->top);
}

static struct found replaced(bool torn, bool synced, bool folder)
{
    struct found found = {0};

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct stage stage;

        begin(&stage, torn, seed);
        replace(&stage, synced);
        if (folder)
            sync_folder(&stage);
        strike(&stage, &found);
    }
    return found;
}

static void a_name_that_was_not_synced_is_of_the_old_file_or_of_the_new_and_each_is_whole(
    void **state)
{
    struct found found = replaced(true, true, false);

    (void)state;
    assert_true(found.old > 0 && found.new > 0);
    assert_int_equal(found.other, 0);
    found = replaced(false, true, false);
    assert_int_equal(found.old, SEEDS);
}

static void a_file_whose_bytes_were_not_synced_can_be_torn(void **state)
{
    (void)state;
    assert_true(replaced(true, false, true).other > 0);
    assert_int_equal(replaced(false, false, true).other,
                     SEEDS); /* its name is durable, it is empty */
}

static void all_that_was_synced_is_left(void **state)
{
    (void)state;
    assert_int_equal(replaced(true, true, true).new, SEEDS);
    assert_int_equal(replaced(false, true, true).new, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_name_that_was_not_synced_is_of_the_old_file_or_of_the_new_and_each_is_whole),
        cmocka_unit_test(a_file_whose_bytes_were_not_synced_can_be_torn),
        cmocka_unit_test(all_that_was_synced_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
