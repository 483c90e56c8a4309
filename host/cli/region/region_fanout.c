/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of regions of kind FANOUT: its router, and consumers that are detached. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define AT_A_TIME 1024
#define WAIT_FOR  (100 * HUB_MILLISECOND) /* then the signals are looked at */

static int open_region(const struct cli *cli, enum rapahub_region_kind kind,
                       struct rapahub_region **out)
{
    const struct rapahub_region_open_options options = {
        .kind = kind, .foreign = cli_arguments_flag(&cli->arguments, "foreign")};

    return rapahub_region_open(cli->arguments.operands[0], &options, out);
}

/* A standby waits for the end of the router before it, until Ctrl-C. */
static int open_router(const struct cli *cli, struct rapahub_region *region, int interrupt,
                       struct rapahub_router **out)
{
    bool standby = cli_arguments_flag(&cli->arguments, "standby");
    int r = rapahub_router_open(region, 0, out);

    while (r == RAPAHUB_EROLETAKEN && standby) {
        if (cli_interrupt_take(interrupt))
            return RAPAHUB_EINTR;
        r = rapahub_router_open(region, WAIT_FOR, out);
    }
    return r;
}

/* A producer that is stopped in the middle is waited for as well, and told once. */
static int route_all(const struct cli *cli, struct rapahub_router *router, int interrupt,
                     uint64_t *routed)
{
    bool told = false;
    int r = 0;

    while (!cli_interrupt_take(interrupt)) {
        uint32_t count;

        r = rapahub_router_run(router, AT_A_TIME, WAIT_FOR, &count);
        *routed += count;
        if (r == RAPAHUB_EBLOCKED && !told)
            cli_failure_note(cli, "%s", rapahub_last_error()->text);
        told = r == RAPAHUB_EBLOCKED;
        if (r < 0 && r != RAPAHUB_ETIMEDOUT && r != RAPAHUB_EBLOCKED)
            return r;
    }
    return 0;
}

int cli_region_fanout_route(struct cli *cli)
{
    struct rapahub_region *region = NULL;
    struct rapahub_router *router = NULL;
    OWN(hub_fd) int interrupt = -1;
    uint64_t routed = 0;
    int r;

    cli_failure_about(cli, "%s", cli->arguments.operands[0]);
    r = cli_interrupt_open(&interrupt);
    if (r == 0)
        r = open_region(cli, RAPAHUB_REGION_FANOUT, &region);
    if (r == 0)
        r = open_router(cli, region, interrupt, &router);
    if (r == 0)
        r = route_all(cli, router, interrupt, &routed);
    rapahub_router_close(router);
    (void)rapahub_region_close(region);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", cli->arguments.operands[0]),
                           MEMBER("routed", routed));
    return r == RAPAHUB_EINTR ? 0 : r;
}

int cli_region_fanout_index(const char *text, const char *whose, uint32_t *out)
{
    char *end;
    unsigned long index = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || index > UINT32_MAX - 1)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no number of a %s", text, whose);
    *out = (uint32_t)index;
    return 0;
}

static int set_detached(struct cli *cli, bool detached)
{
    struct rapahub_region *region = NULL;
    uint32_t index = 0;
    int r;

    cli_failure_about(cli, "%s", cli->arguments.operands[0]);
    r = cli_region_fanout_index(cli->arguments.operands[1], "consumer", &index);
    if (r == 0)
        r = open_region(cli, 0, &region);
    if (r == 0)
        r = rapahub_region_detach(region, index, detached);
    (void)rapahub_region_close(region);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", cli->arguments.operands[0]),
                           MEMBER("consumer", index));
    return r;
}

int cli_region_fanout_detach(struct cli *cli)
{
    return set_detached(cli, true);
}

int cli_region_fanout_admit(struct cli *cli)
{
    return set_detached(cli, false);
}
