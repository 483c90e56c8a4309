/* SPDX-License-Identifier: Apache-2.0 */
/* sd-bus, method calls between two processes without a broker. */
#include <errno.h>
#include <systemd/sd-bus.h>

#include "tests/bench/peers/peer.h"

#define PATH      "/echo"
#define INTERFACE "org.rapahub.Echo"

static sd_bus *bus;

static int on_echo(sd_bus_message *call, void *user, sd_bus_error *error)
{
    const void *data;
    size_t size;
    sd_bus_message *answer = NULL;
    int r = sd_bus_message_read_array(call, 'y', &data, &size);

    (void)user;
    (void)error;
    if (r >= 0)
        r = sd_bus_message_new_method_return(call, &answer);
    if (r >= 0)
        r = sd_bus_message_append_array(answer, 'y', data, size);
    if (r >= 0)
        r = sd_bus_send(NULL, answer, NULL);
    sd_bus_message_unref(answer);
    return r < 0 ? r : 1;
}

static const sd_bus_vtable methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Echo", "ay", "ay", on_echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static int open_bus(bool server)
{
    sd_id128_t id = {.bytes = {1}};
    int r = sd_bus_new(&bus);

    if (r >= 0)
        r = sd_bus_set_fd(bus, peer_socket(), peer_socket());
    if (r >= 0 && server)
        r = sd_bus_set_server(bus, 1, id);
    if (r >= 0)
        r = sd_bus_set_anonymous(bus, 1);
    if (r >= 0 && server)
        r = sd_bus_add_object_vtable(bus, NULL, PATH, INTERFACE, methods, NULL);
    return r < 0 ? r : sd_bus_start(bus);
}

static int serve(const char *address)
{
    int r;

    (void)address;
    peer_ready();
    r = open_bus(true);
    while (r >= 0) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, UINT64_MAX);
    }
    return r;
}

static int open_client(const char *address)
{
    (void)address;
    return open_bus(false);
}

static int once(void *user)
{
    static const char data[PEER_SIZE] = {1};
    sd_bus_message *call = NULL, *answer = NULL;
    const void *back = NULL;
    size_t size = 0;
    int r = sd_bus_message_new_method_call(bus, &call, NULL, PATH, INTERFACE, "Echo");

    (void)user;
    if (r >= 0)
        r = sd_bus_message_append_array(call, 'y', data, sizeof data);
    if (r >= 0)
        r = sd_bus_call(bus, call, 0, NULL, &answer);
    if (r >= 0)
        r = sd_bus_message_read_array(answer, 'y', &back, &size);
    if (r >= 0 && (size != sizeof data || *(const char *)back != 1))
        r = -EIO;
    sd_bus_message_unref(answer);
    sd_bus_message_unref(call);
    return r < 0 ? r : 0;
}

static void close_client(void)
{
    sd_bus_close_unref(bus);
}

int main(int argc, char **argv)
{
    static const struct peer peer = {
        .serve = serve, .open = open_client, .once = once, .close = close_client};

    return peer_main(argc, argv, &peer);
}
