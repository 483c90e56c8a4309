/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/rounds.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/once.h"

#define SUBJECTS_MAX  192
#define NOISY         1.5 /* quartiles of a base farther apart */
#define NOISY_FROM    3   /* pairs */
#define TRIES         3
#define AGAIN_ROUNDS  5 /* at most, of the second and third */
#define PREEMPTED_MAX 5 /* repetitions of a trial with real-time priority that was preempted */

enum { NOT_RUN, DONE, NOT_HERE, BROKEN };

struct rounds {
    const struct rounds_options *options;
    const struct suite_subject *subjects[SUBJECTS_MAX];
    uint32_t count;
    uint64_t random;
    uint32_t done; /* rounds */
    bool wanted[SUBJECTS_MAX];
    uint8_t state[SUBJECTS_MAX][ROUNDS_MAX];
    struct trial trials[SUBJECTS_MAX][ROUNDS_MAX];
    struct trial others[SUBJECTS_MAX][ROUNDS_MAX]; /* trials of the other build */
};

/* xorshift: the order is the seed's, on any machine. */
static uint32_t random_below(struct rounds *rounds, uint32_t limit)
{
    rounds->random ^= rounds->random << 13;
    rounds->random ^= rounds->random >> 7;
    rounds->random ^= rounds->random << 17;
    return (uint32_t)(rounds->random % limit);
}

static uint32_t index_of(const struct rounds *rounds, const char *id)
{
    uint32_t at = 0;

    while (at < rounds->count && strcmp(rounds->subjects[at]->id, id) != 0)
        at++;
    return at;
}

static void measure(struct rounds *rounds, uint32_t at, uint32_t round)
{
    const struct suite_subject *subject = rounds->subjects[at];
    struct trial *trial = &rounds->trials[at][round];
    int r = 0;

    for (int tries = 0; tries < TRIES; tries++) {
        *trial = (struct trial){0};
        r = once_run(subject, &rounds->options->suite, trial);
        if (r != 0 || !trial->fifo || trial->preempted <= PREEMPTED_MAX)
            break;
    }
    rounds->state[at][round] = r == 0 ? DONE : r == SUITE_NOT_HERE ? NOT_HERE : BROKEN;
}

/* This build and the other one, each in a process of its own, now the one first, now the other. */
static void compare(struct rounds *rounds, uint32_t at, uint32_t round)
{
    const struct suite_subject *subject = rounds->subjects[at];
    struct trial *mine = &rounds->trials[at][round], *other = &rounds->others[at][round];
    bool first = random_below(rounds, 2) == 0;
    int r = 0;

    *mine = *other = (struct trial){0};
    for (int i = 0; r == 0 && i < 2; i++)
        r = (i == 0) == first
                ? once_elsewhere(BENCH_SELF, subject, &rounds->options->suite, mine)
                : once_elsewhere(rounds->options->other, subject, &rounds->options->suite, other);
    if (r != 0 && *other->why)
        *mine = *other;
    rounds->state[at][round] = r == 0 ? DONE : r == SUITE_NOT_HERE ? NOT_HERE : BROKEN;
}

/* Returns the value of a subject in a round; 0: it was not measured. */
static double value_of(const struct rounds *rounds, const char *id, enum gates_field field,
                       uint32_t round)
{
    uint32_t at = index_of(rounds, id);

    return at < rounds->count && rounds->state[at][round] == DONE
               ? gates_value(&rounds->trials[at][round], field)
               : 0;
}

/* Says whether a round counts for a row that needs CPUs that share a cache. */
static bool counts(const struct rounds *rounds, const struct gates_row *row, uint32_t round)
{
    double line;

    if (!row->close || rounds->options->other)
        return true;
    line = value_of(rounds, GATES_LINE, GATES_BATCH, round);
    if (line <= 0 || line > GATES_LINE_NS)
        return false;
    return !row->reach || value_of(rounds, row->reach, row->field, round) >=
                              row->gate * value_of(rounds, row->base, row->base_field, round);
}

/* The value of a row in a round, and what it is divided by; false where one of them is missing. */
static bool pair_of(const struct rounds *rounds, const struct gates_row *row, uint32_t round,
                    double *value, double *base)
{
    uint32_t at = index_of(rounds, row->subject);
    bool other = rounds->options->other != NULL;
    uint32_t of = row->base && !other ? index_of(rounds, row->base) : at;

    if (at == rounds->count || of == rounds->count || rounds->state[at][round] != DONE ||
        rounds->state[of][round] != DONE || !counts(rounds, row, round))
        return false;
    *value = gates_value(&rounds->trials[at][round], row->field);
    *base = other       ? gates_value(&rounds->others[at][round], row->field)
            : row->base ? gates_value(&rounds->trials[of][round], row->base_field)
                        : 1.0;
    return true;
}

/* The first of the wanted rows whose subject it is. */
static const struct gates_row *row_of(const struct rounds *rounds, const char *subject)
{
    for (const struct gates_row *row = gates_rows; row->id; row++)
        if (strcmp(row->subject, subject) == 0 &&
            rounds->options->wanted(row, rounds->options->user))
            return row;
    return NULL;
}

