/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/node_copies.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/wire/copy_calls.h"
#include "hub/base/bytes.h"
#include "tests/simulation/cluster/copies_rules.h"

const struct node_copies_figures *node_copies_figures(void)
{
    return &copies_rules_figures;
}

/* ---- calls ---- */

static void ask(uint32_t at)
{
    struct call *call = &copies_rules_world.calls[at];

    call->asked.number = at;
    call->asked.deadline_ns = copies_rules_world.now + (20000 + copies_rules_draw(20000)) * MS;
    call->open = true;
    if (copies_rules_tell(
            (struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &call->asked}) < 0)
        call->open = false;
}

/* All calls of a client below this one have ended for it. */
static uint64_t done_below(uint64_t origin, uint64_t number)
{
    uint64_t least = number;

    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++) {
        const struct call *call = &copies_rules_world.calls[i];

        if (call->asked.uid.origin == origin && !call->answered && !call->over &&
            call->asked.uid.number < least)
            least = call->asked.uid.number;
    }
    return least;
}

static uint32_t add_call(uint64_t origin, uint64_t *number, uint32_t container, uint32_t parent)
{
    uint32_t at = copies_rules_world.calls_count++;
    struct call *call = &copies_rules_world.calls[at];

    *call = (struct call){.container = container, .parent = parent};
    call->asked = (struct cluster_send_call){.pool = POOL,
                                             .query = {.offset = call->container},
                                             .uid = {origin, ++*number},
                                             .method = POOL_RECORD_ONCE,
                                             .digest = *number,
                                             .peer = parent != 0 ? 0 : origin & 7,
                                             .order = copies_rules_draw(3) == 0,
                                             .reserve = ANSWER};
    call->asked.order &= parent == 0;
    copies_rules_figures.calls++;
    return at;
}

static void call_anew(void)
{
    uint32_t client = copies_rules_draw(CLIENTS);
    uint64_t origin = (UINT64_C(1) << 63) + client + 1;
    uint32_t at =
        add_call(origin, &copies_rules_world.numbers[client], copies_rules_draw(CONTAINERS), 0);

    copies_rules_world.calls[at].asked.done_below =
        done_below(origin, copies_rules_world.calls[at].asked.uid.number);
    ask(at);
}

/* A client that did not get its answer asks again, or never. */
static void call_again(uint32_t at)
{
    struct call *call = &copies_rules_world.calls[at];

    if (call->parent != 0 || call->open || call->over ||
        (call->answered && copies_rules_draw(4) > 0))
        return;
    if (copies_rules_draw(8) == 0 || call->answered) {
        call->over = true;
        if (!call->answered || call->asked.uid.number < done_below(call->asked.uid.origin, ~0ULL))
            return;
    }
    call->asked.maybe = true;
    call->asked.lineage = LINEAGE;
    call->asked.done_below = 0;
    copies_rules_figures.again++;
    ask(at);
}

/* A call goes to a container after that of the call that it answers, or back to one of its chain:
 * any other could wait for the call that waits for it. */
static uint32_t choose_nested(const struct call *call)
{
    if (call->parent != 0 && copies_rules_draw(2) == 0)
        return copies_rules_world.calls[call->parent - 1].container;
    return call->container + copies_rules_draw(CONTAINERS - call->container);
}

/* The run of a call calls another container, always by the same uid. */
static void call_nested(struct job *job)
{
    struct call *call = &copies_rules_world.calls[job->call], *nested;

    if (call->nested == 0)
        call->nested = 1 + add_call(9, &copies_rules_world.numbers[CLIENTS], choose_nested(call),
                                    job->call + 1);
    nested = &copies_rules_world.calls[call->nested - 1];
    copies_rules_figures.nested++;
    if (nested->open)
        (void)copies_rules_tell(
            (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = call->nested - 1});
    nested->asked.chain = job->chain;
    nested->asked.maybe = true;
    nested->asked.lineage = LINEAGE;
    job->waits = true;
    ask(call->nested - 1);
    job->waits = nested->open;
}

static bool is_nested_deep(uint32_t at)
{
    uint32_t depth = 0;

    for (; copies_rules_world.calls[at].parent != 0; at = copies_rules_world.calls[at].parent - 1)
        depth++;
    return depth >= 2;
}

