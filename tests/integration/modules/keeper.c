/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: gives descriptors away for its next life, as it should and as it should not. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#define CHANNEL 8 /* where the host puts the socket */

static const char *const names[] = {"listener", "pipe", "nobody"};

/* An abstract address that the host's process knows, too. */
static int keeper_listen(void *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    (void)self;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rapahub-keeper-%d", getppid());
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        listen(fd, 8) < 0)
        return rapahub_fail(RAPAHUB_EIO, "", "cannot listen: %s", strerror(errno));
    r = rapahub_chimod_keep("listener", fd);
    close(fd);
    return r;
}

/* Answers the first in the queue of what an earlier life listened on. */
static int keeper_serve(void *self, int32_t *pid)
{
    int listener = rapahub_chimod_kept("listener"), fd;

    (void)self;
    if (listener < 0)
        return listener;
    fd = accept(listener, NULL, NULL);
    *pid = getpid();
    if (fd < 0 || write(fd, pid, sizeof *pid) != sizeof *pid)
        return rapahub_fail(RAPAHUB_EIO, "", "cannot serve: %s", strerror(errno));
    return close(fd);
}

static int keeper_kept(void *self, uint32_t which, int32_t *out)
{
    (void)self;
    *out = rapahub_chimod_kept(names[which]);
    return 0;
}

/* A new one, whose number is `value`. */
static int keeper_give(void *self, uint32_t which, uint32_t value, int32_t *out)
{
    int fd = eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK);

    (void)self;
    *out = rapahub_chimod_keep(names[which], fd);
    return close(fd);
}

static int keeper_value(void *self, uint32_t which, uint64_t *out)
{
    int fd = rapahub_chimod_kept(names[which]);

    (void)self;
    return fd < 0 || read(fd, out, sizeof *out) != sizeof *out ? RAPAHUB_ENOENT : 0;
}

static int keeper_take_back(void *self, uint32_t which, int32_t *out)
{
    (void)self;
    *out = rapahub_chimod_keep(names[which], -1);
    return 0;
}

/* Stores as many as there is space for. */
static int keeper_flood(void *self, uint32_t *out)
{
    (void)self;
    for (*out = 0; rapahub_chimod_keep("pipe", STDIN_FILENO) == 0;)
        ++*out;
    return 0;
}

/* Past the guest library. */
static int keeper_raw(void *self, struct rapahub_string name, uint32_t descriptors)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)name.data, name.size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};

    (void)self;
    memset(&control, 0, sizeof control);
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS,
                                      .cmsg_len = CMSG_LEN(descriptors * sizeof(int))};
    return sendmsg(CHANNEL, &message, MSG_DONTWAIT) < 0 ? RAPAHUB_EIO : 0;
}

static int keeper_crash(void *self)
{
    (void)self;
    return raise(SIGKILL);
}

static int keeper_pid(void *self, int32_t *pid)
{
    (void)self;
    *pid = getpid();
    return 0;
}

/* The next version gives something away before it takes over. */
static int keeper_init(void *self, const struct rapahub_container_info *info)
{
    int32_t r = 0;

    (void)info;
#ifdef KEEPER_NEXT
    keeper_give(self, 1, 77, &r);
#else
    (void)self;
#endif
    return r;
}

#ifdef KEEPER_NEXT
#define VERSION "2.0"
#else
#define VERSION "1.0"
#endif

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(listen, keeper_listen, void, void),
    RAPAHUB_METHOD(serve, keeper_serve, i32, void),
    RAPAHUB_METHOD(kept, keeper_kept, i32, u32),
    RAPAHUB_METHOD(give, keeper_give, i32, u32, u32),
    RAPAHUB_METHOD(value, keeper_value, u64, u32),
    RAPAHUB_METHOD(take_back, keeper_take_back, i32, u32),
    RAPAHUB_METHOD(flood, keeper_flood, u32, void),
    RAPAHUB_METHOD(raw, keeper_raw, void, string, u32),
    RAPAHUB_METHOD(crash, keeper_crash, void, void),
    RAPAHUB_METHOD(pid, keeper_pid, i32, void),
    RAPAHUB_METHOD_END,
};

static const struct rapahub_container_ops ops = {.init = keeper_init};

RAPAHUB_CHIMOD(.name = "keeper", .version = VERSION, .ops = &ops, .methods = methods);
