/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/stage.h"

#include <stdio.h>
#include <string.h>

#include "tests/bench/place.h"

#define POOL_MAJOR 1
#define COME_NS    UINT64_C(20000000000)

static const char *attached_path, *attached_note;

void stage_attached(const char *path, const char *note)
{
    attached_path = path;
    attached_note = note;
}

/* All of the segment that is mapped here. */
static int write_note(void)
{
    unsigned long long low = 0, high = 0, from, to;
    FILE *maps = fopen("/proc/self/maps", "re"), *note = fopen(attached_note, "we");
    char line[512];

    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, attached_path) && sscanf(line, "%llx-%llx", &from, &to) == 2) {
            low = low == 0 ? from : low;
            high = to;
        }
    if (maps)
        fclose(maps);
    if (note) {
        fprintf(note, "%llx %llx %llx\n", low, high, (unsigned long long)(uintptr_t)trial_mark());
        fclose(note);
    }
    return note && high > low ? 0 : -1;
}

int stage_failed(const char *what, int code)
{
    fprintf(stderr, "%s: %s: %s\n", what, rapahub_error_name(code), rapahub_last_error()->text);
    return code;
}

int stage_not_here(struct trial *out, const char *why)
{
    snprintf(out->why, sizeof out->why, "%s", why);
    return SUITE_NOT_HERE;
}

/* How both sides wait. */
static int set_waiting(struct rapahub_host_options *host, enum suite_mode mode, struct trial *out)
{
#ifdef BENCH_HAS_WAITING
    static const enum rapahub_waiting waiting[] = {RAPAHUB_WAIT_ADAPT, RAPAHUB_WAIT_POLL,
                                                   RAPAHUB_WAIT_SLEEP, RAPAHUB_WAIT_BELL};

    (void)out;
    host->waiting = waiting[mode];
    return 0;
#else
    (void)host; /* on two CPUs the default polls too, as long as the CPUs are free */
    return mode == SUITE_ADAPT || mode == SUITE_POLL
               ? 0
               : stage_not_here(out, "needs the host option `waiting`");
#endif
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    struct stage *stage = user;

    for (uint32_t i = 0; i < stage->count; i++)
        if (stage->guests[i].group == status->guest.group &&
            stage->guests[i].epoch == status->guest.epoch &&
            stage->guests[i].peer == status->guest.peer)
            stage->pids[i] = status->pid;
}

static void on_attached(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    if (event->kind == RAPAHUB_EVENT_ATTACHED && stage->count == 0)
        stage->guests[stage->count++] = event->guest;
}

/* The guest that comes by itself. */
static int await(struct stage *stage)
{
    struct rapahub_container_options pool = {.id = {{POOL_MAJOR, 0}, 0}, .pool_name = "bench"};
    uint64_t deadline = trial_now() + COME_NS;
    int r = 0;

    while (r >= 0 && stage->count == 0) {
        r = rapahub_host_dispatch(stage->host, 100);
        if (trial_now() > deadline)
            return fprintf(stderr, "no guest has come\n"), -1;
    }
    stage->containers[0] = pool.id;
    if (r >= 0 && attached_note && write_note() < 0)
        return fprintf(stderr, "%s: no segment to tell of\n", attached_note), -1;
    if (r >= 0)
        r = rapahub_host_add_container(stage->host, stage->guests[0], &pool);
    return r < 0 ? stage_failed("attached", r) : 0;
}

int stage_add(struct stage *stage, const struct stage_options *options)
{
    const struct rapahub_guest_options plugin = {
        .chimod = BENCH_CHIMOD, .trust = options->trust, .supervision = options->supervision};
    struct rapahub_container_options pool = {.pool_name = "bench", .params = options->params};
    uint32_t at = stage->count;
    int r = rapahub_host_spawn(stage->host, &plugin, &stage->guests[at]);

    if (r < 0)
        return stage_failed("spawn", r);
    pool.id = (struct rapahub_container_id){{POOL_MAJOR, 0}, at};
    stage->containers[at] = pool.id;
    stage->count++;
    r = rapahub_host_add_container(stage->host, stage->guests[at], &pool);
    return r < 0 ? stage_failed("container", r) : 0;
}

int stage_dispatch(struct stage *stage, bool (*holds)(void), double ms)
{
    uint64_t until = trial_now() + (uint64_t)(ms * 1e6), now;
    int r = 0;

    while (r >= 0 && !(holds && holds()) && (now = trial_now()) < until)
        r = rapahub_host_dispatch(stage->host, (int)((until - now) / 1000000) + 1);
    return r < 0 ? r : holds && holds();
}

static int put_to_places(const struct suite_subject *subject, struct stage *stage,
                         struct trial *out)
{
    int r = rapahub_host_guests(stage->host, note_pid, stage);

    for (uint32_t i = 0; r == 0 && i < stage->count; i++)
        r = place_guest(subject->place, stage->pids[i]);
    return r == 0 ? place_host(subject->place, out) : r;
}

/* For SUITE_SAME all is born on one CPU, as under taskset; else each side is put to its place when
 * it is there. */
int stage_open(const struct suite_subject *subject, const struct stage_options *options,
               struct trial *out, struct stage *stage)
{
    const struct stage_options trusted = {.trust = RAPAHUB_TRUST_TRUSTED};
    struct stage_options how = options ? *options : trusted;
    bool same = subject->place == SUITE_SAME;
    uint32_t guests = how.guests > 0 ? how.guests : 1;
    int r = how.as_it_is ? 0 : place_host(same ? SUITE_SAME : SUITE_FREE, out);

    *stage = (struct stage){0};
    if (r == 0 && subject->place == SUITE_CROSS && place_cpus() < 2)
        r = stage_not_here(out, "needs two CPUs");
    if (r == 0)
        r = set_waiting(&how.host, subject->mode, out);
    if (r != 0)
        return r;
    if (how.host.guests_max == 0)
        how.host.guests_max = guests > 16 ? guests : 16;
    if (attached_path) {
        how.host.anonymous = true;
        how.host.path = attached_path;
        how.host.on_event = on_attached;
        how.host.user = stage;
    }
    r = rapahub_host_create(&how.host, &stage->host);
    if (r < 0)
        return stage_failed("host", r);
    if (attached_path)
        r = await(stage);
    while (r == 0 && !attached_path && !how.nobody && stage->count < guests)
        r = stage_add(stage, &how);
    return r == 0 && !how.as_it_is ? put_to_places(subject, stage, out) : r;
}

void stage_close(struct stage *stage)
{
    rapahub_host_destroy(stage->host);
    stage->host = NULL;
    place_end();
}