static void tell_end(struct job *job)
{
    static uint8_t body[CLUSTER_EFFECTS_BODY_MAX];
    static uint64_t outside = 0;
    struct cluster_payload_body answer = {.bytes = {body, copies_rules_draw(100)}};

    if (copies_rules_draw(5) == 0)
        answer = (struct cluster_payload_body){.number = ++outside, .size = ANSWER};
    job->open = false;
    (void)copies_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                                                   .id = job->id,
                                                   .status = job->dead ? RAPAHUB_EDIED : 0,
                                                   .body = answer});
}

/* A run makes a step: it calls, it changes the state, its end is told. */
static void progress(uint32_t at)
{
    struct job *job = &copies_rules_world.jobs[at];
    struct actor *actor = &copies_rules_world.actors[job->container];

    if (!job->open || (job->waits && !job->dead))
        return;
    if (!job->ran && !job->dead) {
        struct call *call = &copies_rules_world.calls[job->call];

        if (copies_rules_draw(3) == 0 && call->nested == 0 && !is_nested_deep(job->call) &&
            copies_rules_world.calls_count < CALLS) {
            call_nested(job);
            return;
        }
        if (call->nested != 0 && !copies_rules_world.calls[call->nested - 1].answered) {
            call_nested(job);
            return;
        }
        job->ran = true;
        if (++actor->done[job->call] > 1)
            copies_rules_broke("doubled: container %u has call %u twice", job->container,
                               job->call);
        return;
    }
    tell_end(job);
}

/* ---- copies ---- */

static void large_answer(void *user, uint64_t number, struct rapahub_bytes *out)
{
    static uint8_t bytes[ANSWER];

    (void)user;
    memcpy(bytes, &number, sizeof number);
    *out = (struct rapahub_bytes){bytes, sizeof bytes};
}

static void mark_written(struct actor *actor, bool known[CALLS])
{
    struct cluster_copy_calls history;
    struct cluster_copy_calls_call call;

    if (cluster_copy_calls_read((struct rapahub_bytes){actor->taken.bytes, actor->taken.size},
                                &history) < 0)
        copies_rules_broke("exact: calls that cannot be read are written");
    while (!copies_rules_world.broken && cluster_copy_calls_next_call(&history.calls, &call))
        known[copies_rules_find((struct cluster_uid){call.origin, call.number})] = true;
}

/* The calls that the state has got since the copy before are those that are written, but for those
 * that nobody may ask for again. */
static void check_exact(uint32_t c)
{
    struct actor *actor = &copies_rules_world.actors[c];
    static bool known[CALLS];

    memset(known, 0, sizeof known);
    mark_written(actor, known);
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++) {
        bool before = !actor->whole && actor->count > 0 && actor->disk[actor->count - 1].done[i];
        const struct cluster_send_call *asked = &copies_rules_world.calls[i].asked;

        if (known[i] && actor->done[i] == 0)
            copies_rules_broke("exact: call %u is written, and container %u has not run it", i, c);
        if (!known[i] && actor->done[i] > 0 && !before && asked->done_below == 0 &&
            done_below(asked->uid.origin, ~0ULL) <= asked->uid.number)
            copies_rules_broke("exact: container %u has run call %u, which is not written", c, i);
    }
}

static void save(uint32_t c)
{
    struct actor *actor = &copies_rules_world.actors[c];
    const struct cluster_durability_copy copy = {actor->copying, actor->whole};
    struct hub_writer writer;

    hub_writer_init(&writer, actor->taken.bytes, BYTES);
    if (cluster_core_covered(copies_rules_world.core, &copy, &writer, large_answer, NULL) < 0)
        copies_rules_broke("exact: the calls of a copy are not written");
    actor->taken.size = writer.size;
    actor->taken.whole = actor->whole;
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++)
        actor->taken.done[i] = actor->done[i] > 0;
    check_exact(c);
    actor->saved = true;
    if (copies_rules_draw(4) > 0)
        (void)copies_rules_tell(
            (struct cluster_event){.kind = CLUSTER_EVENT_SAVED, .id = actor->copying});
}

static void end_copy(uint32_t c, bool durable)
{
    struct actor *actor = &copies_rules_world.actors[c];
    uint64_t id = actor->copying;

    if (durable && actor->saved) {
        actor->count = actor->taken.whole ? 0 : actor->count;
        actor->disk[actor->count++] = actor->taken;
        actor->durable_seq = actor->seq;
    } else {
        copies_rules_figures.failed++;
    }
    actor->copying = 0;
    (void)copies_rules_tell(
        (struct cluster_event){.kind = CLUSTER_EVENT_COPIED,
                               .id = id,
                               .status = durable && actor->saved ? 0 : RAPAHUB_EIO,
                               .state_size = 100,
                               .changes_size = 30 * actor->count});
}

