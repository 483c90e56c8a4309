/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/control/frame.h"
#include "hub/base/received.h"
#include "tests/support/testing.h"

static void put_raw(struct host_frame_buffer *buffer, const void *bytes, size_t size)
{
    free(buffer->data);
    buffer->data = malloc(size ? size : 1);
    assert_non_null(buffer->data);
    memcpy(buffer->data, bytes, size);
    buffer->start = 0;
    buffer->size = buffer->capacity = size;
}

static int take(struct host_frame_buffer *buffer, union host_frame_record *record)
{
    return host_frame_decode(buffer, 0, HOST_FRAME_COUNT, record);
}

static void what_was_put_is_taken_in_order(void **state)
{
    const struct control_call call = {.guest = rapahub_string_of("calc"),
                                      .signature = rapahub_string_of("add(i64, i64) -> i64"),
                                      .container = 2,
                                      .timeout_ns = 77,
                                      .arguments = {"\x50\x04", 2}};
    struct host_frame_buffer buffer = {0};
    union host_frame_record record;

    (void)state;
    assert_int_equal(host_frame_put(&buffer, HOST_FRAME_CALL, &call), 0);
    assert_int_equal(host_frame_put(&buffer, HOST_FRAME_CANCEL, &(struct control_none){1}), 0);
    assert_int_equal(take(&buffer, &record), 1);
    assert_int_equal(host_frame_kind(&buffer), HOST_FRAME_CALL);
    assert_int_equal(record.call.container, 2);
    assert_int_equal(record.call.timeout_ns, 77);
    assert_int_equal(record.call.arguments.size, 2);
    assert_memory_equal(record.call.guest.data, "calc", 4);
    host_frame_drop(&buffer);
    assert_int_equal(take(&buffer, &record), 1);
    assert_int_equal(host_frame_kind(&buffer), HOST_FRAME_CANCEL);
    host_frame_drop(&buffer);
    assert_int_equal(take(&buffer, &record), 0);
    assert_false(host_frame_pending(&buffer));
    host_frame_fini(&buffer);
}

static void a_part_of_a_frame_is_not_taken(void **state)
{
    const struct control_name name = {rapahub_string_of("calc")};
    struct host_frame_buffer whole = {0}, part = {0};
    union host_frame_record record;

    (void)state;
    assert_int_equal(host_frame_put(&whole, HOST_FRAME_STOP, &name), 0);
    for (size_t size = 0; size < whole.size; size++) {
        put_raw(&part, whole.data, size);
        assert_int_equal(take(&part, &record), 0);
    }
    put_raw(&part, whole.data, whole.size);
    assert_int_equal(take(&part, &record), 1);
    host_frame_fini(&whole);
    host_frame_fini(&part);
}

static void malformed_frames_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\x01\x00\x10\x00", 4},                          /* longer than a frame may be */
        {"\xff\xff\xff\xff", 4},                          /* the longest length there is */
        {"\x00\x00\x00\x00", 4},                          /* no kind */
        {"\x02\x00\x00\x00\x0d\x01", 6},                  /* an unknown kind */
        {"\x01\x00\x00\x00\x00", 5},                      /* no record */
        {"\x03\x00\x00\x00\x00\x01\x01", 7},              /* bytes after the record */
        {"\x03\x00\x00\x00\x01\x7f\x61", 7},              /* a string longer than the frame */
        {"\x03\x00\x00\x00\x01\x01\xff", 7},              /* a string that is no UTF-8 */
        {"\x06\x00\x00\x00\x80\x80\x80\x80\x80\x01", 10}, /* a kind of more than 32 bits */
    };
    struct host_frame_buffer buffer = {0};
    union host_frame_record record;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_raw(&buffer, bad[i].bytes, bad[i].size);
        assert_int_equal(take(&buffer, &record), RAPAHUB_EPROTOCOL);
    }
    host_frame_fini(&buffer);
}

