/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/report.h"

#include <unistd.h>

static const char *word_of(enum rounds_verdict verdict)
{
    static const char *const words[] = {"", "ok", "goal", "FAIL", "NOISY", "n/a"};

    return words[verdict];
}

static const char *colour_of(enum rounds_verdict verdict)
{
    switch (verdict) {
    case ROUNDS_FAIL:
        return "\033[31m";
    case ROUNDS_GOAL:
        return "\033[32m";
    case ROUNDS_NOISY:
        return "\033[33m";
    default:
        return "";
    }
}

/* Four digits that count, with a letter for thousands. */
static const char *number(char text[16], double value)
{
    static const char letters[] = " kMG";
    int letter = 0;

    while (value >= 100000 && letter < 3) {
        value /= 1000;
        letter++;
    }
    snprintf(text, 16,
             value < 10    ? "%.2f%c"
             : value < 100 ? "%.1f%c"
                           : "%.0f%c",
             value, letters[letter]);
    return text;
}

static void limit(char text[20], const struct gates_row *row, double value)
{
    static const char letters[] = "kMG";
    char letter[2] = "";

    for (int i = 0; value >= 10000 && i < 3; i++) {
        value /= 1000;
        letter[0] = letters[i];
    }
    snprintf(text, 20, "%s%.4g%s", row->more ? ">" : "", value, letter);
}

static void print_row(FILE *file, const struct rounds_result *result, bool colours)
{
    const struct gates_row *row = result->row;
    char value[16], base[16], ratio[16], low[16], high[16], gate[20] = "", goal[20] = "";

    if (!row->no_gate) {
        limit(gate, row, row->gate);
        limit(goal, row, row->goal);
    }
    fprintf(file, "%-4s %-36.36s ", row->id, row->what);
    if (*result->why) {
        fprintf(file, "%7s: %s", word_of(result->verdict), result->why);
        fprintf(file, "  (gate %s, goal %s)\n", gate, goal);
        return;
    }
    fprintf(file, "%7s %-5s %8s %8s  %7s .. %-7s %6s %6s  ", number(value, result->value),
            row->unit, row->base ? number(base, result->base) : "", number(ratio, result->ratio),
            number(low, result->low), number(high, result->high), gate, goal);
    fprintf(file, "%s%s%s", colours ? colour_of(result->verdict) : "", word_of(result->verdict),
            colours ? "\033[0m" : "");
    if (result->verdict == ROUNDS_NOISY)
        fprintf(file, " (skipped, load %.1f)", result->load);
    if (result->tries > 1)
        fprintf(file, " (best of %u)", result->tries);
    fputc('\n', file);
}

int report_table(FILE *file, const struct rounds_result *results, int count)
{
    bool colours = isatty(fileno(file));
    int red = 0, missing = 0, noisy = 0;

    fprintf(file, "%-4s %-36s %7s %-5s %8s %8s  %-18s %6s %6s\n", "id", "what", "value", "", "base",
            "ratio", "spread of rounds", "gate", "goal");
    for (int i = 0; i < count; i++) {
        print_row(file, &results[i], colours);
        red += results[i].verdict == ROUNDS_FAIL;
        missing += results[i].verdict == ROUNDS_NOT_HERE;
        noisy += results[i].verdict == ROUNDS_NOISY;
    }
    fprintf(file, "%d rows: %d red, %d noisy and skipped, %d not measurable here\n", count, red,
            noisy, missing);
    for (int i = 0; i < count && !colours; i++)
        if (results[i].verdict == ROUNDS_NOT_HERE || results[i].verdict == ROUNDS_NOISY)
            fprintf(file, "SKIPPED: %s %s: %s\n", results[i].row->id, results[i].row->what,
                    results[i].verdict == ROUNDS_NOISY ? "the machine is too busy"
                                                       : results[i].why);
    return red;
}

void report_compared(FILE *file, const struct rounds_result *results, int count)
{
    char value[16], base[16], ratio[16], low[16], high[16];

    fprintf(file, "%-4s %-36s %7s %-5s %8s %8s  %-18s\n", "id", "what", "new", "", "old", "new/old",
            "spread of rounds");
    for (int i = 0; i < count; i++) {
        const struct rounds_result *result = &results[i];

        fprintf(file, "%-4s %-36.36s ", result->row->id, result->row->what);
        if (*result->why)
            fprintf(file, "    n/a: %s\n", result->why);
        else
            fprintf(file, "%7s %-5s %8s %8s  %7s .. %-7s%s\n", number(value, result->value),
                    result->row->unit, number(base, result->base), number(ratio, result->ratio),
                    number(low, result->low), number(high, result->high),
                    result->row->more ? "  more is better" : "");
    }
}
