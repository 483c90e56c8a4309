/* SPDX-License-Identifier: Apache-2.0 */
/* guard: each program of the tests leaves nothing behind. What it had at its start it has at its
 * end, and no more: descriptors, children, threads, mappings of segments (leak.h). So no test has
 * to ask for what its process releases, and a release that is forgotten is seen by all that need
 * it. Nothing calls this: it is linked by its name. */
#include <stdio.h>
#include <unistd.h>

#include "tests/support/leak.h"

#define FAILED 86

static struct leak *at_start;
static pid_t process; /* a child of a test ends as it likes */

void guard_begin(void) __attribute__((constructor));
void guard_begin(void)
{
    process = getpid();
    at_start = leak_begin();
}

__attribute__((destructor)) static void end(void)
{
    char *left;

    if (getpid() != process)
        return;
    left = leak_end(at_start);
    if (!left)
        return;
    fprintf(stderr, "the program left behind:\n%s", left);
    _exit(FAILED);
}