static void an_answer_is_no_request_and_the_other_way_round(void **state)
{
    struct host_frame_buffer buffer = {0};
    union host_frame_record record;

    (void)state;
    assert_int_equal(host_frame_put(&buffer, HOST_FRAME_DONE, &(struct control_none){1}), 0);
    assert_int_equal(host_frame_decode(&buffer, 0, HOST_FRAME_REQUESTS, &record),
                     RAPAHUB_EPROTOCOL);
    assert_int_equal(host_frame_decode(&buffer, HOST_FRAME_REQUESTS, HOST_FRAME_COUNT, &record), 1);
    host_frame_drop(&buffer);
    assert_int_equal(host_frame_put(&buffer, HOST_FRAME_LIST, &(struct control_none){1}), 0);
    assert_int_equal(host_frame_decode(&buffer, HOST_FRAME_REQUESTS, HOST_FRAME_COUNT, &record),
                     RAPAHUB_EPROTOCOL);
    host_frame_fini(&buffer);
}

static void what_nobody_reads_is_bounded(void **state)
{
    static uint8_t bytes[HOST_FRAME_MAX - 16];
    const struct control_result result = {.payload = {bytes, sizeof bytes}};
    struct host_frame_buffer buffer = {0};
    int count = 0, r;

    (void)state;
    while ((r = host_frame_put(&buffer, HOST_FRAME_RESULT, &result)) == 0)
        count++;
    assert_int_equal(r, RAPAHUB_EMSGSIZE);
    assert_int_equal(count, HOST_FRAME_PENDING / HOST_FRAME_MAX);
    host_frame_fini(&buffer);
}

static void a_frame_larger_than_allowed_is_not_put(void **state)
{
    static uint8_t bytes[HOST_FRAME_MAX];
    const struct control_result result = {.payload = {bytes, sizeof bytes}};
    struct host_frame_buffer buffer = {0};

    (void)state;
    assert_int_equal(host_frame_put(&buffer, HOST_FRAME_RESULT, &result), RAPAHUB_EMSGSIZE);
    assert_false(host_frame_pending(&buffer));
    host_frame_fini(&buffer);
}

static void frames_cross_a_socket(void **state)
{
    const struct control_name name = {rapahub_string_of("calc")};
    struct host_frame_buffer out = {0}, in = {0};
    union host_frame_record record;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(host_frame_fill(&in, ends[1]), 0);
    assert_int_equal(host_frame_put(&out, HOST_FRAME_KILL, &name), 0);
    assert_int_equal(host_frame_flush(&out, ends[0]), 1);
    assert_int_equal(host_frame_flush(&out, ends[0]), 0);
    assert_int_equal(host_frame_fill(&in, ends[1]), 1);
    assert_int_equal(take(&in, &record), 1);
    close(ends[0]);
    assert_int_equal(host_frame_fill(&in, ends[1]), RAPAHUB_ECLOSED);
    assert_int_equal(host_frame_put(&out, HOST_FRAME_KILL, &name), 0);
    assert_int_equal(host_frame_flush(&out, ends[1]), RAPAHUB_ECLOSED);
    close(ends[1]);
    host_frame_fini(&in);
    host_frame_fini(&out);
}

static bool no_numbers; /* are free for descriptors that come */

ssize_t __real_hub_received_take(int socket, struct hub_received *received);
ssize_t __wrap_hub_received_take(int socket, struct hub_received *received);
ssize_t __wrap_hub_received_take(int socket, struct hub_received *received)
{
    return no_numbers ? -ENFILE : __real_hub_received_take(socket, received);
}

/* The message stays: nothing after it can be read. */
static void descriptors_that_no_number_is_free_for_are_a_fault_of_their_sender(void **state)
{
    struct host_frame_buffer in = {0};
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    no_numbers = true;
    assert_int_equal(host_frame_fill(&in, ends[1]), RAPAHUB_EPROTOCOL);
    no_numbers = false;
    assert_non_null(strstr(rapahub_last_error()->text, "descriptors"));
    assert_int_equal(in.fds_count, 0);
    close(ends[0]);
    close(ends[1]);
    host_frame_fini(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_taken_in_order),
        cmocka_unit_test(a_part_of_a_frame_is_not_taken),
        cmocka_unit_test(malformed_frames_are_refused),
        cmocka_unit_test(an_answer_is_no_request_and_the_other_way_round),
        cmocka_unit_test(what_nobody_reads_is_bounded),
        cmocka_unit_test(a_frame_larger_than_allowed_is_not_put),
        cmocka_unit_test(frames_cross_a_socket),
        cmocka_unit_test(descriptors_that_no_number_is_free_for_are_a_fault_of_their_sender),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
