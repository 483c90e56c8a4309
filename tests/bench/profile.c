/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    char function[256], callee[256];
    bool is_call; /* the next line of costs is what a call cost */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The cost of a call is added to the function at which it enters the separately counted code. */
static void count_call(const struct reader *reader, double cost, struct profile *out)
{
    bool from_ffi = begins(reader->function, "ffi_");

    if (begins(reader->callee, "hub_wait_for") || begins(reader->callee, "trial_init"))
        out->waiting += cost;
    else if (begins(reader->callee, "ffi_") && !from_ffi)
        out->ffi += cost;
    else if (begins(reader->callee, "bench_")) {
        out->method += cost;
        out->direct += from_ffi ? 0 : cost;
    }
}

static void read_line(struct reader *reader, char *line, struct profile *out)
{
    char *cost;

    line[strcspn(line, "\n")] = '\0';
    if (begins(line, "fn="))
        snprintf(reader->function, sizeof reader->function, "%.255s", line + 3);
    else if (begins(line, "cfn="))
        snprintf(reader->callee, sizeof reader->callee, "%.255s", line + 4);
    else if (begins(line, "calls="))
        reader->is_call = true;
    else if (*line >= '0' && *line <= '9' && (cost = strchr(line, ' '))) {
        if (reader->is_call)
            count_call(reader, strtod(cost, NULL), out);
        else
            out->all += strtod(cost, NULL);
        reader->is_call = false;
    }
}

int profile_read(const char *path, struct profile *out)
{
    struct reader reader = {.is_call = false};
    FILE *file = fopen(path, "re");
    char line[4096];

    *out = (struct profile){0};
    if (!file)
        return -errno;
    while (fgets(line, sizeof line, file))
        read_line(&reader, line, out);
    fclose(file);
    return out->all > 0 ? 0 : -ENODATA;
}
