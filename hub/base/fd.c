/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "hub/base/own.h"

void hub_fd_release(int *fd)
{
    int kept = errno;

    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = kept;
}
