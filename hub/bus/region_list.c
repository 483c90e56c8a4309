/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub/bus/region.h"

int rapahub_region_list(int (*visit)(void *user, const char *name), void *user)
{
    char prefix[64];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "rapahub.region-%u-", getuid());
    DIR *folder = opendir(HUB_REGION_FOLDER);
    struct dirent *entry;
    int r = 0;

    if (!folder)
        return rapahub_fail(-errno, "", "cannot read " HUB_REGION_FOLDER ": %s",
                            strerrordesc_np(errno));
    while (r == 0 && (entry = readdir(folder)))
        if (strncmp(entry->d_name, prefix, length) == 0 &&
            hub_region_is_name(entry->d_name + length))
            r = visit(user, entry->d_name + length);
    closedir(folder);
    return r;
}
