/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cluster/answer_thief.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/testing.h"

#define HEADER   64 /* r[cluster.frame.header]: u32 length of the body, then u8 type */
#define RESULT   17
#define BODY_MAX ((size_t)256 << 10)
#define LOOK_MS  5

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static bool move_all(int from, uint8_t *bytes, size_t size)
{
    return size == 0 || recv(from, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

static bool give_all(int to, const uint8_t *bytes, size_t size)
{
    return size == 0 || send(to, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* From the node: a whole frame. */
static bool hand_frame(struct answer_thief *thief, int node, int client)
{
    static uint8_t frame[HEADER + BODY_MAX];
    uint32_t length;

    if (!move_all(node, frame, HEADER))
        return false;
    memcpy(&length, frame, sizeof length);
    if (length > BODY_MAX || !move_all(node, frame + HEADER, length))
        return false;
    if (frame[4] == RESULT && atomic_load(&thief->keeps)) {
        atomic_store(&thief->kept, true);
        return true;
    }
    return give_all(client, frame, HEADER + length);
}

/* From the client: whatever there is. */
static bool hand_bytes(int client, int node)
{
    uint8_t bytes[4096];
    ssize_t n = recv(client, bytes, sizeof bytes, 0);

    return n > 0 && give_all(node, bytes, (size_t)n);
}

static void join(struct answer_thief *thief, int client, int node)
{
    struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = node, .events = POLLIN}};
    bool open = true;

    while (open && !atomic_load(&thief->ends)) {
        if (poll(fds, 2, LOOK_MS) <= 0)
            continue;
        if (fds[1].revents != 0)
            open = hand_frame(thief, node, client);
        if (open && fds[0].revents != 0)
            open = hand_bytes(client, node);
    }
}

static void serve(struct answer_thief *thief, int client)
{
    const struct sockaddr_un address = address_of(thief->node);
    int node = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (node >= 0 && connect(node, (const void *)&address, sizeof address) == 0)
        join(thief, client, node);
    if (node >= 0)
        close(node);
    close(client);
}

static void *steal(void *user)
{
    struct answer_thief *thief = user;
    struct pollfd fd = {.fd = thief->listener, .events = POLLIN};

    while (!atomic_load(&thief->ends)) {
        int client =
            poll(&fd, 1, LOOK_MS) > 0 ? accept4(thief->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (client >= 0)
            serve(thief, client);
    }
    return NULL;
}

void answer_thief_begin(struct answer_thief *thief, const char *path, const char *node)
{
    const struct sockaddr_un address = address_of(path);

    *thief = (struct answer_thief){.node = node};
    thief->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(thief->listener >= 0);
    assert_int_equal(bind(thief->listener, (const void *)&address, sizeof address), 0);
    assert_int_equal(listen(thief->listener, 8), 0);
    assert_int_equal(pthread_create(&thief->thread, NULL, steal, thief), 0);
}

void answer_thief_end(struct answer_thief *thief)
{
    atomic_store(&thief->ends, true);
    assert_int_equal(pthread_join(thief->thread, NULL), 0);
    close(thief->listener);
}
