/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/figures.h"

#include <string.h>

void host_figures_add(struct host_figures *figures, const struct hub_connection *connection)
{
    uint64_t values[HUB_FIGURES_COUNT];

    hub_figures_read(connection, values);
    for (int i = 0; i < HUB_FIGURES_COUNT; i++)
        if (!hub_figures_kinds[i].gauge)
            figures->past[i] += values[i];
}

void host_figures_blame(struct host_figures *figures, const char *rule)
{
    int last = HOST_FIGURES_RULES - 1, i = 0;

    while (i < last && figures->broken[i].rule && strcmp(figures->broken[i].rule, rule) != 0)
        i++;
    figures->broken[i].count++;
    figures->broken[i].rule = i < last ? rule : "other";
}

void host_figures_visit(const struct host_figures *figures, const struct hub_connection *connection,
                        void (*visit)(void *user, const struct rapahub_figure *figure), void *user)
{
    uint64_t values[HUB_FIGURES_COUNT] = {0};

    if (connection)
        hub_figures_read(connection, values);
    for (int i = 0; i < HUB_FIGURES_COUNT; i++) {
        const struct rapahub_figure figure = {.name = hub_figures_kinds[i].name,
                                              .rule = "",
                                              .gauge = hub_figures_kinds[i].gauge,
                                              .value = values[i] + figures->past[i]};

        visit(user, &figure);
    }
    for (int i = 0; i < HOST_FIGURES_RULES && figures->broken[i].rule; i++) {
        const struct rapahub_figure figure = {.name = "violations",
                                              .rule = figures->broken[i].rule,
                                              .value = figures->broken[i].count};

        visit(user, &figure);
    }
}
