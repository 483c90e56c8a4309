/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/process_child.h"

#include <dirent.h>
#include <stdio.h>

/* Counts the children of a thread down to the one with this index. */
static pid_t child_of_thread(pid_t process, const char *thread, unsigned *index)
{
    char path[320]; /* with the longest name that a folder's entry may have */
    int child = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)process, thread);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fscanf(file, "%d", &child) == 1 && (*index)-- > 0)
        child = 0;
    fclose(file);
    return child;
}

/* Any thread of the process may have begun it. */
pid_t process_child(pid_t parent, unsigned index)
{
    char path[64];
    struct dirent *thread;
    pid_t child = 0;
    DIR *threads;

    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    threads = parent > 0 ? opendir(path) : NULL;
    if (!threads)
        return 0;
    while (child == 0 && (thread = readdir(threads)))
        if (thread->d_name[0] != '.')
            child = child_of_thread(parent, thread->d_name, &index);
    closedir(threads);
    return child;
}