static void go_on_copying(uint32_t c)
{
    if (copies_rules_world.actors[c].copying == 0)
        return;
    if (!copies_rules_world.actors[c].saved && copies_rules_world.actors[c].here &&
        copies_rules_draw(10) > 0)
        save(c);
    else
        end_copy(c, copies_rules_draw(10) > 0);
}

/* ---- lives ---- */

static void restore(uint32_t c, const struct copy *copy)
{
    struct cluster_event event = {.kind = CLUSTER_EVENT_RESTORED,
                                  .pool = POOL,
                                  .container = c,
                                  .whole = copy->whole,
                                  .calls = {copy->bytes, copy->size}};
    static uint64_t numbers[CALLS], next;
    struct cluster_copy_calls history;
    struct cluster_copy_calls_call call;

    if (cluster_copy_calls_read(event.calls, &history) < 0)
        copies_rules_broke("exact: calls that were written cannot be read");
    while (!copies_rules_world.broken && cluster_copy_calls_next_call(&history.calls, &call))
        if (call.answer.size > CLUSTER_EFFECTS_BODY_MAX)
            numbers[event.numbers_count++] = (UINT64_C(1) << 40) + ++next;
    event.numbers = numbers;
    copies_rules_figures.restored++;
    if (copies_rules_tell(event) < 0)
        copies_rules_broke("exact: calls of a copy are refused");
}

static void load(uint32_t c)
{
    struct actor *actor = &copies_rules_world.actors[c];

    memset(actor->done, 0, sizeof actor->done);
    for (uint32_t i = 0; i < actor->count; i++)
        restore(c, &actor->disk[i]);
    for (uint32_t i = 0; i < CALLS && actor->count > 0; i++)
        actor->done[i] = actor->disk[actor->count - 1].done[i];
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++)
        if (copies_rules_world.calls[i].container == c && copies_rules_world.calls[i].parent == 0 &&
            copies_rules_world.calls[i].answered && actor->done[i] == 0)
            copies_rules_broke("lost: container %u begins without call %u, which was answered", c,
                               i);
}

static void begin(uint32_t c)
{
    struct actor *actor = &copies_rules_world.actors[c];

    if (actor->copying != 0)
        end_copy(c, copies_rules_draw(2) == 0); /* it has ended before the next life loads */
    actor->here = true;
    actor->life++;
    actor->seq = actor->durable_seq = 0;
    copies_rules_begin_life(c);
    load(c);
    copies_rules_serve(c, actor->count > 0);
}

static void lose_jobs(uint32_t c)
{
    for (uint32_t i = 0; i < copies_rules_world.jobs_count; i++)
        if (copies_rules_world.jobs[i].open && copies_rules_world.jobs[i].container == c)
            copies_rules_world.jobs[i].dead = true;
}

static void kill_guest(uint32_t c)
{
    struct actor *actor = &copies_rules_world.actors[c];

    if (!actor->here || !actor->serves)
        return;
    copies_rules_figures.deaths++;
    lose_jobs(c);
    if (actor->copying != 0 && copies_rules_draw(3) == 0)
        end_copy(c, copies_rules_draw(2) == 0);
    lose_jobs(c); /* those, too, that the core has begun before it was told */
    copies_rules_end_life(c);
    actor->here = false;
}

static bool start_daemon(void)
{
    if (cluster_core_create(&copies_rules_limits, 1,
                            copies_rules_world.seed + copies_rules_world.starts++,
                            &copies_rules_world.core) < 0)
        return false;
    (void)copies_rules_tell(
        (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                               .pool = POOL,
                               .revision = 1,
                               .record = pool_record_durable(CLUSTER_DURABILITY_ACKED)});
    return true;
}

/* Guests and open calls end with it; copies that were under way are on the disk or not. */
static void kill_daemon(void)
{
    copies_rules_figures.daemons++;
    for (uint32_t i = 0; i < copies_rules_world.jobs_count; i++)
        copies_rules_world.jobs[i].open = copies_rules_world.jobs[i].waits = false;
    for (uint32_t c = 0; c < CONTAINERS; c++) {
        struct actor *actor = &copies_rules_world.actors[c];

        if (actor->copying != 0 && actor->saved && copies_rules_draw(2) == 0) {
            actor->count = actor->taken.whole ? 0 : actor->count;
            actor->disk[actor->count++] = actor->taken;
        }
        actor->copying = 0;
        actor->here = actor->serves = false;
    }
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++)
        copies_rules_world.calls[i].open = false;
    cluster_core_release(&copies_rules_world.core);
    copies_rules_world.timer = UINT64_MAX;
    if (!start_daemon())
        copies_rules_broke("no memory");
}

