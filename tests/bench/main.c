/* SPDX-License-Identifier: Apache-2.0 */
/* rapahub-bench: measures calls, bytes, guests, threads, processes and idling as ratios to bases
 * that are measured in the same rounds, and holds them against gates. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "tests/bench/bases.h"
#include "tests/bench/gates.h"
#include "tests/bench/node_lives.h"
#include "tests/bench/once.h"
#include "tests/bench/place.h"
#include "tests/bench/report.h"
#include "tests/bench/ring.h"
#include "tests/bench/rounds.h"
#include "tests/bench/sizes.h"
#include "tests/bench/stage.h"
#include "tests/bench/svg.h"

struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv, struct rounds_options *options);
};

struct wanted {
    const char *group; /* NULL: every one */
    const char *only;  /* "C1,C2"; NULL: every one */
    bool gates;        /* only rows that have a gate */
    bool peers;        /* other libraries too */
};

static FILE *svg_file, *sizes_file;
static bool with_peers;

/* Says whether `word` is in a list with commas. */
static bool is_listed(const char *list, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    }
    return false;
}

static bool is_wanted(const struct gates_row *row, const void *user)
{
    const struct wanted *wanted = user;

#ifndef BENCH_HAS_CLUSTER
    if (strcmp(row->group, "node") == 0)
        return false;
#endif
    if (wanted->only)
        return is_listed(wanted->only, row->id);
    if (wanted->gates && row->no_gate)
        return false;
    if (!wanted->group)
        return wanted->peers || strcmp(row->group, "peers") != 0;
    return strcmp(wanted->group, row->group) == 0;
}

static void say_where(const struct rounds_options *options)
{
    struct utsname system;

    if (uname(&system) < 0)
        system.release[0] = '\0';
    printf(
        "%u CPUs, Linux %s, %u rounds or more of %g ms trials, seed %llu, %s\n", place_cpus(),
        system.release, options->rounds, options->suite.trial_ms, (unsigned long long)options->seed,
        options->suite.fifo ? "polling trials with SCHED_FIFO where permitted" : "no SCHED_FIFO");
}

static int run_rows(struct rounds_options *options, const char *group, bool gates)
{
    static struct rounds_result results[ROUNDS_ROWS];
    struct wanted wanted = {
        .group = group, .only = options->user, .gates = gates, .peers = with_peers};
    struct rounds_options mine = *options;
    int count;

    mine.wanted = is_wanted;
    mine.user = &wanted;
    say_where(options);
    count = rounds_run(&mine, results);
    if (count <= 0)
        return fprintf(stderr, "rapahub-bench: nothing measured\n"), 2;
    if (options->other)
        return report_compared(stdout, results, count), 0;
    if (svg_file) {
        svg_print(svg_file, results, count);
        fclose(svg_file);
    }
    if (sizes_file) {
        sizes_print(sizes_file, results, count);
        fclose(sizes_file);
    }
    if (report_table(stdout, results, count) > 0)
        return 1;
    for (int i = 0; i < count; i++)
        if (results[i].verdict != ROUNDS_NOT_HERE && results[i].verdict != ROUNDS_NOISY)
            return 0;
    return SUITE_STATUS_NOT_HERE;
}

static int run_group(int argc, char **argv, struct rounds_options *options)
{
    (void)argc;
    return run_rows(options, argv[0], false);
}

static int run_gates(int argc, char **argv, struct rounds_options *options)
{
    (void)argc;
    (void)argv;
    return run_rows(options, NULL, true);
}

static int run_all(int argc, char **argv, struct rounds_options *options)
{
    (void)argc;
    (void)argv;
    return run_rows(options, NULL, false);
}

static int run_list(int argc, char **argv, struct rounds_options *options)
{
    (void)argc;
    (void)argv;
    (void)options;
    gates_print();
    return 0;
}

static int run_trial(int argc, char **argv, struct rounds_options *options)
{
    const struct suite_subject *subject = argc > 1 ? suite_find(argv[1]) : NULL;
    struct trial trial = {0};
    int r;

    if (!subject)
        return fprintf(stderr, "rapahub-bench: trial SUBJECT\n"), 2;
    r = once_run(subject, &options->suite, &trial);
    if (r == 0)
        once_print(stdout, subject, &trial, &(struct once_where){0});
    else
        fprintf(stderr, "%s: %s\n", subject->id, trial.why);
    return r < 0 ? 1 : r == 0 ? 0 : SUITE_STATUS_NOT_HERE;
}

/* For who counts what it does. */
static int run_exactly(int argc, char **argv, struct rounds_options *options)
{
    if (argc > 2)
        trial_exactly(strtoull(argv[2], NULL, 10));
    if (argc > 3)
        stage_attached(argv[3], argv[4]); /* ends with NULL */
    return run_trial(argc > 2 ? 2 : 0, argv, options);
}

