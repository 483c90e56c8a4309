/* SPDX-License-Identifier: Apache-2.0 */
/* archive_options: the options of the command line. */
#ifndef ARCHIVE_OPTIONS_H
#define ARCHIVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct archive_options {
    const char *chimods; /* folder of kv.so and codec.so */
    const char *const *folders;
    unsigned kills, threads, seconds;
    uint64_t seed, folder_max;
    bool verbose;
};

/* `kills`: their number where none is given. Ends the program if the arguments are not valid, or
 * ask for help. */
struct archive_options archive_options_parse(int argc, char **argv, unsigned kills);

#endif
