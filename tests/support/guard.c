/* SPDX-License-Identifier: Apache-2.0 */
/* guard: checks that a test program leaks nothing. At its end it has the same descriptors,
 * children, threads and mappings of segments as at its start (leak.h). So no test has to check the
 * releases of its process, and a forgotten release fails every test that needs it. It is not
 * called, only linked by name. */
#include <stdio.h>
#include <unistd.h>

#include "tests/support/leak.h"

#define FAILED 86

static struct leak *at_start;
static pid_t process; /* a child of a test may end as it likes */

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
