/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "archive_work.h"

#define MIB (UINT64_C(1) << 20)

static const char help[] =
    "usage: archive [OPTION...] [FOLDER...], or archive_node\n"
    "Stores the files of the folders through two plugins that are killed meanwhile, reads them\n"
    "back and compares. Default: /usr/share/common-licenses /usr/share/doc .\n"
    "  --kills N      SIGKILLs spread over the run (12, or 48 of a node; 0: none)\n"
    "  --seed N       of their moments (random)\n"
    "  --threads N    callers at the same time (4)\n"
    "  --seconds N    give up after (300)\n"
    "  --limit MIB    bytes taken from one folder (64)\n"
    "  --chimods DIR  where kv.so and codec.so are\n"
    "  --verbose      show what the library logs\n";

static uint64_t number(const char *text, uint64_t max)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (errno != 0 || *end != 0 || end == text || text[0] == '-' || value > max) {
        fprintf(stderr, "error: '%s' is no number from 0 to %" PRIu64 "\n", text, max);
        exit(2);
    }
    return value;
}

static void set_option(struct archive_options *options, int letter)
{
    switch (letter) {
    case 'k':
        options->kills = (unsigned)number(optarg, 10000);
        break;
    case 's':
        options->seed = number(optarg, UINT64_MAX);
        break;
    case 't':
        options->threads = (unsigned)number(optarg, ARCHIVE_WORKERS_MAX);
        break;
    case 'l':
        options->seconds = (unsigned)number(optarg, 86400);
        break;
    case 'm':
        options->folder_max = number(optarg, 4096) * MIB;
        break;
    case 'c':
        options->chimods = optarg;
        break;
    case 'v':
        options->verbose = true;
        break;
    default:
        fputs(help, letter == 'h' ? stdout : stderr);
        exit(letter == 'h' ? 0 : 2);
    }
}

struct archive_options archive_options_parse(int argc, char **argv, unsigned kills)
{
    static const char *const folders[] = {"/usr/share/common-licenses", "/usr/share/doc", ".",
                                          NULL};
    static const struct option words[] = {
        {"kills", 1, NULL, 'k'}, {"seed", 1, NULL, 's'},    {"threads", 1, NULL, 't'},
        {"limit", 1, NULL, 'm'}, {"seconds", 1, NULL, 'l'}, {"chimods", 1, NULL, 'c'},
        {"help", 0, NULL, 'h'},  {"verbose", 0, NULL, 'v'}, {NULL, 0, NULL, 0}};
    struct archive_options options = {.chimods = CHIMODS,
                                      .folders = folders,
                                      .kills = kills,
                                      .threads = 4,
                                      .seconds = 300,
                                      .folder_max = 64 * MIB};
    int letter;

    if (getrandom(&options.seed, sizeof(options.seed), 0) < 0)
        options.seed = (uint64_t)getpid();
    options.seed %= 1000000000; /* short enough to be typed again */
    while ((letter = getopt_long(argc, argv, "h", words, NULL)) != -1)
        set_option(&options, letter);
    if (optind < argc)
        options.folders = (const char *const *)&argv[optind];
    if (options.threads == 0)
        options.threads = 1;
    return options;
}
