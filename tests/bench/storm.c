/* SPDX-License-Identifier: Apache-2.0 */
/* storm: what calls to guests suffer while others of the same host are killed, one each 100 ms. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/bench/stage.h"

#define GUESTS   32U
#define KILLED   (GUESTS / 2) /* these, each once; the others are called */
#define EVERY_MS 100
#define TRIAL_MS 1500.0

enum storm_kind { CALM, STORM };

RAPAHUB_STUB(add, i64, i64, i64);

struct storm {
    struct stage stage;
    int over; /* eventfd: no more kills */
    uint32_t turn, lost;
};

static int once(void *user)
{
    struct storm *storm = user;
    int64_t sum = 0;
    int r;

    storm->turn = (storm->turn + 1) % (GUESTS - KILLED);
    r = add(storm->stage.host, storm->stage.containers[KILLED + storm->turn], 40, 2, &sum);
    storm->lost += r < 0 || sum != 42;
    return 0;
}

static void *kill_on(void *user)
{
    const struct storm *storm = user;
    struct pollfd over = {.fd = storm->over, .events = POLLIN};

    for (uint32_t i = 0; i < KILLED && poll(&over, 1, EVERY_MS) == 0; i++)
        kill(storm->stage.pids[i], SIGKILL);
    return NULL;
}

/* second: calls lost. */
static int measure(struct storm *storm, bool kills, struct trial *out)
{
    const struct trial_plan plan = {.once = once, .user = storm, .ms = TRIAL_MS};
    pthread_t killer;
    int r = kills ? -pthread_create(&killer, NULL, kill_on, storm) : 0;

    if (r < 0)
        return r;
    r = trial_run(&plan, out);
    if (kills) {
        (void)eventfd_write(storm->over, 1);
        pthread_join(killer, NULL);
    }
    out->second = storm->lost;
    return r;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static const struct rapahub_supervision at_once = {.backoff_initial_ns = 1,
                                                       .backoff_max_ns = 1};
    const struct stage_options how = {.host = {.own_thread = true, .guests_max = GUESTS},
                                      .supervision = &at_once,
                                      .trust = RAPAHUB_TRUST_TRUSTED,
                                      .guests = GUESTS};
    static struct storm storm;
    int r;

    (void)options;
    storm = (struct storm){.over = eventfd(0, EFD_CLOEXEC)};
    r = storm.over < 0 ? -errno : stage_open(subject, &how, out, &storm.stage);
    if (r == 0)
        r = measure(&storm, subject->kind == STORM, out);
    stage_close(&storm.stage);
    if (storm.over >= 0)
        close(storm.over);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject storm_subjects[] = {
    {"storm", "others are killed", run, SUITE_ADAPT, SUITE_FREE, STORM, 16, GUESTS, 3},
    {"calm", "nobody is", run, SUITE_ADAPT, SUITE_FREE, CALM, 16, GUESTS, 3},
    {0},
};
