/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/suggest.h"

#include <string.h>

/* Returns the number of single changes that turn one word into the other. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[32], size = (unsigned)strnlen(b, 31);

    for (unsigned j = 0; j <= size; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned corner = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= size; j++) {
            unsigned change = corner + (a[i - 1] != b[j - 1]);
            unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            corner = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[size];
}

void config_suggest_consider(struct config_suggest *suggest, const char *candidate)
{
    unsigned d = distance(suggest->name, candidate);

    if (d >= suggest->least || d >= strlen(candidate))
        return;
    suggest->least = d;
    suggest->nearest = candidate;
}
