/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/host.h>

bool orphans_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

bool orphans_nobody_left(void *user)
{
    int status;
    pid_t pid;

    (void)user;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        if (WIFSTOPPED(status))
            (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return pid < 0 && errno == ECHILD;
}

void orphans_show(void)
{
    char line[256];
    FILE *file = popen("ps -o pid,ppid,stat,wchan,args --forest --no-headers -u $(id -u)", "r");

    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "rapahub"))
            fputs(line, stderr);
    if (file)
        pclose(file);
}

unsigned orphans_files_of(pid_t pid)
{
    char prefix[64];
    DIR *folder = opendir("/dev/shm");
    unsigned count = 0;

    snprintf(prefix, sizeof prefix, "rapahub-%u-%d-", getuid(), (int)pid);
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (folder)
        closedir(folder);
    return count;
}

int orphans_start_another_host(void)
{
    const struct rapahub_host_options options = {.name = "next"};
    struct rapahub_host *host = NULL;
    int r = rapahub_host_create(&options, &host);

    rapahub_host_destroy(host);
    return r;
}
