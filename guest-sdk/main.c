/* SPDX-License-Identifier: Apache-2.0 */
/* rapahub-guest: runs one chimod. A host starts it with a ticket; it is of no use by hand. */
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rapahub/guest.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("rapahub-guest %s\n", rapahub_version()) < 0;
    /* The second net under a host that dies: the first is the doorbell's hang-up. What the host
     * gave is for this process, not for the programs a chimod starts. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what a chimod prints is logged line by line */
    rapahub_guest_last_words();
    return rapahub_guest_run(argc, argv, NULL);
}