/* When the round is over, since a base may come after what is divided by it. */
static void print_round(const struct rounds *rounds, uint32_t round)
{
    for (uint32_t i = 0; rounds->options->json && i < rounds->count; i++) {
        const struct gates_row *row = row_of(rounds, rounds->subjects[i]->id);
        struct once_where where = {.round = round, .seed = rounds->options->seed};
        double value = 0, base = 0;

        if (rounds->state[i][round] != DONE)
            continue;
        if (row) {
            where.row = row->id;
            where.base = rounds->options->other ? rounds->options->other : row->base;
            if (pair_of(rounds, row, round, &value, &base) && base > 0)
                where.ratio = value / base;
        }
        once_print(rounds->options->json, rounds->subjects[i], &rounds->trials[i][round], &where);
    }
}

/* There and back of a line, where rows depend on it: what the two CPUs shared. */
static void print_line(const struct rounds *rounds, uint32_t round)
{
    double line = value_of(rounds, GATES_LINE, GATES_BATCH, round);

    if (line > 0)
        fprintf(rounds->options->json == stdout ? stderr : stdout,
                "round %u: a line there and back in %.0f ns\n", round + 1, line);
}

static void one_round(struct rounds *rounds, uint32_t round)
{
    uint32_t order[SUBJECTS_MAX], count = 0;

    for (uint32_t i = 0; i < rounds->count; i++)
        if (rounds->wanted[i] &&
            (rounds->subjects[i]->rounds == 0 || round < rounds->subjects[i]->rounds))
            order[count++] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below(rounds, i), keep = order[i - 1];

        order[i - 1] = order[other];
        order[other] = keep;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rround %u of %u: %-20s", round + 1, rounds->options->rounds,
                    rounds->subjects[order[i]]->id);
        if (rounds->options->other)
            compare(rounds, order[i], round);
        else
            measure(rounds, order[i], round);
    }
    rounds->done = round + 1;
    print_round(rounds, round);
    print_line(rounds, round);
}

static void measure_all(struct rounds *rounds, uint32_t least, double seconds)
{
    uint64_t until = trial_now() + (uint64_t)(seconds * 1e9);

    memset(rounds->state, NOT_RUN, sizeof rounds->state);
    rounds->done = 0;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        if (round >= least && trial_now() >= until)
            break;
        one_round(rounds, round);
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-50s\r", "");
}

static void want_subject(struct rounds *rounds, const char *id)
{
    uint32_t at = id ? index_of(rounds, id) : rounds->count;

    if (at < rounds->count)
        rounds->wanted[at] = true;
}

static void want(struct rounds *rounds, const struct gates_row *row)
{
    want_subject(rounds, row->subject);
    if (rounds->options->other)
        return;
    want_subject(rounds, row->base);
    want_subject(rounds, row->close ? GATES_LINE : NULL);
    want_subject(rounds, row->reach);
}

/* The pairs of a row: its values, those of its base, and the ratios. */
struct pairs {
    double values[ROUNDS_MAX], bases[ROUNDS_MAX], ratios[ROUNDS_MAX];
    uint32_t count;
};

static int pair_up(const struct rounds *rounds, const struct gates_row *row, struct pairs *pairs,
                   struct rounds_result *out)
{
    uint32_t at = index_of(rounds, row->subject);
    bool other = rounds->options->other != NULL;
    uint32_t of = row->base && !other ? index_of(rounds, row->base) : at;

    pairs->count = 0;
    if (at == rounds->count || of == rounds->count)
        return snprintf(out->why, sizeof out->why, "no such subject"), ROUNDS_FAIL;
    for (uint32_t round = 0; round < rounds->done; round++) {
        const struct trial *trial = &rounds->trials[at][round];
        uint32_t n = pairs->count;

        if (rounds->state[at][round] == BROKEN || rounds->state[of][round] == BROKEN)
            return snprintf(out->why, sizeof out->why, "an operation failed"), ROUNDS_FAIL;
        if (rounds->state[at][round] == NOT_HERE || rounds->state[of][round] == NOT_HERE) {
            const char *why = *trial->why ? trial->why : rounds->trials[of][round].why;

            return snprintf(out->why, sizeof out->why, "%s", why), ROUNDS_NOT_HERE;
        }
        if (!pair_of(rounds, row, round, &pairs->values[n], &pairs->bases[n]))
            continue;
        out->load = trial->load > out->load ? trial->load : out->load;
        pairs->ratios[n] = pairs->bases[n] > 0 ? pairs->values[n] / pairs->bases[n] : 0;
        pairs->count++;
    }
    if (pairs->count == 0 && row->close)
        snprintf(out->why, sizeof out->why, "%s",
                 row->reach ? "no round in which the bare ring reached it"
                            : "no round in which the CPUs shared a cache");
    return pairs->count > 0 ? ROUNDS_SHOWN : ROUNDS_NOT_HERE;
}

