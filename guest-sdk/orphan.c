/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/guest.h>

#include "hub/base/clock.h"
#include "hub/base/proof.h"
#include "hub/base/thread.h"

#define SLICE (3600 * HUB_SECOND)

/* Works whatever the serving thread does and whatever signals it blocks. */
static void *end_with(void *user)
{
    int host = (int)(intptr_t)user, r;

    while ((r = hub_proof_wait(host, hub_clock_after(SLICE))) == -ETIMEDOUT || r == -EINTR)
        continue;
    if (r == 0)
        _exit(RAPAHUB_GUEST_ORPHAN);
    close(host);
    return NULL;
}

static int watch(int host)
{
    pthread_t thread;
    int r = hub_thread_start(&thread, end_with, (void *)(intptr_t)host);

    if (r < 0) {
        close(host);
        return rapahub_fail(r, "supervise.orphan",
                            "cannot start the thread that waits for the end of the host: %s",
                            strerrordesc_np(-r));
    }
    pthread_detach(thread);
    return 0;
}

/* The kernel sends the parent-death signal when the *thread* that started this process ends. A host
 * that sets the signal itself knows that this thread lives as long as the host. For other hosts
 * only the process counts: a thread here waits for its end, and the signal merely makes sure that a
 * stopped guest wakes up for it. A parent outside of this pid namespace has no number; only the
 * doorbell shows its end. r[impl supervise.orphan] */
int rapahub_guest_end_with_host(void)
{
    int wanted = 0, host;

    if (prctl(PR_GET_PDEATHSIG, &wanted) == 0 && wanted != 0)
        return 0;
    host = hub_proof_open(getppid());
    if (host < 0)
        return 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    return watch(host);
}
