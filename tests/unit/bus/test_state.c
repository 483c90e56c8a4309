/* SPDX-License-Identifier: Apache-2.0 */
/* A state: its last value, its versions, its writer and readers, and what a death leaves. */
#include <pthread.h>

#include "tests/unit/bus/state_stage.h"

#define PATIENCE (60 * HUB_SECOND)

/* A region with a writer, and a reader of another description. */
struct rig {
    struct rapahub_region *region, *again;
    struct rapahub_writer *writer;
    struct rapahub_reader *reader;
    enum rapahub_region_kind kind;
    enum rapahub_region_profile profile;
};

static void open_rig(struct rig *rig, enum rapahub_region_kind kind,
                     enum rapahub_region_profile profile)
{
    rig->kind = kind;
    rig->profile = profile;
    rig->region = state_stage_create(NULL, kind, profile);
    rig->again = stage_again(rig->region);
    rig->writer = state_stage_writer(rig->region);
    rig->reader = state_stage_reader(rig->again);
}

static void close_rig(struct rig *rig)
{
    rapahub_writer_close(rig->writer);
    rapahub_reader_close(rig->reader);
    assert_int_equal(rapahub_region_close(rig->again), 0);
    assert_int_equal(rapahub_region_close(rig->region), 0);
}

static void in_each(void (*test)(struct rig *rig))
{
    for (size_t kind = 0; kind < 2; kind++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
            struct rig rig;

            open_rig(&rig, state_kinds[kind], (enum rapahub_region_profile)profile);
            test(&rig);
            close_rig(&rig);
        }
}

static void read_all(struct rig *rig)
{
    struct rapahub_reader *other = state_stage_reader(rig->region);
    size_t size = 1;
    uint64_t version = 9;
    uint8_t byte;

    assert_int_equal(rapahub_reader_read(other, &byte, 1, &size, &version), RAPAHUB_EEMPTY);
    for (uint64_t number = 1; number <= 600; number++) {
        state_stage_write(rig->writer, number * 7);
        state_stage_read(other, number * 7, number);
        state_stage_read(rig->reader, number * 7, number);
    }
    assert_int_equal(rapahub_writer_write(rig->writer, NULL, 0), 0);
    assert_int_equal(rapahub_reader_read(other, NULL, 0, &size, &version), 0);
    assert_int_equal(size, 0);
    assert_int_equal(version, 601);
    assert_int_equal(rapahub_region_close(rig->region), RAPAHUB_EBUSY);
    rapahub_reader_close(other);
    rapahub_reader_close(NULL);
    rapahub_writer_close(NULL);
}

/* r[verify region.state] */
static void every_reader_gets_the_last_value_and_its_version(void **state)
{
    (void)state;
    in_each(read_all);
}

static void write_lengths(struct rig *rig)
{
    uint8_t from[STATE_BYTES + 1], to[STATE_BYTES + 1];
    size_t got = 0;
    uint64_t version = 0;

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 31 + 1);
    for (size_t size = 0; size <= STATE_BYTES; size++) {
        memset(to, 0, sizeof to);
        assert_int_equal(rapahub_writer_write(rig->writer, from, size), 0);
        assert_int_equal(rapahub_reader_read(rig->reader, to, sizeof to, &got, NULL), 0);
        assert_int_equal(got, size);
        assert_memory_equal(to, from, size);
        assert_int_equal(to[size], 0);
    }
    assert_int_equal(rapahub_writer_write(rig->writer, from, sizeof from), RAPAHUB_EMSGSIZE);
    assert_int_equal(rapahub_reader_read(rig->reader, to, 10, &got, &version), RAPAHUB_EMSGSIZE);
    assert_int_equal(got, STATE_BYTES);
    assert_int_equal(version, STATE_BYTES + 1);
}

/* r[verify region.state.shape] */
static void a_value_is_as_long_as_the_state_allows(void **state)
{
    (void)state;
    in_each(write_lengths);
}

