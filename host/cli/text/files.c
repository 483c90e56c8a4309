/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rapahub/error.h>

#include "host/config/module.h"

#define FILES_MAX 255
#define PATH_SIZE 4096

static int add_path(struct cli_texts *files, const char *path)
{
    if (files->count == FILES_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "more than %d modules", FILES_MAX);
    cli_texts_add(files, path);
    return files->failed ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a path") : 0;
}

static int is_shared_object(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end && strcmp(end, ".so") == 0;
}

static int add_folder(struct cli_texts *files, const char *folder, bool all)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_shared_object, alphasort), r = 0;

    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE + 300];

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (r == 0 && (all || config_module_is_chimod(path) > 0))
            r = add_path(files, path);
        free(entries[i]);
    }
    free(entries);
    return r;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int cli_files_add(struct cli_texts *files, const char *path)
{
    char folder[PATH_SIZE];
    unsigned before = files->count;
    int r;

    if (!is_folder(path))
        return add_path(files, path);
    if ((size_t)snprintf(folder, sizeof folder, "%s/build", path) >= sizeof folder)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the path is too long");
    r = add_folder(files, is_folder(folder) ? folder : path, false);
    if (r == 0 && files->count == before)
        r = rapahub_fail(RAPAHUB_ENOENT, "", "there is no chimod in '%s'",
                         is_folder(folder) ? folder : path);
    return r;
}

int cli_files_add_all(struct cli_texts *files, const char *folder)
{
    return add_folder(files, folder, true);
}
