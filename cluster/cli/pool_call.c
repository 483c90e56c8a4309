/* SPDX-License-Identifier: Apache-2.0 */
/* pool_call: the command call, for pools of a node. All else is a guest's or a file's, as ever. */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/node_call.h"
#include "cluster/cli/node_modules.h"
#include "cluster/cli/pool_results.h"
#include "cluster/cli/pool_target.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/commands.h"
#include "host/cli/target/methods.h"
#include "host/cli/target/target.h"
#include "host/cli/target/values.h"
#include "host/cli/text/json.h"
#include "host/config/units.h"
#include "hub/base/own.h"

struct pool_calling {
    struct cli *cli;
    struct cluster_node_client node;
    struct cluster_pool_target target;
    struct rapahub_pool_id pool;
    struct hub_signature *signature;
    struct cli_values values;
    struct cli_answer answer;
    struct cluster_pool_results results;
    int interrupt;
};

/* ---- where to, and which method ---- */

/* Without a mode there is one container, so that the first of many is not called by mistake. */
static int check_containers(const struct pool_calling *calling, uint32_t containers)
{
    const char *name = calling->target.name;

    if (containers == 1 || calling->target.has_mode || calling->target.has_container)
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "pool '%s' has %u containers: say which, as %s#0, %s@hash:KEY, "
                        "%s@range:O+N, %s@broadcast, %s@local, %s@physical:N or %s@dynamic",
                        name, containers, name, name, name, name, name, name, name);
}

static int choose_method(struct pool_calling *calling, const struct cluster_pool_module *module)
{
    const struct cli_methods_wanted wanted = {calling->target.method,
                                              calling->cli->arguments.count - 1};
    int r = cli_methods_find(&module->methods, calling->target.name, &wanted, &calling->signature);

    if (r == RAPAHUB_ENOMETHOD)
        cli_failure_hint(calling->cli, "rapahub describe pool %s", calling->target.name);
    return r;
}

/* A whole signature and a container need no description of the pool. */
static int find_method(struct pool_calling *calling)
{
    const struct cluster_pool_target *target = &calling->target;
    struct cluster_node_pool pool;
    int r;

    if (strchr(target->method, '(') && (target->has_mode || target->has_container))
        return hub_signature_parse(target->method, &calling->signature);
    r = cluster_node_modules_of_pool(&calling->node, target->name, &pool);
    if (r == 0)
        r = check_containers(calling, pool.containers);
    if (r == 0)
        r = choose_method(calling, &pool.module);
    cluster_pool_module_fini(&pool.module);
    return r;
}

static int read_arguments(struct pool_calling *calling)
{
    struct cli *cli = calling->cli;
    int count = cli->arguments.count - 1, r;
    char **texts = cli->arguments.operands + 1;
    bool raw = cli_arguments_flag(&cli->arguments, "raw");

    if (!raw)
        r = cli_values_parse(calling->signature, count, texts, &calling->values);
    else if (count == 1 && !cluster_pool_target_is_many(&calling->target))
        r = cli_values_parse_raw(calling->signature, texts[0], &calling->values);
    else
        r = rapahub_fail(RAPAHUB_EARGUMENTS, "",
                         "--raw takes one argument and one container; %d arguments given", count);
    if (r < 0)
        cli_failure_hint(cli, "%s", calling->signature->text);
    else
        cli_failure_about(cli, "%s.%s", calling->target.name, calling->signature->name);
    return r;
}

/* ---- the call ---- */

static int call_once(struct pool_calling *calling)
{
    const struct cluster_pool_target *target = &calling->target;
    const struct cli_arguments *arguments = &calling->cli->arguments;
    struct rapahub_query query = target->query;
    struct rapahub_call call = {.target = {calling->pool, target->container},
                                .method = calling->signature->text,
                                .types = calling->signature->types,
                                .arguments = calling->values.values,
                                .timeout_ns = cli_arguments_number(arguments, "deadline"),
                                .query = target->has_mode ? &query : NULL};

    if (cluster_pool_target_is_many(target)) {
        cluster_pool_results_fini(&calling->results);
        calling->results = (struct cluster_pool_results){.type = calling->signature->types[0],
                                                         .as_json = cli_json_wanted(calling->cli)};
        query.collect = true;
        query.each = cluster_pool_results_each;
        query.user = &calling->results;
    }
    return cluster_node_call(&calling->node, &call, calling->interrupt, &calling->answer);
}

static int call_all(struct pool_calling *calling)
{
    uint64_t count = cli_arguments_number(&calling->cli->arguments, "repeat"), total_ns = 0;
    int r = 0;

    if (count > 1 && calling->values.files.count > 0)
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "a stream is read once: --repeat cannot be");
    for (uint64_t i = 0; i < count && r == 0; i++) {
        r = call_once(calling);
        total_ns += calling->answer.duration_ns;
    }
    if (r == 0 && count > 1)
        cli_failure_note(calling->cli, "%s calls, %s each", COUNT_TEXT(count),
                         SPAN_TEXT(total_ns / count));
    return r;
}