static void take_over(struct rig *rig)
{
    struct rapahub_writer *second = NULL;

    state_stage_write(rig->writer, 5);
    assert_int_equal(rapahub_writer_open(rig->region, &second), RAPAHUB_EROLETAKEN);
    assert_int_equal(rapahub_writer_open(rig->again, &second), RAPAHUB_EROLETAKEN);
    rapahub_writer_close(rig->writer);
    rig->writer = NULL;
    second = state_stage_writer(rig->again);
    state_stage_read(rig->reader, 5, 1);
    state_stage_write(second, 6);
    state_stage_read(rig->reader, 6, 2);
    rapahub_writer_close(second);
}

/* r[verify region.state.writer] r[verify region.role] */
static void a_state_has_one_writer_at_a_time(void **state)
{
    (void)state;
    in_each(take_over);
}

/* The value before stays where there is a buffer for it. */
static void die_in_the_middle(struct rig *rig)
{
    uint64_t got, version;
    pid_t pid;
    int r;

    state_stage_write(rig->writer, 5);
    rapahub_writer_close(rig->writer);
    pid = stage_process(rapahub_region_fd(rig->region), state_stage_begin_version);
    kill(pid, SIGSTOP);
    r = rapahub_writer_open(rig->region, &rig->writer);
    assert_int_equal(r, RAPAHUB_EROLETAKEN);
    r = rapahub_reader_read(rig->reader, &got, sizeof got, NULL, NULL);
    assert_int_equal(r, rig->kind == RAPAHUB_REGION_STATE_V1 ? RAPAHUB_EWRITERBUSY : 0);
    stage_kill(pid);
    r = rapahub_reader_read(rig->reader, &got, sizeof got, NULL, &version);
    if (rig->kind == RAPAHUB_REGION_STATE_V1)
        assert_int_equal(r, RAPAHUB_EPEERDEAD);
    else
        state_stage_read(rig->reader, 5, 1);
    rig->writer = state_stage_writer(rig->region);
    state_stage_write(rig->writer, 6);
    state_stage_read(rig->reader, 6, 2);
}

/* r[verify region.state.torn] r[verify region.state.latch] r[verify region.state.writer]
 * r[verify region.state.reader] */
static void a_writer_that_dies_in_the_middle_is_followed_by_another(void **state)
{
    (void)state;
    in_each(die_in_the_middle);
}

static void *write_after_a_while(void *user)
{
    hub_clock_pause(20 * HUB_MILLISECOND);
    state_stage_write(user, 8);
    return NULL;
}

