/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/spent.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spent spent_by(pid_t pid)
{
    char path[320], line[128];
    struct spent spent = {0, 0};
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        unsigned long long ns = 0, count;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file)
            continue;
        if (fscanf(file, "%llu", &ns) == 1)
            spent.cpu_ns += (double)ns;
        fclose(file);
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
        file = fopen(path, "re");
        while (file && fgets(line, sizeof line, file))
            if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1)
                spent.wakes += (double)count;
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return spent;
}

double spent_kilobytes(pid_t pid, const char *figure)
{
    char path[64], line[128];
    size_t size = strlen(figure);
    double kb = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)(pid > 0 ? pid : getpid()));
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, figure, size) == 0)
            kb = strtod(line + size + 1, NULL);
    if (file)
        fclose(file);
    return kb;
}
