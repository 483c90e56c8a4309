/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "hub/channel/stream.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

/* Another process that has the socket reads what poll has told of, and more comes later. */
static int stolen_from = -1, sends_to = -1;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    char byte;
    int r;

    if (stolen_from < 0 && sends_to >= 0) {
        assert_int_equal(write(sends_to, "b", 1), 1);
        sends_to = -1;
    }
    r = __real_poll(fds, count, timeout_ms);
    if (stolen_from >= 0) {
        assert_int_equal(read(stolen_from, &byte, 1), 1);
        stolen_from = -1;
    }
    return r;
}

static void what_poll_has_told_of_may_be_gone(void **state)
{
    struct rapahub_source *source;
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(rapahub_source_of_fd(ends[0], &source), 0);
    assert_int_equal(write(ends[1], "a", 1), 1);
    stolen_from = ends[0];
    sends_to = ends[1];
    assert_int_equal(rapahub_source_read(source, &byte, 1), 1);
    assert_int_equal(byte, 'b');
    rapahub_source_destroy(source);
    close(ends[0]);
    close(ends[1]);
}

static void a_sink_of_memory_keeps_what_is_written_up_to_its_bound(void **state)
{
    struct rapahub_sink *sink;
    size_t size;

    (void)state;
    assert_int_equal(rapahub_sink_of_memory(10, &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "hello ", 6), 0);
    assert_int_equal(rapahub_sink_write(sink, "you", 3), 0);
    assert_int_equal(rapahub_sink_write(sink, "!!", 2), -EMSGSIZE);
    assert_memory_equal(rapahub_sink_data(sink, &size), "hello you", 9);
    assert_int_equal(size, 9);
    rapahub_sink_destroy(sink);
    rapahub_sink_destroy(NULL);
}

static void a_source_of_memory_ends_where_the_memory_does(void **state)
{
    struct rapahub_source *source;
    char bytes[8];

    (void)state;
    assert_int_equal(rapahub_source_of_memory("abcdef", 6, &source), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 4), 0);
    assert_memory_equal(bytes, "abcd", 4);
    assert_int_equal(rapahub_source_read(source, bytes, 8), 2);
    assert_int_equal(rapahub_source_read(source, bytes, 8), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 1), RAPAHUB_ERESET);
    rapahub_source_destroy(source);
}

static void bytes_cross_a_pipe_that_does_not_block(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    char bytes[6];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(rapahub_source_of_fd(ends[0], &source), 0);
    assert_int_equal(rapahub_sink_of_fd(ends[1], &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "stream", 6), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 6), 0);
    assert_memory_equal(bytes, "stream", 6);
    close(ends[1]);
    assert_int_equal(rapahub_source_read(source, bytes, 6), 0);
    close(ends[0]);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
}

static void a_bad_descriptor_is_named(void **state)
{
    struct rapahub_source *source;
    char byte;

    (void)state;
    assert_int_equal(rapahub_source_of_fd(9999, &source), 0);
    assert_int_equal(rapahub_source_read(source, &byte, 1), -EBADF);
    assert_non_null(strstr(rapahub_last_error()->text, "9999"));
    rapahub_source_destroy(source);
}

#define MUCH ((size_t)1 << 20) /* more than a pipe or a socket keeps */

struct reading {
    int fd;
    uint8_t *bytes;
    size_t size;
};

static void *read_slowly(void *user)
{
    struct reading *reading = user;
    ssize_t n;

    while ((n = read(reading->fd, reading->bytes + reading->size, 5000)) > 0)
        reading->size += (size_t)n;
    return NULL;
}

/* Into one end what comes out of the other, whatever kind of descriptor it is. */
static void much_crosses(const int ends[2], const char *kind)
{
    struct reading reading = {ends[0], malloc(MUCH + 5000), 0};
    uint8_t *bytes = malloc(MUCH);
    struct rapahub_sink *sink;
    pthread_t reader;

    assert_true(reading.bytes && bytes);
    for (size_t i = 0; i < MUCH; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 4096);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &reading), 0);
    assert_int_equal(rapahub_sink_of_fd(ends[1], &sink), 0);
    if (rapahub_sink_write(sink, bytes, MUCH) != 0)
        fail_msg("%s: %s", kind, rapahub_last_error()->text);
    rapahub_sink_destroy(sink);
    close(ends[1]);
    pthread_join(reader, NULL);
    assert_int_equal(reading.size, MUCH);
    assert_memory_equal(reading.bytes, bytes, MUCH);
    close(ends[0]);
    free(bytes);
    free(reading.bytes);
}