static void wait_for_versions(struct rig *rig)
{
    pthread_t thread;

    assert_int_equal(rapahub_reader_wait(rig->reader, 0, 0), RAPAHUB_ETIMEDOUT);
    assert_int_equal(rapahub_reader_wait(rig->reader, 0, HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
    state_stage_write(rig->writer, 7);
    assert_int_equal(rapahub_reader_wait(rig->reader, 0, 0), 0);
    assert_int_equal(rapahub_reader_wait(rig->reader, 0, PATIENCE), 0);
    assert_int_equal(rapahub_reader_wait(rig->reader, 1, 0), RAPAHUB_ETIMEDOUT);
    assert_int_equal(pthread_create(&thread, NULL, write_after_a_while, rig->writer), 0);
    assert_int_equal(rapahub_reader_wait(rig->reader, 1, PATIENCE), 0);
    state_stage_read(rig->reader, 8, 2);
    pthread_join(thread, NULL);
}

/* r[verify region.state.wait] */
static void a_reader_waits_for_a_later_version(void **state)
{
    (void)state;
    in_each(wait_for_versions);
}

/* A flag that a sleeper raised is taken by the next version, and the sequence goes on. */
static void wake_sleepers(struct rig *rig)
{
    struct hub_state_view *view = &rig->region->state;
    uint32_t before = hub_observe(view->changed_seq);

    state_stage_write(rig->writer, 1);
    assert_int_equal(hub_observe(view->changed_seq), before);
    hub_publish(view->changed_flag, 1);
    state_stage_write(rig->writer, 2);
    assert_int_equal(hub_observe(view->changed_flag), 0);
    assert_int_equal(hub_observe(view->changed_seq), before + 1);
}

/* r[verify region.wake] */
static void a_writer_wakes_who_sleeps_and_nobody_else(void **state)
{
    (void)state;
    in_each(wake_sleepers);
}

static void hold_the_role(struct rapahub_region *region)
{
    struct rapahub_writer *writer;

    if (rapahub_writer_open(region, &writer) < 0)
        _exit(2);
}

/* Without leases a reader knows a writer only if it saw it: it waits once while that lives. */
static void tell_deaths(struct rig *rig)
{
    for (int round = 0; round < 2; round++) {
        pid_t pid;

        rapahub_writer_close(rig->writer);
        rig->writer = NULL;
        pid = stage_process(rapahub_region_fd(rig->region), hold_the_role);
        assert_int_equal(rapahub_reader_wait(rig->reader, 0, 20 * HUB_MILLISECOND),
                         RAPAHUB_ETIMEDOUT);
        stage_kill(pid);
        assert_int_equal(rapahub_reader_wait(rig->reader, 0, PATIENCE), RAPAHUB_EPEERDEAD);
        assert_int_equal(rapahub_reader_wait(rig->reader, 0, 20 * HUB_MILLISECOND),
                         RAPAHUB_ETIMEDOUT);
        rig->writer = state_stage_writer(rig->region);
    }
    if (rig->profile == RAPAHUB_REGION_V1)
        return;
    rapahub_writer_close(rig->writer);
    rig->writer = NULL;
    assert_int_equal(rapahub_reader_wait(rig->reader, 0, 20 * HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
}

/* r[verify region.state.wait] r[verify region.peer.dead] */
static void a_wait_ends_with_the_death_of_the_writer_once(void **state)
{
    (void)state;
    in_each(tell_deaths);
}

static void read_only(struct rig *rig)
{
    const struct rapahub_region_open_options options = {.read_only = true};
    struct rapahub_region *region = NULL;
    struct rapahub_writer *writer = NULL;
    struct rapahub_reader *reader;
    pthread_t thread;

    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(rig->region), &options, &region), 0);
    assert_int_equal(rapahub_writer_open(region, &writer), RAPAHUB_EINVAL);
    reader = state_stage_reader(region);
    state_stage_write(rig->writer, 4);
    state_stage_read(reader, 4, 1);
    assert_int_equal(rapahub_reader_wait(reader, 1, HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
    assert_int_equal(pthread_create(&thread, NULL, write_after_a_while, rig->writer), 0);
    assert_int_equal(rapahub_reader_wait(reader, 1, PATIENCE), 0);
    state_stage_read(reader, 8, 2);
    pthread_join(thread, NULL);
    rapahub_reader_close(reader);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.state.read-only] */
static void a_reader_needs_no_right_to_write(void **state)
{
    const struct rapahub_region_open_options options = {.read_only = true};
    struct rapahub_region *region =
        stage_create(NULL, RAPAHUB_REGION_SPSC, RAPAHUB_REGION_HARDENED, 4);
    struct rapahub_region *again = NULL;

    (void)state;
    in_each(read_only);
    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), &options, &again),
                     RAPAHUB_EINVAL);
    assert_int_equal(rapahub_region_close(region), 0);
}

static void refuse_messages(struct rig *rig)
{
    const struct rapahub_producer_options fail = {.on_full = RAPAHUB_ON_FULL_FAIL};
    struct rapahub_producer *producer = NULL;
    struct rapahub_consumer *consumer = NULL;
    struct rapahub_router *router = NULL;

    assert_int_equal(rapahub_producer_open(rig->region, &fail, &producer), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_consumer_open(rig->region, NULL, &consumer), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_router_open(rig->region, 0, &router), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_region_detach(rig->region, 0, true), RAPAHUB_EINVAL);
}

/* r[verify region.kind] */
static void a_state_has_no_messages_and_messages_are_no_state(void **state)
{
    struct rapahub_region *region =
        stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, 4);
    struct rapahub_writer *writer = NULL;
    struct rapahub_reader *reader = NULL;

    (void)state;
    in_each(refuse_messages);
    assert_int_equal(rapahub_writer_open(region, &writer), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_reader_open(region, &reader), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* All versions but the last two are written at once. */
static void use_up(struct rig *rig)
{
    struct hub_state_view *view = &rig->region->state;
    uint64_t last = HUB_STATE_VERSION_MAX;

    if (view->latch)
        hub_publish64(&view->of_latch.body->latest, (last - 1) << 8);
    else
        hub_publish64(&view->of_parity.body->seq, 2 * (last - 1));
    state_stage_write(rig->writer, 3);
    state_stage_read(rig->reader, 3, last);
    assert_int_equal(rapahub_writer_write(rig->writer, "x", 1), RAPAHUB_ERETIRED);
    state_stage_read(rig->reader, 3, last);
}

/* r[verify region.retired] */
static void a_version_that_is_too_large_is_never_written(void **state)
{
    (void)state;
    in_each(use_up);
}

static int read_code(struct rig *rig)
{
    uint64_t got;

    return rapahub_reader_read(rig->reader, &got, sizeof got, NULL, NULL);
}

/* What another process wrote is looked at, and leads to a code. */
static void damage(struct rig *rig)
{
    struct hub_state_view *view = &rig->region->state;
    struct hub_region_latch *body = view->of_latch.body;
    struct hub_region_buffer *buffer;
    struct hub_a32 *len;

    state_stage_write(rig->writer, 3);
    buffer = (void *)(view->of_latch.buffers + view->of_latch.stride);
    len = view->latch ? &buffer->len : &view->of_parity.body->len;
    hub_publish(len, STATE_BYTES + 1);
    assert_int_equal(read_code(rig), RAPAHUB_ECORRUPT);
    hub_publish(len, UINT32_MAX);
    assert_int_equal(read_code(rig), RAPAHUB_ECORRUPT);
    hub_publish(len, 8);
    assert_int_equal(read_code(rig), 0);
    if (!view->latch)
        return;
    for (uint64_t index = view->of_latch.count; index < 256; index++) {
        hub_publish64(&body->latest, UINT64_C(1) << 8 | index);
        assert_int_equal(read_code(rig), RAPAHUB_ECORRUPT);
        assert_int_equal(rapahub_writer_write(rig->writer, "x", 1), RAPAHUB_ECORRUPT);
    }
    hub_publish64(&body->latest, UINT64_C(2) << 8 | 1);
    assert_int_equal(read_code(rig), RAPAHUB_ECORRUPT);
}

/* r[verify region.state.torn] r[verify region.state.latch] */
static void words_that_no_writer_writes_are_damage(void **state)
{
    (void)state;
    in_each(damage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reader_gets_the_last_value_and_its_version),
        cmocka_unit_test(a_value_is_as_long_as_the_state_allows),
        cmocka_unit_test(a_state_has_one_writer_at_a_time),
        cmocka_unit_test(a_writer_that_dies_in_the_middle_is_followed_by_another),
        cmocka_unit_test(a_reader_waits_for_a_later_version),
        cmocka_unit_test(a_writer_wakes_who_sleeps_and_nobody_else),
        cmocka_unit_test(a_wait_ends_with_the_death_of_the_writer_once),
        cmocka_unit_test(a_reader_needs_no_right_to_write),
        cmocka_unit_test(a_state_has_no_messages_and_messages_are_no_state),
        cmocka_unit_test(a_version_that_is_too_large_is_never_written),
        cmocka_unit_test(words_that_no_writer_writes_are_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
