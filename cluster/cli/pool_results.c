/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool_results.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/value.h>

#include "hub/base/own.h"
#include "hub/wire/text.h"

static void begin(struct cluster_pool_results *results)
{
    if (results->as_json) {
        results->to = open_memstream(&results->json, &results->json_size);
        results->failed = !results->to;
    } else {
        cli_table_add(&results->table, (const char *[]){"CONTAINER", "RESULT", NULL});
    }
}

/* A value, or for a failure its text as a JSON string. */
static void add_json(struct cluster_pool_results *results, uint32_t container, int status,
                     const void *result)
{
    const struct rapahub_string text = rapahub_string_of(rapahub_last_error()->text);
    OWN(hub_memory)
    char *value = status == 0 && result ? hub_text_json(results->type, result)
                  : status < 0          ? hub_text_json(&rapahub_type_string, &text)
                                        : NULL;

    fprintf(results->to, "%s{\"container\": %" PRIu32 ", \"ok\": %s", results->count ? ", " : "",
            container, status == 0 ? "true" : "false");
    if (status < 0)
        fprintf(results->to, ", \"code\": %d, \"name\": \"%s\"", status,
                rapahub_error_name(status));
    if (value)
        fprintf(results->to, ", \"%s\": %s", status == 0 ? "result" : "message", value);
    fputc('}', results->to);
    results->failed = results->failed || (!value && (status < 0 || result));
}

static void add_row(struct cluster_pool_results *results, uint32_t container, int status,
                    const void *result)
{
    OWN(hub_memory)
    char *value = status == 0 && result ? hub_text_print(results->type, result) : NULL;

    cli_table_add(&results->table,
                  (const char *[]){CELL("%" PRIu32, container),
                                   status < 0 ? CELL("%s: %s", rapahub_error_name(status),
                                                     rapahub_last_error()->text)
                                   : value    ? value
                                              : "-",
                                   NULL});
    results->failed = results->failed || (!value && status == 0 && result);
}

void cluster_pool_results_each(void *user, struct rapahub_container_id from, int status,
                               const void *result)
{
    struct cluster_pool_results *results = user;

    if (results->count == 0 && !results->failed)
        begin(results);
    if (results->as_json && results->to)
        add_json(results, from.container, status, result);
    else if (!results->as_json)
        add_row(results, from.container, status, result);
    results->count++;
}

int cluster_pool_results_end(struct cluster_pool_results *results)
{
    char *list;

    cli_table_print(&results->table, stdout, 0);
    if (results->to)
        results->failed |= fclose(results->to) != 0;
    results->to = NULL;
    if (!results->failed && results->as_json) {
        results->failed = asprintf(&list, "[%s]", results->json ? results->json : "") < 0;
        if (!results->failed) {
            free(results->json);
            results->json = list;
        }
    }
    return results->failed ? rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the results") : 0;
}

void cluster_pool_results_fini(struct cluster_pool_results *results)
{
    if (results->to)
        fclose(results->to);
    free(results->json);
    cli_texts_fini(&results->table.cells);
}
