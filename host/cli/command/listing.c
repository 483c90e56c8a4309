/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/listing.h"

#include "host/cli/command/cli.h"

void cli_listing_begin(struct cli_listing *listing, const char *key, const char *const *head)
{
    if (cli_json_wanted(listing->cli)) {
        cli_json_begin(&listing->json, stdout, listing->cli->command->schema);
        cli_json_open(&listing->json, key, CLI_JSON_LIST);
    } else if (head && listing->cli->output != CLI_OUTPUT_NAME) {
        cli_table_add(&listing->table, head);
    }
}

int cli_listing_end(struct cli_listing *listing, int r)
{
    int end = 0;

    if (cli_json_wanted(listing->cli))
        end = cli_json_end(&listing->json);
    cli_table_print(&listing->table, stdout, listing->whole ? 0 : cli_table_width(stdout));
    return r < 0 ? r : end;
}
