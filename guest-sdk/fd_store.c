/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/chimod.h>

#include "guest-sdk/current.h"
#include "guest-sdk/guest_state.h"
#include "hub/base/own.h"

#define CHANNEL "--keep-fd="
#define KEPT    "--keep="

/* These descriptors are for this process only, not for programs that it starts. */
static int parse_descriptor(const char *text, int *out)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || number > INT_MAX ||
        fcntl((int)number, F_SETFD, FD_CLOEXEC) < 0)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", "'%.80s' is no descriptor", text);
    *out = (int)number;
    return 0;
}

/* Parses NAME or NAME:FD. */
static int add(struct guest_fd_store *keep, const char *text)
{
    size_t size = strcspn(text, ":");
    struct guest_kept *kept = &keep->of[keep->count];

    if (keep->count == HUB_FD_STORE_NAMES_MAX || size > HUB_FD_STORE_NAME_MAX)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", KEPT "'%.80s' is too much", text);
    memcpy(kept->name, text, size);
    kept->name[size] = '\0';
    kept->fd = -1;
    keep->count++;
    return text[size] == ':' ? parse_descriptor(text + size + 1, &kept->fd) : 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* r[impl supervise.keep.hand] */
int guest_fd_store_open(struct guest_fd_store *keep, int argc, char **argv)
{
    int r = 0;

    keep->socket = -1;
    for (int i = 1; r == 0 && i < argc; i++) {
        if (begins(argv[i], CHANNEL))
            r = parse_descriptor(argv[i] + strlen(CHANNEL), &keep->socket);
        else if (begins(argv[i], KEPT))
            r = add(keep, argv[i] + strlen(KEPT));
    }
    return r;
}

void guest_fd_store_close(struct guest_fd_store *keep)
{
    hub_fd_release(&keep->socket);
    keep->socket = -1;
}

/* ---- functions of chimod.h ---- */

static int find(const char *name, struct guest **guest, const struct guest_kept **out)
{
    *guest = guest_current();
    if (!*guest)
        return rapahub_fail(RAPAHUB_ESTATE, "",
                            "descriptors are kept on the guest's serving thread");
    for (uint32_t i = 0; name && i < (*guest)->keep.count; i++)
        if (strcmp((*guest)->keep.of[i].name, name) == 0) {
            *out = &(*guest)->keep.of[i];
            return 0;
        }
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.keep.message",
                        "'%.80s' is none of the names in the keep_fds of this guest",
                        name ? name : "");
}

int rapahub_chimod_keep(const char *name, int fd)
{
    const struct guest_kept *kept;
    struct guest *guest;
    int r = find(name, &guest, &kept);

    if (r < 0)
        return r;
    if (fd < -1)
        return rapahub_fail(-EBADF, "", "%d is no descriptor", fd);
    return hub_fd_store_send(guest->keep.socket, kept->name, fd);
}

int rapahub_chimod_kept(const char *name)
{
    const struct guest_kept *kept;
    struct guest *guest;
    int r = find(name, &guest, &kept);

    if (r < 0)
        return r;
    return kept->fd >= 0 ? kept->fd
                         : rapahub_fail(RAPAHUB_ENOENT, "", "nothing was kept as '%s'", name);
}