/* ---- a life ---- */

static void pass_time(uint64_t ns)
{
    uint64_t until = copies_rules_world.now + ns;

    while (copies_rules_world.timer <= until && !copies_rules_world.broken) {
        copies_rules_world.now = copies_rules_world.timer > copies_rules_world.now
                                     ? copies_rules_world.timer
                                     : copies_rules_world.now;
        copies_rules_world.timer = UINT64_MAX;
        (void)copies_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    }
    copies_rules_world.now = until;
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++)
        if (copies_rules_world.calls[i].open &&
            copies_rules_world.now > copies_rules_world.calls[i].asked.deadline_ns)
            copies_rules_broke("late: call %u is open after its deadline", i);
}

static void do_something(void)
{
    uint32_t what = copies_rules_draw(200), c = copies_rules_draw(CONTAINERS);

    if (what < 30 && copies_rules_world.calls_count < CALLS)
        call_anew();
    else if (what < 36 && copies_rules_world.calls_count > 0)
        call_again(copies_rules_draw(copies_rules_world.calls_count));
    else if (what < 130 && copies_rules_world.jobs_count > 0)
        progress(copies_rules_draw(3) == 0
                     ? copies_rules_draw(copies_rules_world.jobs_count)
                     : copies_rules_world.jobs_count - 1 -
                           copies_rules_draw(copies_rules_world.jobs_count < 10
                                                 ? copies_rules_world.jobs_count
                                                 : 10));
    else if (what < 170)
        go_on_copying(c);
    else if (what < 171 && copies_rules_draw(2) == 0)
        kill_guest(c);
    else if (what < 172 && copies_rules_draw(8) == 0)
        kill_daemon();
    else if (what < 185 && !copies_rules_world.actors[c].here)
        begin(c);
    else if (what > 190)
        pass_time(copies_rules_draw(100) * MS);
}

/* All is well from now on: each call gets its answer. */
static void settle(void)
{
    struct cluster_dedup_figures left;

    for (int round = 0; round < 60 && !copies_rules_world.broken; round++) {
        for (uint32_t c = 0; c < CONTAINERS && !copies_rules_world.broken; c++) {
            if (!copies_rules_world.actors[c].here)
                begin(c);
            for (int i = 0; i < 2 && copies_rules_world.actors[c].copying != 0; i++)
                copies_rules_world.actors[c].saved ? end_copy(c, true) : save(c);
        }
        for (uint32_t i = 0; i < copies_rules_world.jobs_count && !copies_rules_world.broken; i++)
            progress(i);
        pass_time(500 * MS);
        for (uint32_t i = 0;
             i < copies_rules_world.calls_count && !copies_rules_world.broken && round < 40; i++)
            if (copies_rules_world.calls[i].parent == 0 && !copies_rules_world.calls[i].open &&
                !copies_rules_world.calls[i].over && !copies_rules_world.calls[i].answered)
                call_again(i);
    }
    left = cluster_dedup_figures(cluster_core_parts(copies_rules_world.core)->dedup, 0, 0);
    for (uint32_t i = 0; i < copies_rules_world.calls_count; i++)
        if (!copies_rules_world.broken && copies_rules_world.calls[i].parent == 0 &&
            !copies_rules_world.calls[i].answered && !copies_rules_world.calls[i].over)
            copies_rules_broke("rest: call %u has no answer", i);
    if (!copies_rules_world.broken && left.held + left.running > 0)
        copies_rules_broke("rest: %u ends are held, %u calls run", left.held, left.running);
}

const char *node_copies_live(uint64_t seed, unsigned steps)
{
    memset(&copies_rules_world, 0, sizeof copies_rules_world);
    copies_rules_world.seed = seed;
    copies_rules_world.timer = UINT64_MAX;
    hub_random_init(&copies_rules_world.random, seed);
    copies_rules_figures.lives++;
    if (!start_daemon())
        return "no memory";
    for (unsigned i = 0; i < steps && !copies_rules_world.broken; i++)
        do_something();
    if (!copies_rules_world.broken)
        settle();
    cluster_core_release(&copies_rules_world.core);
    return copies_rules_report();
}
