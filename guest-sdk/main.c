/* SPDX-License-Identifier: Apache-2.0 */
/* rapahub-guest: the program that runs one chimod. A host starts it with a ticket, or a person
 * starts it with the path of a host's segment and the module's file. */
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/guest.h>

/* A signal may come to any thread; the serving thread is the first one. */
static void on_signal(int number)
{
    if (gettid() == getpid())
        rapahub_guest_leave(number == SIGINT ? "interrupted" : "terminated");
    else
        (void)tgkill(getpid(), getpid(), number);
}

/* Leaves at the first request to stop. A second signal ends the process at once. */
static void leave_when_asked(void)
{
    const struct sigaction leave = {.sa_handler = on_signal,
                                    .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};

    sigaction(SIGINT, &leave, NULL);
    sigaction(SIGTERM, &leave, NULL);
}

static bool has_ticket(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--doorbell-fd=", sizeof "--doorbell-fd=" - 1) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("rapahub-guest %s\n", rapahub_version()) < 0;
    /* The second safety net for a host that dies; the first is the doorbell's hang-up. The parent
     * of a guest without a ticket is not its host and may end before it. Descriptors from the host
     * are for this process, not for programs that a chimod starts. */
    if (!has_ticket(argc, argv))
        leave_when_asked();
    else if (rapahub_guest_end_with_host() < 0)
        return fprintf(stderr, "%s\n", rapahub_last_error()->text), RAPAHUB_GUEST_FAILED;
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* output of a chimod is logged line by line */
    rapahub_guest_last_words();
    return rapahub_guest_run(argc, argv, NULL);
}
