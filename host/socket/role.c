/* SPDX-License-Identifier: Apache-2.0 */
#include "host/socket/role.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define OVERFLOW_GID 65534      /* the kernel shows it for each group that it cannot translate */
#define ENTRY_MAX    (1u << 20) /* bytes of an entry of the list of groups */
#define GROUPS_FIRST 64         /* groups of a peer that are asked for at first */
#define GROUPS_MAX   (1u << 16) /* NGROUPS_MAX of the kernel */

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* ---- the group ---- */

static bool is_number(const char *name, gid_t *out)
{
    char *end = NULL;
    unsigned long number;

    errno = 0;
    number = strtoul(name, &end, 10);
    *out = (gid_t)number;
    return isdigit((unsigned char)name[0]) && *end == '\0' && errno == 0 && number < UINT32_MAX;
}

/* All other errors are ways to say that there is no such group: getgrnam(3). */
static bool is_failure(int error)
{
    return error == EINTR || error == EIO || error == EMFILE || error == ENFILE ||
           error == ENOMEM || error == ERANGE;
}

/* An entry may have any size: a group has any number of members. */
static int look_up(const char *name, gid_t *out)
{
    int error = ERANGE;

    for (size_t size = 4096; error == ERANGE && size <= ENTRY_MAX; size *= 4) {
        OWN(hub_memory) char *room = malloc(size);
        struct group entry, *found = NULL;

        if (!room)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to look for a group");
        error = getgrnam_r(name, &entry, room, size, &found);
        if (!found)
            continue;
        *out = found->gr_gid;
        return 0;
    }
    return is_failure(error) ? rapahub_fail(-error, "", "cannot look for the group '%s'", name)
                             : rapahub_fail(RAPAHUB_ENOENT, "", "there is no group '%s'", name);
}

bool host_role_of_word(const char *word, enum rapahub_control_role *out)
{
    static const char *const words[] = {[RAPAHUB_CONTROL_VIEWER] = "viewer",
                                        [RAPAHUB_CONTROL_OPERATOR] = "operator",
                                        [RAPAHUB_CONTROL_ADMIN] = "admin"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0) {
            *out = (enum rapahub_control_role)i;
            return true;
        }
    return false;
}

int host_role_find_group(const char *name, gid_t *out)
{
    int r = is_number(name, out) ? 0 : look_up(name, out);

    if (r == 0 && *out == OVERFLOW_GID)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "the group '%s' stands for all that are unknown here; take another",
                            name);
    return r;
}

/* ---- the client ---- */

/* Asks for the supplementary groups of the peer, which the kernel kept when it connected. Returns
 * how many there are; 0 also where the kernel does not say (before Linux 4.13); -ENOMEM, -errno. */
static int ask_groups(int fd, gid_t **out)
{
    socklen_t size = GROUPS_FIRST * sizeof **out;

    for (;;) {
        socklen_t had = size;

        *out = malloc(size);
        if (!*out)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the groups of a client");
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, *out, &size) == 0)
            return (int)(size / sizeof **out);
        free(*out);
        *out = NULL;
        if (errno == ENOPROTOOPT || errno == ENODATA)
            return 0;
        if (errno != ERANGE || size <= had || size > GROUPS_MAX * sizeof **out)
            return rapahub_fail(-errno, "", "cannot ask for the groups of a client");
    }
}

/* 1, 0, or a failure. */
static int is_member(int fd, const struct ucred *peer, gid_t gid)
{
    OWN(hub_memory) gid_t *groups = NULL;
    int count;

    if (peer->gid == gid)
        return 1;
    count = ask_groups(fd, &groups);
    for (int i = 0; i < count; i++)
        if (groups[i] == gid)
            return 1;
    return count < 0 ? count : 0;
}

/* r[impl sec.control.peer] */
int host_role_judge(int fd, const struct host_role_group *group, struct host_role_peer *out)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int r;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return rapahub_fail(-errno, "", "cannot ask who the other side is");
    *out = (struct host_role_peer){peer.uid, RAPAHUB_CONTROL_ADMIN};
    if (peer.uid == geteuid() || peer.uid == 0)
        return 0;
    out->role = group->role;
    r = group->set ? is_member(fd, &peer, group->gid) : 0;
    if (r == 0)
        return rapahub_fail(RAPAHUB_EACCES, "sec.control.peer",
                            "user %u has no role at this host, which is for user %u%s",
                            (unsigned)peer.uid, (unsigned)geteuid(),
                            group->set ? " and a group" : "");
    return r < 0 ? r : 0;
}
