/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include <rapahub/stream.h>

#include "tests/unit/host-control/fixture.h"

/* Streams are descriptors of the client; the host has its own copies, until the call has ended. */
static void a_stream_is_a_descriptor_of_the_client(void **state)
{
    struct control_call call = add_call("copy(source, sink) -> u64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    uint64_t count = 3;
    int in = open("/dev/zero", O_RDONLY | O_CLOEXEC), out[2];
    char got[4];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    call.arguments = (struct rapahub_bytes){"\0\1", 2};
    host_client_attach(client, (const int[]){in, out[1]}, 2);
    ask(f, client, HOST_FRAME_CALL, &call);
    close(in);
    close(out[1]);
    assert_int_equal(f->host.calls, 1);
    assert_int_equal(rapahub_source_read((void *)(uintptr_t)f->host.arguments[0], got, 3), 3);
    assert_int_equal(rapahub_sink_write((void *)(uintptr_t)f->host.arguments[1], got, 3), 0);
    finish_call(&f->host, 0, &count);
    serve(f);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(read(out[0], got, 4), 3);
    assert_int_equal(read(out[0], got, 4), 0); /* the other end is closed everywhere */
    close(out[0]);
    host_client_release(&client);
}

static void a_stream_without_its_descriptor_is_refused(void **state)
{
    static const char *const bad[] = {"\0\1", "\0\0"};
    struct control_call call = add_call("copy(source, sink) -> u64");
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < 2; i++) {
        call.arguments = (struct rapahub_bytes){bad[i], 2};
        host_client_attach(client, &fd, 1);
        ask(f, client, HOST_FRAME_CALL, &call);
        assert_int_equal(end_of(client), RAPAHUB_EARGUMENTS);
    }
    assert_int_equal(f->host.calls, 0);
    close(fd);
    host_client_release(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stream_is_a_descriptor_of_the_client),
        TEST(a_stream_without_its_descriptor_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
