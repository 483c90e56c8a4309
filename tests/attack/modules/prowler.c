/* SPDX-License-Identifier: Apache-2.0 */
/* prowler: a chimod with a role in one region, which is after another one: it sends its host a
 * descriptor of its own, asks for roles that it does not have, and looks through its descriptors.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#define DOORBELL    4
#define DESCRIPTORS 1024

static bool is_region(int fd)
{
    char magic[8];

    return pread(fd, magic, sizeof magic, 0) == 8 && memcmp(magic, "RAPABUS\1", 8) == 0;
}

/* The host's end refuses it, or leaves it where it is. */
static void send_descriptor(int fd)
{
    char control[CMSG_SPACE(sizeof fd)] = {0}, one = 1;
    struct iovec byte = {&one, 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    (void)sendmsg(DOORBELL, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Returns how many regions it can reach, by descriptor and by name. */
static int prowl(void *self, uint32_t *reached)
{
    struct rapahub_consumer *in;
    struct rapahub_reader *view;

    (void)self;
    *reached = 0;
    if (rapahub_chimod_consumer("in", &in) == 0 || rapahub_chimod_reader("view", &view) == 0)
        ++*reached;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (is_region(fd)) {
            ++*reached;
            send_descriptor(fd);
        }
    return 0;
}

static const struct rapahub_method methods[] = {RAPAHUB_METHOD(prowl, prowl, u32, void),
                                                RAPAHUB_METHOD_END};

RAPAHUB_CHIMOD(.name = "prowler", .version = "1.0.0", .methods = methods);