static bool meets(const struct gates_row *row, double ratio, double number)
{
    return row->more ? ratio >= number : ratio <= number + row->tolerance;
}

/* A base that varies proves nothing. An unpinned one may run on one CPU or on two, but the start of
 * a process is the same anywhere. */
static bool is_noisy(const struct rounds *rounds, const struct gates_row *row, struct pairs *pairs)
{
    uint32_t of = row->base ? index_of(rounds, row->base) : rounds->count;

    if (of == rounds->count || pairs->count < NOISY_FROM)
        return false;
    if (rounds->subjects[of]->place == SUITE_FREE && strcmp(row->group, "processes") != 0 &&
        strcmp(row->group, "node") != 0)
        return false;
    return trial_quantile(pairs->bases, pairs->count, 0.75) >
           NOISY * trial_quantile(pairs->bases, pairs->count, 0.25);
}

/* A test may say nothing of a broken gate: the machine had other work, or the gate lies among the
 * ratios of the rounds, so that more rounds might as well show that it holds. */
static bool is_in_doubt(const struct rounds *rounds, const struct rounds_result *result)
{
    const struct gates_row *row = result->row;

    if (rounds->options->load_max <= 0 || row->tolerance > 0)
        return false;
    return result->load > rounds->options->load_max ||
           meets(row, row->more ? result->high : result->low, row->gate);
}

static struct rounds_result judge(const struct rounds *rounds, const struct gates_row *row)
{
    static struct pairs pairs;
    struct rounds_result result = {.row = row};
    int state = pair_up(rounds, row, &pairs, &result);

    result.verdict = (enum rounds_verdict)state;
    result.rounds = pairs.count;
    if (state != ROUNDS_SHOWN)
        return result;
    result.value = trial_quantile(pairs.values, pairs.count, 0.5);
    result.ratio = trial_quantile(pairs.ratios, pairs.count, 0.5); /* sorted from here on */
    result.low = pairs.ratios[pairs.count > 4 ? 1 : 0];
    result.high = pairs.ratios[pairs.count > 4 ? pairs.count - 2 : pairs.count - 1];
    if (rounds->options->other)
        result.verdict = ROUNDS_SHOWN;
    else if (is_noisy(rounds, row, &pairs))
        result.verdict = ROUNDS_NOISY;
    else if (!row->no_gate)
        result.verdict = meets(row, result.ratio, row->goal)   ? ROUNDS_GOAL
                         : meets(row, result.ratio, row->gate) ? ROUNDS_OK
                                                               : ROUNDS_FAIL;
    if (result.verdict == ROUNDS_FAIL && is_in_doubt(rounds, &result))
        result.verdict = ROUNDS_NOISY;
    result.base = trial_quantile(pairs.bases, pairs.count, 0.5);
    return result;
}

/* Says whether `a` is the better measurement. Any verdict beats noise. */
static bool better(const struct rounds_result *a, const struct rounds_result *b)
{
    if ((a->verdict == ROUNDS_NOISY) != (b->verdict == ROUNDS_NOISY))
        return b->verdict == ROUNDS_NOISY;
    return a->row->more ? a->ratio > b->ratio : a->ratio < b->ratio;
}

/* A gate is broken only if the best of three measurements breaks it. The second and third measure
 * the row and its base alone. Counts are not measured again. */
static void again(struct rounds *rounds, struct rounds_result *result)
{
    uint32_t all = rounds->options->rounds, least = all < AGAIN_ROUNDS ? all : AGAIN_ROUNDS;

    while (result->tries < TRIES && !*result->why && result->row->tolerance <= 0 &&
           (result->verdict == ROUNDS_FAIL || result->verdict == ROUNDS_NOISY)) {
        struct rounds_result next;
        uint32_t tries = result->tries + 1;

        memset(rounds->wanted, 0, sizeof rounds->wanted);
        want(rounds, result->row);
        measure_all(rounds, least, 0);
        next = judge(rounds, result->row);
        if (*next.why || better(&next, result))
            *result = next;
        result->tries = tries;
    }
}

int rounds_run(const struct rounds_options *options, struct rounds_result out[ROUNDS_ROWS])
{
    struct rounds *rounds = calloc(1, sizeof *rounds);
    int count = 0;

    if (!rounds)
        return -1;
    rounds->options = options;
    rounds->random = options->seed | 1;
    while (rounds->count < SUBJECTS_MAX &&
           (rounds->subjects[rounds->count] = suite_at(rounds->count)))
        rounds->count++;
    for (const struct gates_row *row = gates_rows; row->id; row++)
        if (options->wanted(row, options->user))
            want(rounds, row);
    measure_all(rounds, options->rounds, options->seconds);
    for (const struct gates_row *row = gates_rows; row->id && count < ROUNDS_ROWS; row++)
        if (options->wanted(row, options->user)) {
            out[count] = judge(rounds, row);
            out[count++].tries = 1;
        }
    for (int i = 0; i < count; i++)
        again(rounds, &out[i]);
    free(rounds);
    return count;
}
