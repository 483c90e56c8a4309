/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/bus/region_stage.h"

#define KIND    RAPAHUB_REGION_SPSC
#define PROFILE RAPAHUB_REGION_HARDENED

static char path[RAPAHUB_REGION_PATH_MAX];

static void find_path(void)
{
    assert_int_equal(hub_region_path(stage_name(), path), 0);
}

static int open_it(void)
{
    struct rapahub_region *region = NULL;
    int r = rapahub_region_open(stage_name(), NULL, &region);

    if (r == 0)
        rapahub_region_close(region);
    return r;
}

/* r[verify region.whole] */
static void a_region_has_a_name_until_it_is_removed(void **state)
{
    struct rapahub_region *region, *again;
    struct stat file;

    (void)state;
    find_path();
    region = stage_create(stage_name(), KIND, PROFILE, 4);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(rapahub_region_open(stage_name(), NULL, &again), 0);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_close(again), 0);
    assert_int_equal(open_it(), 0);
    assert_int_equal(rapahub_region_open(path, NULL, &again), 0);
    assert_int_equal(rapahub_region_close(again), 0);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
    assert_int_equal(open_it(), RAPAHUB_ENOENT);
}

static void a_name_that_is_taken_is_refused_and_the_region_stays(void **state)
{
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4), *other = NULL;
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);

    (void)state;
    assert_int_equal(rapahub_region_create(stage_name(), &options, &other), RAPAHUB_EEXIST);
    assert_non_null(strstr(rapahub_last_error()->text, stage_name()));
    assert_null(other);
    rapahub_region_close(region);
    assert_int_equal(open_it(), 0);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

/* r[verify region.owner] */
static void names_links_pipes_and_files_elsewhere_are_refused(void **state)
{
    const char *const bad[] = {"", "a b", "a~", "\xc3\xa4",
                               "1234567890123456789012345678901234567890123456789012345678901234"};
    struct rapahub_region *region = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rapahub_region_open(bad[i], NULL, &region), RAPAHUB_EINVAL);
    find_path();
    assert_int_equal(symlink("/dev/shm/other", path), 0);
    assert_int_equal(open_it(), -ELOOP);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(open_it(), RAPAHUB_EINVAL);
    unlink(path);
    assert_int_equal(rapahub_region_open("/etc/passwd", NULL, &region),
                     getuid() == 0 ? RAPAHUB_ENOTSUP : RAPAHUB_EACCES);
}

/* r[verify region.owner] */
static void a_file_of_another_user_needs_to_be_asked_for(void **state)
{
    const struct rapahub_region_open_options foreign = {.foreign = true};
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4);

    (void)state;
    find_path();
    if (getuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(open_it(), RAPAHUB_EPERM);
        rapahub_region_close(region);
        assert_int_equal(rapahub_region_open(path, NULL, &region), RAPAHUB_EPERM);
        assert_int_equal(rapahub_region_open(path, &foreign, &region), 0);
    }
    rapahub_region_close(region);
    unlink(path);
}

/* r[verify region.local] */
static void a_region_with_open_handles_is_not_closed(void **state)
{
    struct rapahub_region *region = stage_create(NULL, KIND, PROFILE, 4);
    struct rapahub_producer *producer = stage_producer(region);
    struct rapahub_consumer *consumer = stage_consumer(region);

    (void)state;
    assert_int_equal(rapahub_region_close(region), RAPAHUB_EBUSY);
    stage_push(producer, 7);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(region), RAPAHUB_EBUSY);
    stage_pop(consumer, 7);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_close(NULL), 0);
}

static void a_file_that_is_too_short_or_no_region_has_its_code(void **state)
{
    int fd;

    (void)state;
    find_path();
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(open_it(), RAPAHUB_ETRUNCATED);
    assert_int_equal(ftruncate(fd, 63), 0);
    assert_int_equal(open_it(), RAPAHUB_ETRUNCATED);
    assert_int_equal(ftruncate(fd, 64), 0);
    assert_int_equal(open_it(), RAPAHUB_ENOTINITIALIZED);
    assert_int_equal(pwrite(fd, "no region", 9, 0), 9);
    assert_int_equal(open_it(), RAPAHUB_EBADMAGIC);
    close(fd);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

/* r[verify region.generation] */
static void a_handle_of_an_older_generation_is_told_so(void **state)
{
    struct rapahub_region *region = stage_create(NULL, KIND, PROFILE, 4);
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_producer *producer = NULL;
    uint64_t number;

    (void)state;
    (void)hub_add(&hub_region_header(region)->generation, 1);
    assert_int_equal(rapahub_consumer_pop(consumer, &number, sizeof number, HUB_MILLISECOND, NULL),
                     RAPAHUB_ESTALE);
    assert_int_equal(rapahub_producer_open(region, NULL, &producer), RAPAHUB_ESTALE);
    rapahub_consumer_close(consumer);
    rapahub_region_close(region);
}

static int count(void *user, const char *name)
{
    *(int *)user += strcmp(name, stage_name()) == 0;
    return 0;
}

static void regions_of_this_user_are_listed(void **state)
{
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4);
    char other[RAPAHUB_REGION_PATH_MAX];
    int found = 0;

    (void)state;
    /* a file of another kind, whose name is as long and ends alike */
    snprintf(other, sizeof other, "/dev/shm/rapahub.others-%u-%s", getuid(), stage_name());
    close(open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    assert_int_equal(rapahub_region_list(count, &found), 0);
    unlink(other);
    assert_int_equal(found, 1);
    rapahub_region_close(region);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
    assert_int_equal(rapahub_region_list(count, &found), 0);
    assert_int_equal(found, 1);
}

/* All pages are reserved when it is made: none is missing at a write. r[verify region.room] */
static void all_memory_of_a_region_is_reserved_when_it_is_made(void **state)
{
    struct rapahub_region *region = stage_create(NULL, KIND, PROFILE, 4096);
    struct stat file;

    (void)state;
    assert_int_equal(fstat(rapahub_region_fd(region), &file), 0);
    assert_true((uint64_t)file.st_blocks * 512 >= region->shape.layout_bytes);
    rapahub_region_close(region);
}

static void mode_and_kind_are_as_they_were_asked_for(void **state)
{
    struct rapahub_region_options options = stage_options(KIND, PROFILE, 4);
    struct rapahub_region_open_options wanted = {.kind = RAPAHUB_REGION_MPSC};
    struct rapahub_region *region, *again = NULL;
    struct stat file;

    (void)state;
    options.file_mode = 0640;
    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    assert_int_equal(fstat(rapahub_region_fd(region), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), &wanted, &again),
                     RAPAHUB_EBADKIND);
    wanted = (struct rapahub_region_open_options){.reserved = {1}};
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), &wanted, &again),
                     RAPAHUB_EINVAL);
    rapahub_region_close(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_has_a_name_until_it_is_removed),
        cmocka_unit_test(a_name_that_is_taken_is_refused_and_the_region_stays),
        cmocka_unit_test(names_links_pipes_and_files_elsewhere_are_refused),
        cmocka_unit_test(a_file_of_another_user_needs_to_be_asked_for),
        cmocka_unit_test(a_region_with_open_handles_is_not_closed),
        cmocka_unit_test(a_file_that_is_too_short_or_no_region_has_its_code),
        cmocka_unit_test(a_handle_of_an_older_generation_is_told_so),
        cmocka_unit_test(regions_of_this_user_are_listed),
        cmocka_unit_test(all_memory_of_a_region_is_reserved_when_it_is_made),
        cmocka_unit_test(mode_and_kind_are_as_they_were_asked_for)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
