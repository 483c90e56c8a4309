/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

int cli_program_path(const char *from_bin, char to[CLI_PROGRAM_PATH])
{
    char self[CLI_PROGRAM_PATH], path[2 * CLI_PROGRAM_PATH];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    if (size < 0)
        return rapahub_fail(-errno, "", "cannot find this program");
    self[size] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(path, sizeof path, "%s/%s", self, from_bin);
    if (!realpath(path, to))
        return rapahub_fail(-errno, "", "'%s' is not there", path);
    return 0;
}

int cli_program_guest(char to[CLI_PROGRAM_PATH])
{
    const char *chosen = secure_getenv("RAPAHUB_GUEST");

    if (!chosen || !*chosen)
        return cli_program_path(RAPAHUB_GUEST_FROM_BIN, to);
    if (strlen(chosen) >= CLI_PROGRAM_PATH)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "RAPAHUB_GUEST is too long for a path");
    memcpy(to, chosen, strlen(chosen) + 1);
    return 0;
}
