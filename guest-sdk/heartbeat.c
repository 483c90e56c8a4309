/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/heartbeat.h"

#include <signal.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"

static void *beat(void *user)
{
    struct guest_heartbeat *heartbeat = user;

    while (hub_observe(&heartbeat->stop) == 0) {
        hub_publish64(heartbeat->word, hub_clock_now());
        (void)hub_futex_wait_private(&heartbeat->stop, 0, hub_clock_after(heartbeat->span_ns));
    }
    return NULL;
}

/* Signals are the serving thread's. */
int guest_heartbeat_start(struct guest_heartbeat *heartbeat, struct hub_a64 *word,
                          uint64_t interval_ns)
{
    sigset_t all, kept;
    int error;

    if (interval_ns == 0)
        return 0;
    heartbeat->word = word;
    heartbeat->span_ns = interval_ns / 2;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    error = pthread_create(&heartbeat->thread, NULL, beat, heartbeat);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    if (error != 0)
        return rapahub_fail(-error, "", "cannot start the heartbeat's thread");
    heartbeat->runs = true;
    return 0;
}

void guest_heartbeat_stop(struct guest_heartbeat *heartbeat)
{
    if (!heartbeat->runs)
        return;
    hub_publish(&heartbeat->stop, 1);
    hub_futex_wake_private(&heartbeat->stop);
    pthread_join(heartbeat->thread, NULL);
    heartbeat->runs = false;
}
