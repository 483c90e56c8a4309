/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sizes.h"

#include <math.h>
#include <string.h>

#define LEFT      70
#define TOP       30
#define WIDTH     560
#define HEIGHT    400
#define LEAST_B   4.0 /* the ends of the axes */
#define MOST_B    2097152.0
#define LEAST_NS  100.0
#define MOST_NS   1e7
#define POINTS    6
#define PEERS_MAX 16
#define LABEL     13 /* pixels from one to the next */

static const struct series {
    const char *name, *colour;
    const char *subjects[POINTS];
} series[] = {
    {"copied", "#4a7fb5", {"raw", "raw-32", "raw-256", "raw-4k", "raw-64k", "raw-1m"}},
    {"lent", "#2a9d5c", {"loan-8", "loan-32", "loan-256", "loan-4k", "loan-64k", "loan-1m"}},
    {"Unix socket", "#c07a2f", {"uds-8", "uds-32", "uds-256", "uds-4k", "uds-64k", "uds-1m"}},
};

static double across(double bytes)
{
    return LEFT + WIDTH * log(bytes / LEAST_B) / log(MOST_B / LEAST_B);
}

static double down(double ns)
{
    ns = ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
    return TOP + HEIGHT * (1 - log(ns / LEAST_NS) / log(MOST_NS / LEAST_NS));
}

/* Returns the time of a batch from any row that has it; 0: it was not measured. */
static double time_of(const char *subject, const struct rounds_result *results, int count)
{
    for (int i = 0; i < count; i++) {
        const struct gates_row *row = results[i].row;

        if (*results[i].why)
            continue;
        if (row->field == GATES_BATCH && strcmp(row->subject, subject) == 0)
            return results[i].value;
        if (row->base && row->base_field == GATES_BATCH && strcmp(row->base, subject) == 0)
            return results[i].base;
    }
    return 0;
}

static void print_axes(FILE *file)
{
    static const struct {
        double at;
        const char *name;
    } times[] = {{100, "100 ns"}, {1e3, "1 µs"}, {1e4, "10 µs"},
                 {1e5, "100 µs"}, {1e6, "1 ms"}, {1e7, "10 ms"}},
      bytes[] = {{8, "8 B"},      {32, "32 B"},      {256, "256 B"},
                 {4096, "4 KiB"}, {65536, "64 KiB"}, {1048576, "1 MiB"}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        fprintf(file,
                "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/><text x='%d' y='%.1f' "
                "text-anchor='end'>%s</text>\n",
                LEFT, down(times[i].at), LEFT + WIDTH, down(times[i].at), LEFT - 6,
                down(times[i].at) + 4, times[i].name);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        fprintf(file,
                "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ddd'/><text x='%.1f' y='%d' "
                "text-anchor='middle'>%s</text>\n",
                across(bytes[i].at), TOP, across(bytes[i].at), TOP + HEIGHT, across(bytes[i].at),
                TOP + HEIGHT + 16, bytes[i].name);
    fprintf(file,
            "<text x='%d' y='18'>round trip against payload, there and back, log axes</text>\n",
            LEFT);
}

static void print_series(FILE *file, const struct series *one, const struct rounds_result *results,
                         int count)
{
    double x = 0, y = 0;

    for (int i = 0; i < POINTS; i++) {
        const struct suite_subject *subject = suite_find(one->subjects[i]);
        double ns = time_of(one->subjects[i], results, count), last_x = x, last_y = y;

        if (!subject || ns <= 0)
            continue;
        x = across(subject->size);
        y = down(ns);
        if (last_x > 0)
            fprintf(file,
                    "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' "
                    "stroke-width='2'/>",
                    last_x, last_y, x, y, one->colour);
        fprintf(file, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", x, y, one->colour);
    }
    fprintf(file, "<text x='%d' y='%d' fill='%s'>%s</text>\n", LEFT + 10,
            TOP + 16 + (int)(one - series) * LABEL, one->colour, one->name);
}

/* From the slowest to the fastest, so that their names can give way to each other. */
static int sort_peers(const struct rounds_result *results, int count,
                      const struct rounds_result *peers[PEERS_MAX])
{
    int n = 0;

    for (int i = 0; i < count && n < PEERS_MAX; i++)
        if (strcmp(results[i].row->group, "peers") == 0 && !*results[i].why) {
            int at = n++;

            for (; at > 0 && peers[at - 1]->base < results[i].base; at--)
                peers[at] = peers[at - 1];
            peers[at] = &results[i];
        }
    return n;
}

static void print_peers(FILE *file, const struct rounds_result *results, int count)
{
    const struct rounds_result *peers[PEERS_MAX];
    int n = sort_peers(results, count, peers);
    double label = 0;

    for (int i = 0; i < n; i++) {
        double x = across(suite_find(peers[i]->row->base)->size), y = down(peers[i]->base);

        label = y > label + LABEL ? y : label + LABEL;
        fprintf(file,
                "<circle cx='%.1f' cy='%.1f' r='3' fill='#888'/><text x='%.1f' y='%.1f' "
                "fill='#666'>%s</text>\n",
                x, y, x + 8, label + 4, peers[i]->row->base);
    }
}

void sizes_print(FILE *file, const struct rounds_result *results, int count)
{
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n<rect width='100%%' height='100%%' "
            "fill='#fff'/>\n",
            LEFT + WIDTH + 80, TOP + HEIGHT + 30);
    print_axes(file);
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        print_series(file, &series[i], results, count);
    print_peers(file, results, count);
    fprintf(file, "</svg>\n");
}
