/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/region/region_tailing.h"

#include <rapahub/error.h>

struct cli_region_tailing cli_region_tailing_read(const struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;
    uint64_t number = cli_arguments_number(arguments, "number");

    return (struct cli_region_tailing){.follow = cli_arguments_flag(arguments, "follow"),
                                       .after = cli_arguments_choice(arguments, "ack") == 1,
                                       .position = cli_arguments_flag(arguments, "position"),
                                       .end = cli_arguments_flag(arguments, "zero") ? '\0' : '\n',
                                       .left = number > 0 ? number : UINT64_MAX};
}

void cli_region_tailing_count(struct cli_region_tailing *tailing)
{
    tailing->left -= tailing->left != UINT64_MAX;
}

bool cli_region_tailing_is_empty(int r)
{
    return r == RAPAHUB_EEMPTY || r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_EPEERDEAD;
}