/* ---- the result ---- */

/* If a stream goes to standard output, nothing else does. */
static FILE *output(const struct pool_calling *calling)
{
    return calling->values.files.to_stdout ? stderr : stdout;
}

static int print_json(const struct pool_calling *calling, int status, const char *key,
                      const char *json)
{
    return cli_json_print(output(calling), calling->cli->command->schema,
                          MEMBER("ok", (bool)(status == 0)), cli_json_raw(key, json),
                          MEMBER("method", calling->signature->text),
                          MEMBER("pool", (const char *)calling->target.name),
                          MEMBER("duration_ns", calling->answer.duration_ns));
}

static int print_one(struct pool_calling *calling)
{
    const struct rapahub_type *type = calling->signature->types[0];
    const struct rapahub_bytes *payload = &calling->answer.payload;
    OWN(hub_memory) char *text = NULL;
    const void *value;
    int r;

    if (cli_arguments_flag(&calling->cli->arguments, "raw")) {
        fwrite(payload->data, 1, payload->size, stdout);
        return 0;
    }
    r = cli_answer_value(&calling->answer, type, &value);
    if (r < 0)
        return r;
    if (!cli_json_wanted(calling->cli))
        return cli_answer_print(type, value, output(calling));
    text = value ? hub_text_json(type, value) : NULL;
    if (value && !text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the result");
    return print_json(calling, 0, "result", text);
}

/* Results are printed also where another container has failed. */
static int print_many(struct pool_calling *calling, int status)
{
    char text[1024];
    int r;

    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    r = cluster_pool_results_end(&calling->results);
    if (r == 0 && calling->results.as_json)
        r = print_json(calling, status, "results",
                       calling->results.json ? calling->results.json : "[]");
    return status < 0 ? rapahub_fail(status, "", "%s", text) : r;
}

/* ---- the command ---- */

static int carry_out(struct pool_calling *calling)
{
    bool many = cluster_pool_target_is_many(&calling->target);
    int r = find_method(calling);

    if (r == 0)
        r = rapahub_client_pool(calling->node.client, calling->target.name, &calling->pool);
    if (r == 0)
        r = read_arguments(calling);
    if (r == 0)
        r = cli_interrupt_open(&calling->interrupt);
    if (r == 0)
        r = call_all(calling);
    if (many && calling->signature)
        return print_many(calling, r);
    return r == 0 ? print_one(calling) : r;
}

static bool is_file(const char *text)
{
    struct cli_target target;

    return cli_target_parse(text, &target) == 0 && target.is_file;
}

/* Says whether a text names a pool: surely with a mode, or where the node is another machine's,
 * whose guests are not reached by name; else where the node has one of that name. A failure is one
 * of a text, or a node, that must be a pool's. */
static int find_pool(struct pool_calling *calling, const char *text, bool *is_pool)
{
    bool sure = cluster_pool_target_has_mode(text) ||
                (cluster_pool_target_may_be(text) && cluster_node_client_is_remote(calling->cli));
    int r;

    *is_pool = false;
    if (is_file(text) ||
        (!sure && (!cluster_pool_target_may_be(text) || !cluster_node_client_may_be(calling->cli))))
        return 0;
    r = cluster_pool_target_read(text, &calling->target);
    if (r == 0)
        r = cluster_node_client_open(calling->cli, &calling->node);
    if (r == 0 && !sure)
        r = rapahub_client_pool(calling->node.client, calling->target.name, &calling->pool);
    *is_pool = r == 0;
    return sure ? r : 0;
}

/* The search for a pool leaves nothing that would be said of a guest. */
static int call_guest(struct cli *cli)
{
    cli_failure_about(cli, "%s", "");
    cli_failure_hint(cli, "%s", "");
    cli->exit_status = 0;
    rapahub_clear_error();
    return cli_call(cli);
}

int cluster_pool_call(struct cli *cli)
{
    struct pool_calling calling = {.cli = cli, .interrupt = -1};
    bool is_pool;
    int r = find_pool(&calling, cli->arguments.operands[0], &is_pool);

    if (is_pool)
        r = carry_out(&calling);
    cluster_node_client_hint(cli, r);
    if (r < 0)
        r = cli_failure_report(cli, r);
    cluster_node_client_close(&calling.node);
    cluster_pool_results_fini(&calling.results);
    cli_values_fini(&calling.values);
    cli_answer_fini(&calling.answer);
    hub_signature_release(&calling.signature);
    hub_fd_release(&calling.interrupt);
    return is_pool || r != 0 ? r : call_guest(cli);
}
