/* SPDX-License-Identifier: Apache-2.0 */
/* metastore restore: a backup takes the place of the metastore of a node that does not run. */
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/cli/client/data_option.h"
#include "cluster/cli/metastore/metastore_commands.h"
#include "cluster/metastore/kinds/store_kinds.h"
#include "cluster/node/boot/store_restore.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/json.h"

static int tell(const struct cli *cli, const char *data,
                const struct cluster_store_restored *restored)
{
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema, MEMBER("data", data),
                              MEMBER("generation", restored->generation),
                              MEMBER("replaced", restored->aside));
    printf("generation  %" PRIu32 "\n", restored->generation);
    if (restored->aside[0])
        cli_failure_note(cli, "the metastore of before is %s/%s: remove it when all is well", data,
                         restored->aside);
    cli_failure_note(cli, "next: rapahubd --data %s", data);
    return 0;
}

static int restore(struct cli *cli, const char *data)
{
    const struct cluster_store_restore how = {
        .data = data,
        .file = cli->arguments.operands[0],
        .least = (uint32_t)cli_arguments_number(&cli->arguments, "generation"),
        .wait_ns = cli->timeout_ns,
        .ends = cluster_store_kinds};
    struct cluster_store_restored restored;
    int r = cluster_store_restore_run(&how, &restored);

    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli,
                         "end the node first: it must not run while its metastore is replaced");
    if (r == RAPAHUB_EFORMAT)
        cli_failure_hint(
            cli, "FILE is one that rapahub metastore backup has made of this node's metastore");
    return r == 0 ? tell(cli, data, &restored) : r;
}

int cluster_metastore_restore_run(struct cli *cli)
{
    struct daemon_settings settings;
    const char *data;
    int r = cluster_data_option_find(cli, &settings, &data);

    if (r == 0)
        r = restore(cli, data);
    daemon_settings_fini(&settings);
    return r;
}
