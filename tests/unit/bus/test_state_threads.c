/* SPDX-License-Identifier: Apache-2.0 */
/* A writer without a pause and readers, each with its own description: no value is torn, or shown
 * under another version, and versions never go back. For ThreadSanitizer, and for order.
 *
 * 10^6 versions in all, a quarter for each kind in each profile; with --long 10^9. */
#include <pthread.h>

#include "tests/unit/bus/state_stage.h"

#define READERS 2
#define WORDS   12

#ifdef __SANITIZE_THREAD__
#define FEWER 50
#elif defined(__SANITIZE_ADDRESS__)
#define FEWER 10
#else
#define FEWER 1
#endif

static uint64_t versions = 250000 / FEWER;

struct reading {
    struct rapahub_region *region;
    uint64_t read, busy, last;
    unsigned torn, back;
};

/* Each value is of another size, and says its version in each of its words. */
static size_t make(uint64_t version, uint64_t words[WORDS])
{
    size_t count = 1 + (size_t)(version % WORDS);

    for (size_t i = 0; i < count; i++)
        words[i] = version * 0x9E3779B97F4A7C15 + i;
    return count * sizeof *words;
}

static bool is_whole(const uint64_t words[WORDS], size_t size, uint64_t version)
{
    uint64_t wanted[WORDS];

    return size == make(version, wanted) && memcmp(words, wanted, size) == 0;
}

/* Until the last version. What cannot be read now is tried again. */
static void *read_all(void *user)
{
    struct reading *reading = user;
    struct rapahub_reader *reader;
    uint64_t words[WORDS], version = 0;
    size_t size = 0;

    if (rapahub_reader_open(reading->region, &reader) < 0)
        return NULL;
    while (reading->last < versions) {
        int r = rapahub_reader_read(reader, words, sizeof words, &size, &version);

        if (r == RAPAHUB_EWRITERBUSY || r == RAPAHUB_EEMPTY) {
            reading->busy++;
            r = rapahub_reader_wait(reader, reading->last, HUB_SECOND);
            if (r < 0 && r != RAPAHUB_ETIMEDOUT)
                break;
            continue;
        }
        if (r < 0)
            break;
        reading->read++;
        reading->torn += !is_whole(words, size, version);
        reading->back += version < reading->last;
        reading->last = version;
    }
    rapahub_reader_close(reader);
    return NULL;
}

static void run(enum rapahub_region_kind kind, enum rapahub_region_profile profile)
{
    struct rapahub_region *region = state_stage_create(NULL, kind, profile);
    struct rapahub_writer *writer = state_stage_writer(region);
    struct reading readings[READERS] = {0};
    pthread_t threads[READERS];
    uint64_t words[WORDS];

    for (size_t i = 0; i < READERS; i++) {
        readings[i].region = stage_again(region);
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readings[i]), 0);
    }
    for (uint64_t version = 1; version <= versions; version++)
        assert_int_equal(rapahub_writer_write(writer, words, make(version, words)), 0);
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        printf("kind %d, %s: %lu versions, %lu read, %lu busy, torn %u, back %u\n", (int)kind,
               profile ? "hardened" : "v1", (unsigned long)versions,
               (unsigned long)readings[i].read, (unsigned long)readings[i].busy, readings[i].torn,
               readings[i].back);
        assert_int_equal(readings[i].torn, 0);
        assert_int_equal(readings[i].back, 0);
        assert_int_equal(readings[i].last, versions);
        assert_true(readings[i].read > 0);
        assert_int_equal(rapahub_region_close(readings[i].region), 0);
    }
    rapahub_writer_close(writer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.state.torn] r[verify region.state] r[verify region.state.wait] */
static void no_value_is_torn_and_no_version_goes_back(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 2; kind++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
            run(state_kinds[kind], (enum rapahub_region_profile)profile);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_value_is_torn_and_no_version_goes_back)};

    if (argc > 1 && strcmp(argv[1], "--long") == 0)
        versions = 250000000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
