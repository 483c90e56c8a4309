/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/sockets.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#define SUFFIX ".sock"

int cli_sockets_new(const char *host, bool for_group, char to[CLI_SOCKETS_PATH])
{
    size_t size;
    int r = host_folders_for_socket(for_group, to);

    if (r < 0)
        return r;
    if (strlen(host) >= CLI_SOCKETS_NAME || strchr(host, '/') || host[0] == '.' || !host[0])
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no name of a host", host);
    size = strlen(to);
    snprintf(to + size, CLI_SOCKETS_PATH - size, "/%s" SUFFIX, host);
    return 0;
}

struct walk {
    cli_sockets_visit *visit;
    void *user;
};

static int each_in(void *user, const char *folder)
{
    const struct walk *walk = user;
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    int r = 0;

    while (open_folder && r == 0 && (entry = readdir(open_folder))) {
        char path[CLI_SOCKETS_PATH + 300], name[CLI_SOCKETS_NAME];
        size_t size = strlen(entry->d_name);

        if (size <= strlen(SUFFIX) || strcmp(entry->d_name + size - strlen(SUFFIX), SUFFIX) != 0 ||
            size - strlen(SUFFIX) >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(size - strlen(SUFFIX)), entry->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        r = walk->visit(walk->user, name, path);
    }
    if (open_folder)
        closedir(open_folder);
    return r;
}

int cli_sockets_each(cli_sockets_visit *visit, void *user)
{
    struct walk walk = {visit, user};

    return host_folders_each(each_in, &walk);
}
