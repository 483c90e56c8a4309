/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/region/region_stages.h"

#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "host/cli/command/failure.h"
#include "host/cli/region/region_commands.h"

#define STAGE_LIST_TEXT 256

/* A stage that there is not would follow the others in silence: not at all. */
static int read_after(const char *text, const struct rapahub_region_options *options,
                      struct rapahub_region_stage list[CONFIG_REGION_STAGES])
{
    uint32_t beyond;

    if (!config_region_options_after(text, list))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--after: '%s' " CONFIG_REGION_AFTER, text);
    beyond = config_region_options_beyond(list, options->stages);
    if (options->kind == RAPAHUB_REGION_SEQUENCER && beyond < CONFIG_REGION_STAGES)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "--after: there is no stage %" PRIu32 ", for there are %" PRIu32
                            "; raise --stages, or take it away",
                            beyond, options->stages);
    return 0;
}

int cli_region_stages_read(const struct cli *cli,
                           struct rapahub_region_stage list[CONFIG_REGION_STAGES],
                           struct rapahub_region_options *options)
{
    const struct cli_arguments *arguments = &cli->arguments;
    const char *after = cli_arguments_text(arguments, "after");
    uint64_t stages = cli_arguments_number(arguments, "stages");
    uint64_t freeze_ns = cli_arguments_number(arguments, "freeze");
    unsigned on_death = (unsigned)cli_arguments_choice(arguments, "on-death");

    if (options->kind != RAPAHUB_REGION_SEQUENCER && stages == 0 && !after && on_death == 0)
        return 0;
    options->stages = stages == 0 ? 1 : stages > UINT32_MAX ? UINT32_MAX : (uint32_t)stages;
    options->stage_list = list;
    for (uint32_t i = 0; i < CONFIG_REGION_STAGES; i++)
        list[i] = (struct rapahub_region_stage){.on_death = (enum rapahub_stage_on_death)on_death,
                                                .freeze_ns = freeze_ns};
    return after ? read_after(after, options, list) : 0;
}

static const char *state_word(enum rapahub_stage_state state)
{
    static const char *const words[] = {"free", "gating", "frozen", "evicted", "joining"};

    return words[state];
}

/* "0+2", or "none" */
static const char *after_text(uint64_t after, char to[STAGE_LIST_TEXT])
{
    int size = snprintf(to, STAGE_LIST_TEXT, after ? "" : "none");

    for (; after != 0; after &= after - 1)
        size += snprintf(to + size, (size_t)(STAGE_LIST_TEXT - size), "%s%d", size ? "+" : "",
                         __builtin_ctzll(after));
    return to;
}

void cli_region_stages_print(const struct rapahub_region_stage_report *stage)
{
    static const char *const words[] = {"hold", "freeze", "evict"};
    char after[STAGE_LIST_TEXT];

    printf("stage %-6" PRIu32 " %s, %s, at position %" PRIu64 ", %" PRIu64
           " behind, after %s, on death %s, evicted %" PRIu32 " times\n",
           stage->index, state_word(stage->state), stage->held ? "held" : "free", stage->position,
           stage->behind, after_text(stage->after, after), words[stage->on_death],
           stage->evictions);
}

void cli_region_stages_write(struct cli_json *json, const struct rapahub_region_stage_report *stage)
{
    static const char *const words[] = {"hold", "freeze", "evict"};
    char after[STAGE_LIST_TEXT];

    cli_json_object(
        json, NULL, MEMBER("stage", stage->index), MEMBER("state", state_word(stage->state)),
        MEMBER("held", stage->held), MEMBER("position", stage->position),
        MEMBER("behind", stage->behind), MEMBER("after", after_text(stage->after, after)),
        MEMBER("on_death", words[stage->on_death]), MEMBER("evictions", stage->evictions));
}

int cli_region_stages_evict(struct cli *cli)
{
    const struct rapahub_region_open_options options = {
        .kind = RAPAHUB_REGION_SEQUENCER,
        .foreign = cli_arguments_flag(&cli->arguments, "foreign")};
    const char *name = cli->arguments.operands[0];
    struct rapahub_region *region = NULL;
    uint32_t index = 0;
    int r;

    cli_failure_about(cli, "%s", name);
    r = cli_region_fanout_index(cli->arguments.operands[1], "stage", &index);
    if (r == 0)
        r = rapahub_region_open(name, &options, &region);
    if (r == 0)
        r = rapahub_region_evict(region, index);
    (void)rapahub_region_close(region);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", name),
                           MEMBER("stage", index));
    return r;
}