static const struct command commands[] = {
    {"all", "every row but those of peers", run_all},
    {"gates", "those of these that have a gate; exit status 1 where one is broken", run_gates},
    {"limit", "the bases: what the machine can do", run_group},
    {"calls", "calls by how both sides wait and where they run", run_group},
    {"bytes", "payloads: copied, lent", run_group},
    {"streams", "bytes one way, calls under way at once", run_group},
    {"threads", "several threads of one host", run_group},
    {"guests", "many guests of one host", run_group},
    {"processes", "how long a guest takes to come, and to come back", run_group},
    {"idle", "what it costs while nothing happens", run_group},
    {"node", "a node, its clients, and what it keeps", run_group},
    {"exact", "instructions, system calls, allocations, page faults", run_group},
    {"peers", "other libraries: 32 bytes there and back", run_group},
    {"list", "the rows, as Markdown", run_list},
    {"trial", "SUBJECT: one trial, as JSON", run_trial},
    {"exactly", "SUBJECT N [PATH [NOTE]]: N operations; a guest that comes to PATH serves them",
     run_exactly},
};

static int usage(void)
{
    fprintf(stderr, "usage: rapahub-bench [OPTION...] COMMAND\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(stderr, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(stderr, "  --rounds N     9, at least\n"
                    "  --seconds S    more rounds for so long\n"
                    "  --trial MS     40\n"
                    "  --seed N       of the order\n"
                    "  --only ID,...  these rows\n"
                    "  --load-max N   a gate broken at a higher load, or in some rounds, is noise\n"
                    "  --peers        other libraries besides\n"
                    "  --no-fifo      no real-time priority\n"
                    "  --ab OTHER     another build of this program: new to old, row by row\n"
                    "  --idle S       how long the idle rows look on; 10\n"
                    "  --svg FILE     the rows as bars\n"
                    "  --sizes FILE   round trips against payload, drawn\n"
                    "  --json FILE    a line for each trial; - is standard output\n");
    return 2;
}

static FILE *open_out(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

    if (!file)
        perror(path);
    return file;
}

/* 0, or an exit status. */
static int parse(int argc, char **argv, struct rounds_options *options)
{
    static const struct option known[] = {
        {"rounds", required_argument, NULL, 'r'}, {"seconds", required_argument, NULL, 's'},
        {"trial", required_argument, NULL, 't'},  {"seed", required_argument, NULL, 'e'},
        {"only", required_argument, NULL, 'o'},   {"no-fifo", no_argument, NULL, 'f'},
        {"json", required_argument, NULL, 'j'},   {"svg", required_argument, NULL, 'g'},
        {"ab", required_argument, NULL, 'a'},     {"sizes", required_argument, NULL, 'z'},
        {"peers", no_argument, NULL, 'p'},        {"load-max", required_argument, NULL, 'l'},
        {"idle", required_argument, NULL, 'i'},   {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        if (option == 'r')
            options->rounds = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 's')
            options->seconds = strtod(optarg, NULL);
        else if (option == 't')
            options->suite.trial_ms = strtod(optarg, NULL);
        else if (option == 'e')
            options->seed = strtoull(optarg, NULL, 10);
        else if (option == 'o')
            options->user = optarg;
        else if (option == 'p')
            with_peers = true;
        else if (option == 'l')
            options->load_max = strtod(optarg, NULL);
        else if (option == 'f')
            options->suite.fifo = false;
        else if (option == 'a')
            options->other = optarg;
        else if (option == 'i')
            options->suite.idle_s = strtod(optarg, NULL);
        else if (option == 'g' && (svg_file = open_out(optarg)))
            continue;
        else if (option == 'z' && (sizes_file = open_out(optarg)))
            continue;
        else if (option == 'j' && (options->json = open_out(optarg)))
            continue;
        else
            return usage();
    }
    return options->rounds < 1 || options->rounds > ROUNDS_MAX || options->suite.trial_ms < 1
               ? usage()
               : 0;
}

/* Drops warnings of the library: guests are killed on purpose. */
static void hush(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (level == RAPAHUB_LOG_ERROR)
        fprintf(stderr, "%s: %s\n", topic, text);
}

int main(int argc, char **argv)
{
    struct rounds_options options = {.suite = {.trial_ms = 40, .fifo = true, .idle_s = 10},
                                     .rounds = 9,
                                     .seed = trial_now() % 1000000};
    int r;

#ifdef BENCH_HAS_CLUSTER
    if (argc == 3 && strcmp(argv[1], "peer") == 0 && strcmp(argv[2], "host") == 0)
        return node_lives_peer();
#endif
    if (argc == 3 && strcmp(argv[1], "peer") == 0)
        return ring_is_peer(argv[2]) ? ring_peer(argv[2]) : bases_peer(argv[2]);
    r = parse(argc, argv, &options);
    if (r != 0)
        return r;
    rapahub_log_to(hush, NULL, RAPAHUB_LOG_ERROR);
    place_init();
    trial_init();
    for (size_t i = 0; optind < argc && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, argv[optind]) == 0)
            return commands[i].run(argc - optind, argv + optind, &options);
    return usage();
}
