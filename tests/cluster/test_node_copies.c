/* SPDX-License-Identifier: Apache-2.0 */
/* Pools that are durable by copies: their state outlives guests and the node. A module that saves
 * changes has copies of these, another one has whole states only. */
#include <dirent.h>

#include "tests/cluster/living.h"

#define COUNTER TEST_PREFIX "/bin/counter.so"

struct kind { /* of a module: a call that adds one, and returns the sum or a constant */
    const char *path, *name, *version, *add, *sum;
    bool adds_up; /* `add` returns the sum */
};

static const struct kind counter = {COUNTER,           "counter",         "1.0.0",
                                    "add(i64) -> i64", "add(i64) -> i64", true};
static const struct kind ledger = {MODULE("ledger"),    "ledger", "1.0", "enter(u64) -> u32",
                                   "count(u64) -> u32", false};

static struct cluster_pool_spec spec_of(const struct kind *kind,
                                        const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                        uint8_t durability)
{
    return (struct cluster_pool_spec){.name = rapahub_string_of("store"),
                                      .module = rapahub_string_of(kind->name),
                                      .version = rapahub_string_of(kind->version),
                                      .digest = {digest, CLUSTER_DIGEST_SIZE},
                                      .containers = 2,
                                      .copies = 1,
                                      .min_copies = 1,
                                      .durability = durability};
}

static struct rapahub_container_id apply(struct living *on, const struct kind *kind,
                                         uint8_t durability)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec;
    uint64_t operation = 0;

    assert_done(living_push(on, kind->path, digest));
    spec = spec_of(kind, digest, durability);
    assert_done(living_apply(on, &spec, &operation));
    assert_done(living_wait(on, operation));
    return (struct rapahub_container_id){living_pool(on, "store"), 1};
}

/* A call without a query could go straight to a container of this host. */
static bool directly;

static uint64_t ask(struct living *on, struct rapahub_container_id target, const char *method,
                    uint64_t number)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    const struct rapahub_call call = {.target = target,
                                      .method = method,
                                      .arguments = (const void *const[]){&number, NULL},
                                      .query = directly ? NULL : &query,
                                      .timeout_ns = 20 * SECOND};
    uint64_t result = 0;

    assert_done(rapahub_host_call(on->host, &call, &result));
    return result;
}

static void add(struct living *on, const struct kind *kind, struct rapahub_container_id target)
{
    (void)ask(on, target, kind->add, 1);
}

static uint64_t sum(struct living *on, const struct kind *kind, struct rapahub_container_id target)
{
    return ask(on, target, kind->sum, kind->adds_up ? 0 : 1);
}

/* ---- acknowledged ---- */

static void outlives_all(const struct kind *kind)
{
    struct living on;
    struct rapahub_container_id target;
    uint64_t done = 0;

    living_begin(&on);
    target = apply(&on, kind, CLUSTER_DURABILITY_ACKED);
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 5; i++, done++)
            add(&on, kind, target);
        if (round % 2 == 0) {
            living_kill(&on);
        } else {
            living_stop(&on, round % 4 == 1);
            living_start(&on);
        }
        assert_int_equal(sum(&on, kind, target), done);
    }
    assert_done(living_delete(&on, "store"));
    target = apply(&on, kind, CLUSTER_DURABILITY_ACKED);
    assert_int_equal(sum(&on, kind, target), 0); /* nothing of it has stayed */
    living_end(&on);
}

/* r[verify cluster.node.copies] */
static void each_answered_call_is_in_the_state_after_any_death(void **state)
{
    (void)state;
    outlives_all(&counter);
}

/* r[verify cluster.node.copies] */
static void a_module_that_saves_whole_states_only_is_copied_too(void **state)
{
    (void)state;
    outlives_all(&ledger);
}

/* ---- by checkpoints ---- */

static off_t size_of_copies(const struct living *on)
{
    char path[512];
    struct dirent *entry;
    struct stat status;
    off_t size = 0;
    DIR *folder;

    snprintf(path, sizeof path, "%s/copies", on->folder);
    folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (strstr(entry->d_name, ".copy") && !strstr(entry->d_name, ".tmp") &&
            fstatat(dirfd(folder), entry->d_name, &status, 0) == 0)
            size += status.st_size;
    closedir(folder);
    return size;
}

static void await_copy(const struct living *on, off_t before)
{
    int waited = 0;

    while (size_of_copies(on) == before && waited++ < 1200)
        pause_ms(10);
    assert_true(size_of_copies(on) != before);
    pause_ms(50); /* it may be just being written */
}

/* A node with one pool, and how it is called. */
struct subject {
    const struct kind *kind;
    bool directly; /* the maker sends to the container by name; the core knows of it, too */
    struct living on;
    struct rapahub_container_id target;
};

static void begin_subject(struct subject *subject)
{
    directly = subject->directly;
    living_begin(&subject->on);
    subject->target = apply(&subject->on, subject->kind, CLUSTER_DURABILITY_CHECKPOINT);
    for (unsigned i = 0; i < 5; i++)
        add(&subject->on, subject->kind, subject->target);
    assert_int_equal(sum(&subject->on, subject->kind, subject->target), 5);
    directly = false;
}

static void is_as_of_the_last_copy(struct subject *subject)
{
    struct living *on = &subject->on;
    const struct kind *kind = subject->kind;

    directly = subject->directly;
    await_copy(on, 0);
    add(on, kind, subject->target); /* no copy has it */
    living_kill(on);
    assert_int_equal(sum(on, kind, subject->target), 5);
    living_stop(on, false);
    living_start(on);
    assert_int_equal(sum(on, kind, subject->target), 5);
    add(on, kind, subject->target);
    living_stop(on, true); /* makes a last copy */
    living_start(on);
    assert_int_equal(sum(on, kind, subject->target), 6);
    living_end(on);
    directly = false;
}

/* All wait for their first copy at the same time. r[verify cluster.node.copies] */
static void a_pool_with_checkpoints_is_as_of_its_last_copy(void **state)
{
    struct subject subjects[] = {
        {.kind = &counter}, {.kind = &ledger}, {.kind = &counter, .directly = true}};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        begin_subject(&subjects[i]);
    for (unsigned i = 0; i < 3; i++)
        is_as_of_the_last_copy(&subjects[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answered_call_is_in_the_state_after_any_death),
        cmocka_unit_test(a_module_that_saves_whole_states_only_is_copied_too),
        cmocka_unit_test(a_pool_with_checkpoints_is_as_of_its_last_copy)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
