/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "hub/base/own.h"

void hub_memory_release(void *pointer_to_pointer)
{
    void **pointer = pointer_to_pointer;
    int kept = errno;

    free(*pointer);
    *pointer = NULL;
    errno = kept;
}