static void much_crosses_each_kind_of_descriptor(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    much_crosses(ends, "a pipe");
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_DIRECT), 0); /* packets of at most a page */
    much_crosses(ends, "a pipe of packets");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    much_crosses(ends, "a socket");
}

static void a_file_takes_it_at_once(void **state)
{
    int file = memfd_create("sink", MFD_CLOEXEC);
    struct rapahub_sink *sink;
    char bytes[6];

    (void)state;
    assert_int_equal(rapahub_sink_of_fd(file, &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "stream", 6), 0);
    assert_int_equal(pread(file, bytes, 6, 0), 6);
    assert_memory_equal(bytes, "stream", 6);
    rapahub_sink_destroy(sink);
    close(file);
}

static void a_terminal_takes_what_its_reader_took(void **state)
{
    struct termios how;
    int ends[2];

    (void)state;
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(ends[0] >= 0);
    assert_int_equal(unlockpt(ends[0]), 0);
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(ends[1] >= 0);
    assert_int_equal(tcgetattr(ends[1], &how), 0);
    cfmakeraw(&how);
    assert_int_equal(tcsetattr(ends[1], TCSANOW, &how), 0);
    much_crosses(ends, "a terminal");
}

static void *stop_soon(void *user)
{
    struct rapahub_sink *sink = user;

    pause_ms(30);
    sink->stop(sink, true);
    return NULL;
}

static void a_sink_that_is_full_can_be_stopped_and_goes_on(void **state)
{
    static char bytes[MUCH], few[4096];
    struct rapahub_sink *sink;
    pthread_t stopper;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(rapahub_sink_of_fd(ends[1], &sink), 0);
    assert_int_equal(pthread_create(&stopper, NULL, stop_soon, sink), 0);
    assert_int_equal(rapahub_sink_write(sink, bytes, sizeof bytes), RAPAHUB_ECANCELED);
    assert_string_equal(rapahub_last_error()->text, "stopped");
    pthread_join(stopper, NULL);
    assert_int_equal(read(ends[0], few, sizeof few), sizeof few);
    assert_int_equal(rapahub_sink_write(sink, "x", 1), RAPAHUB_ECANCELED); /* also with room */
    sink->stop(sink, false);
    assert_int_equal(rapahub_sink_write(sink, "x", 1), 0);
    rapahub_sink_destroy(sink);
    close(ends[0]);
    close(ends[1]);
}

/* A descriptor that cannot be written without waiting. */
static void what_cannot_be_asked_is_waited_for(void **state)
{
    static char bytes[3 * 4096];
    int zero = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rapahub_sink *sink;

    (void)state;
    assert_int_equal(rapahub_sink_of_fd(zero, &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, bytes, sizeof bytes), 0);
    assert_int_equal(rapahub_sink_write(sink, bytes, sizeof bytes), 0);
    rapahub_sink_destroy(sink);
    close(zero);
}

static void whose_reader_went_is_told_so(void **state)
{
    struct rapahub_sink *sink;
    int ends[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN); /* a pipe has no flag against it */
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        assert_int_equal(is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                                   : pipe2(ends, O_CLOEXEC),
                         0);
        close(ends[0]);
        assert_int_equal(rapahub_sink_of_fd(ends[1], &sink), 0);
        assert_int_equal(rapahub_sink_write(sink, "x", 1), -EPIPE);
        assert_non_null(strstr(rapahub_last_error()->text, "cannot write to "));
        assert_non_null(strstr(rapahub_last_error()->text, is_socket ? "socket:" : "pipe:"));
        rapahub_sink_destroy(sink);
        close(ends[1]);
    }
    signal(SIGPIPE, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_poll_has_told_of_may_be_gone),
        cmocka_unit_test(a_sink_of_memory_keeps_what_is_written_up_to_its_bound),
        cmocka_unit_test(a_source_of_memory_ends_where_the_memory_does),
        cmocka_unit_test(bytes_cross_a_pipe_that_does_not_block),
        cmocka_unit_test(a_bad_descriptor_is_named),
        cmocka_unit_test(much_crosses_each_kind_of_descriptor),
        cmocka_unit_test(a_file_takes_it_at_once),
        cmocka_unit_test(a_terminal_takes_what_its_reader_took),
        cmocka_unit_test(a_sink_that_is_full_can_be_stopped_and_goes_on),
        cmocka_unit_test(what_cannot_be_asked_is_waited_for),
        cmocka_unit_test(whose_reader_went_is_told_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
