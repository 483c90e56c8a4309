/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/svg.h"

#include <math.h>
#include <string.h>

#define LINE   18
#define LEFT   300 /* where the names end */
#define WIDTH  560 /* width of the axis */
#define TOP    40
#define LEAST  0.01 /* the ends of the axis, in gates */
#define MOST   100.0
#define BOTTOM 30

/* Where a number is on the axis: 1 is the gate, more is worse. */
static double across(const struct gates_row *row, double value)
{
    double gates = row->more ? row->gate / (value > 0 ? value : LEAST)
                             : value / (row->gate > 0 ? row->gate : 1);

    gates = gates < LEAST ? LEAST : gates > MOST ? MOST : gates;
    return LEFT + WIDTH * log10(gates / LEAST) / log10(MOST / LEAST);
}

/* Other libraries are grey, but where a gate is broken. */
static const char *colour_of(const struct rounds_result *result)
{
    bool is_peer = strcmp(result->row->group, "peers") == 0;

    switch (is_peer && result->verdict != ROUNDS_FAIL ? ROUNDS_SHOWN : result->verdict) {
    case ROUNDS_GOAL:
        return "#2a9d5c";
    case ROUNDS_OK:
        return "#4a7fb5";
    case ROUNDS_FAIL:
        return "#c8402f";
    default:
        return "#aaaaaa";
    }
}

static void print_axis(FILE *file, int height)
{
    for (double at = LEAST; at <= MOST * 1.01; at *= 10) {
        double x = LEFT + WIDTH * log10(at / LEAST) / log10(MOST / LEAST);

        fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='%s'/>", x, TOP - 6, x,
                height - BOTTOM, at > 0.5 && at < 2 ? "#000" : "#ddd");
        fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x, height - 12, at);
    }
    fprintf(file,
            "<text x='%d' y='20'>value to gate, log axis; 1 is the gate, left of it is better;"
            " the tick is the goal, the thin line the rounds</text>\n",
            LEFT);
}

static void print_bar(FILE *file, const struct rounds_result *result, int y)
{
    const struct gates_row *row = result->row;
    double x = across(row, result->ratio), low = across(row, result->low);
    double high = across(row, result->high), goal = across(row, row->goal);

    fprintf(file, "<text x='%d' y='%d' text-anchor='end'>%s %s</text>", LEFT - 8, y + 12, row->id,
            row->what);
    fprintf(file, "<rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>", LEFT, y + 2, x - LEFT,
            LINE - 6, colour_of(result));
    fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#333'/>",
            low < high ? low : high, y + 8, low < high ? high : low, y + 8);
    fprintf(file, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#000' stroke-width='2'/>",
            goal, y + 1, goal, y + LINE - 3);
    fprintf(file, "<text x='%d' y='%d'>%.3g</text>\n", LEFT + WIDTH + 8, y + 12, result->ratio);
}

void svg_print(FILE *file, const struct rounds_result *results, int count)
{
    int bars = 0, height;

    for (int i = 0; i < count; i++)
        bars += !results[i].row->no_gate && !*results[i].why;
    height = TOP + bars * LINE + BOTTOM + 10;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n<rect width='100%%' height='100%%' "
            "fill='#fff'/>\n",
            LEFT + WIDTH + 80, height);
    print_axis(file, height);
    bars = 0;
    for (int i = 0; i < count; i++)
        if (!results[i].row->no_gate && !*results[i].why)
            print_bar(file, &results[i], TOP + LINE * bars++);
    fprintf(file, "</svg>\n");
}
