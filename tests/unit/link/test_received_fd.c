/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over descriptors that another process sent, and does with what it wants. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/channel/stream.h"
#include "tests/support/testing.h"

#define PATIENCE (30 * HUB_SECOND)

/* What is done with this descriptor lasts until it is let go. */
static int held = -1;
static struct hub_a32 holds, let_go, looks, here_too;
static pthread_t owner;

static void hold(int fd)
{
    hub_add(&looks, pthread_equal(pthread_self(), owner) ? 0 : 1);
    hub_add(&here_too, pthread_equal(pthread_self(), owner) ? 1 : 0);
    if (fd != held)
        return;
    hub_publish(&holds, 1);
    hub_futex_wake_private(&holds);
    while (hub_observe(&let_go) == 0)
        (void)hub_futex_wait_private(&let_go, 0, hub_clock_after(PATIENCE));
}

int __real_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out)
{
    hold(fd);
    return __real_fstat(fd, out);
}

static int set_up(void **state)
{
    (void)state;
    held = -1;
    owner = pthread_self();
    hub_store_relaxed(&holds, 0);
    hub_store_relaxed(&let_go, 0);
    hub_store_relaxed(&looks, 0);
    hub_store_relaxed(&here_too, 0);
    return 0;
}

static void wait_until_held(void)
{
    uint64_t deadline = hub_clock_after(PATIENCE);

    while (hub_observe(&holds) == 0 && hub_clock_left(deadline) > 0)
        (void)hub_futex_wait_private(&holds, 0, deadline);
    assert_int_equal(hub_observe(&holds), 1);
}

static void release(void)
{
    hub_publish(&let_go, 1);
    hub_futex_wake_private(&let_go);
}

/* The thread that was left behind closes the descriptor in the end. */
static void assert_closed(int other)
{
    struct pollfd poll_for = {.fd = other};

    assert_int_equal(poll(&poll_for, 1, 30000), 1);
    assert_true(poll_for.revents & (POLLHUP | POLLERR));
    close(other);
}

struct reader {
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    ssize_t result;
};

static void *use(void *user)
{
    struct reader *reader = user;
    char byte = 'x';

    reader->result = reader->source ? rapahub_source_read(reader->source, &byte, 1)
                                    : rapahub_sink_write(reader->sink, &byte, 1);
    return NULL;
}

/* r[verify hub.descriptor.waits] */
static void who_reads_is_freed_from_a_descriptor_that_holds_its_thread(void **state)
{
    struct reader reader = {.result = 0};
    pthread_t thread;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "a", 1), 1);
    held = ends[0];
    assert_int_equal(rapahub_source_of_received_fd(&ends[0], &reader.source), 0);
    assert_int_equal(ends[0], -1);
    assert_int_equal(pthread_create(&thread, NULL, use, &reader), 0);
    wait_until_held();
    reader.source->stop(reader.source, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reader.result, RAPAHUB_ECANCELED);
    rapahub_source_destroy(reader.source);
    release();
    assert_closed(ends[1]);
}

/* r[verify hub.descriptor.waits] */
static void who_writes_is_freed_from_a_descriptor_that_holds_its_thread(void **state)
{
    struct reader reader = {.result = 0};
    pthread_t thread;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    held = ends[1];
    assert_int_equal(rapahub_sink_of_received_fd(&ends[1], &reader.sink), 0);
    assert_int_equal(pthread_create(&thread, NULL, use, &reader), 0);
    wait_until_held();
    reader.sink->stop(reader.sink, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(reader.result, RAPAHUB_ECANCELED);
    rapahub_sink_destroy(reader.sink);
    release();
    assert_closed(ends[0]);
}

/* A call that was not carried out is tried again with the same streams.
 * r[verify hub.descriptor.waits] */
static void nothing_is_lost_when_it_was_stopped_and_goes_on(void **state)
{
    struct rapahub_source *source;
    char bytes[8];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(rapahub_source_of_received_fd(&ends[0], &source), 0);
    for (int i = 0; i < 20; i++) {
        source->stop(source, true);
        assert_int_equal(rapahub_source_read(source, bytes, 8), RAPAHUB_ECANCELED);
        source->stop(source, false);
        assert_int_equal(write(ends[1], "abc", 3), 3);
        assert_int_equal(rapahub_source_read_all(source, bytes, 1), 0);
        assert_int_equal(rapahub_source_read_all(source, bytes + 1, 2), 0);
        assert_memory_equal(bytes, "abc", 3);
    }
    rapahub_source_destroy(source);
    assert_closed(ends[1]);
}

struct copied {
    struct rapahub_sink *sink;
    const unsigned char *bytes;
    size_t size;
    unsigned parts;
};

static void count_part(void *user)
{
    ((struct copied *)user)->parts++;
}

static void *write_all(void *user)
{
    struct copied *copied = user;

    copied->sink->on_part = count_part;
    copied->sink->user = copied;
    assert_int_equal(rapahub_sink_write(copied->sink, copied->bytes, copied->size), 0);
    rapahub_sink_destroy(copied->sink);
    return NULL;
}

/* r[verify hub.descriptor.waits] */
static void bytes_pass_as_they_are_and_the_end_too(void **state)
{
    struct copied copied = {.size = 300001};
    unsigned char *bytes = malloc(copied.size), *got = malloc(copied.size);
    struct rapahub_source *source;
    pthread_t thread;
    int ends[2];

    (void)state;
    assert_true(bytes && got);
    for (size_t i = 0; i < copied.size; i++)
        bytes[i] = (unsigned char)(i * 31 + i / 251);
    copied.bytes = bytes;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(rapahub_sink_of_received_fd(&ends[1], &copied.sink), 0);
    assert_int_equal(rapahub_source_of_received_fd(&ends[0], &source), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_all, &copied), 0);
    assert_int_equal(rapahub_source_read_all(source, got, copied.size), 0);
    assert_memory_equal(got, bytes, copied.size);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(copied.parts > 0);
    assert_int_equal(rapahub_source_read(source, got, 1), 0);
    rapahub_source_destroy(source);
    free(bytes);
    free(got);
}

/* r[verify hub.descriptor.waits] */
static void the_owner_never_looks_at_the_descriptor(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    char byte;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(rapahub_source_of_received_fd(&ends[0], &source), 0);
    assert_int_equal(rapahub_sink_of_received_fd(&ends[1], &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "a", 1), 0);
    assert_int_equal(rapahub_source_read(source, &byte, 1), 1);
    assert_true(hub_observe(&looks) > 0);
    assert_int_equal(hub_observe(&here_too), 0);
    rapahub_sink_destroy(sink);
    rapahub_source_destroy(source);
}

static void a_failure_is_told_with_its_cause(void **state)
{
    int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rapahub_source *source;
    char byte;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(rapahub_source_of_received_fd(&fd, &source), 0);
    assert_int_equal(rapahub_source_read(source, &byte, 1), -EISDIR);
    assert_non_null(strstr(rapahub_last_error()->text, "cannot read from /tmp"));
    rapahub_source_destroy(source);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_reads_is_freed_from_a_descriptor_that_holds_its_thread),
        TEST(who_writes_is_freed_from_a_descriptor_that_holds_its_thread),
        TEST(nothing_is_lost_when_it_was_stopped_and_goes_on),
        TEST(bytes_pass_as_they_are_and_the_end_too),
        TEST(the_owner_never_looks_at_the_descriptor),
        TEST(a_failure_is_told_with_its_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
