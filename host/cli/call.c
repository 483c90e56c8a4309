/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/command/limits.h"
#include "host/cli/commands.h"
#include "host/cli/target/remote.h"
#include "host/cli/target/session.h"
#include "host/cli/target/target.h"
#include "host/cli/target/values.h"
#include "host/cli/text/json.h"
#include "host/config/module.h"
#include "host/config/units.h"
#include "hub/base/own.h"

struct calling {
    struct cli *cli;
    struct cli_target target;
    struct cli_session session; /* for FILE:METHOD */
    struct cli_runtime_place place;
    struct hub_signature *signature;
    struct cli_values values;
    struct cli_answer answer;
    uint64_t timeout_ns;
    int interrupt;
};

static const char *guest_name(const struct calling *calling)
{
    return calling->target.is_file ? calling->session.name : calling->place.guest;
}

static int find_method(struct calling *calling)
{
    const struct cli_methods_wanted wanted = {calling->target.method,
                                              calling->cli->arguments.count - 1};
    struct cli_texts methods = {0};
    int r;

    if (calling->target.is_file)
        r = cli_session_methods(&calling->session, &methods);
    else
        r = cli_remote_methods(calling->cli, calling->place.guest, &methods);
    if (r == 0)
        r = cli_methods_find(&methods, guest_name(calling), &wanted, &calling->signature);
    if (r == RAPAHUB_ENOMETHOD) {
        cli_failure_about(calling->cli, "%s", "");
        cli_failure_hint(calling->cli, "rapahub inspect %s",
                         calling->target.is_file ? calling->target.file : calling->place.guest);
    }
    cli_texts_fini(&methods);
    return r;
}

/* Collects the signatures to suggest: those of --plain; else, if the file is no chimod, those of
 * the method. */
static int plain_signatures(const struct calling *calling, const char *to[CLI_ARGUMENTS_GIVEN + 1])
{
    const struct cli_target *target = &calling->target;
    unsigned count = cli_arguments_all(&calling->cli->arguments, "plain", to);
    int r;

    if (count > 0 || !strchr(target->method, '('))
        return 0;
    r = config_module_is_chimod(target->file);
    if (r == 0)
        to[0] = target->method;
    return r < 0 ? r : 0;
}

static int open_session(struct calling *calling)
{
    const char *plain[CLI_ARGUMENTS_GIVEN + 1] = {NULL};
    struct cli_session_options options = {
        .file = calling->target.file,
        .params = cli_arguments_text(&calling->cli->arguments, "params"),
        .timeout_ns = calling->timeout_ns};
    int r = plain_signatures(calling, plain);

    if (r == 0)
        r = cli_limits_take(&calling->cli->arguments, &options.limits);
    if (r < 0)
        return r;
    options.plain = plain[0] ? plain : NULL;
    r = cli_session_open(calling->cli, &options, &calling->session);
    if (r == RAPAHUB_ELOAD)
        cli_failure_hint(calling->cli, "rapahub inspect %s", calling->target.file);
    return r;
}

static int read_arguments(struct calling *calling)
{
    struct cli *cli = calling->cli;
    int count = cli->arguments.count - 1, r;
    char **texts = cli->arguments.operands + 1;

    cli_failure_about(cli, "%s", guest_name(calling));
    if (!cli_arguments_flag(&cli->arguments, "raw"))
        r = cli_values_parse(calling->signature, count, texts, &calling->values);
    else if (count == 1)
        r = cli_values_parse_raw(calling->signature, texts[0], &calling->values);
    else
        r = rapahub_fail(RAPAHUB_EARGUMENTS, "", "--raw takes one argument, %d given", count);
    if (r < 0)
        cli_failure_hint(cli, "%s", calling->signature->text);
    else
        cli_failure_about(cli, "%s.%s", guest_name(calling), calling->signature->name);
    return r;
}

static int call_once(struct calling *calling)
{
    if (calling->target.is_file) {
        const struct rapahub_call call = {.target = calling->session.container,
                                          .method = calling->signature->text,
                                          .types = calling->signature->types,
                                          .arguments = calling->values.values,
                                          .timeout_ns = calling->timeout_ns};

        return cli_session_call(&calling->session, &call, calling->interrupt, &calling->answer);
    }
    const struct control_call call = {.guest = rapahub_string_of(calling->place.guest),
                                      .signature = rapahub_string_of(calling->signature->text),
                                      .container = calling->target.container,
                                      .timeout_ns = calling->timeout_ns,
                                      .arguments = calling->values.payload};

    return cli_remote_call(calling->cli, &call, &calling->values.files, calling->interrupt,
                           &calling->answer);
}

static int call_all(struct calling *calling)
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

/* If a stream goes to standard output, nothing else does. */
static FILE *output(const struct calling *calling)
{
    return calling->values.files.to_stdout ? stderr : stdout;
}

static int print_json(const struct calling *calling, const void *value)
{
    const struct rapahub_type *type = calling->signature->types[0];
    const struct cli_answer *answer = &calling->answer;
    OWN(hub_memory) char *text = value ? hub_text_json(type, value) : NULL;

    if (value && !text)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the result");
    return cli_json_print(output(calling), calling->cli->command->schema, MEMBER("ok", (bool)true),
                          cli_json_raw("result", text), MEMBER("method", calling->signature->text),
                          MEMBER_OBJECT("guest", MEMBER("name", guest_name(calling)),
                                        MEMBER("peer", answer->peer),
                                        MEMBER("epoch", answer->epoch), MEMBER("pid", answer->pid)),
                          MEMBER("duration_ns", answer->duration_ns));
}

static int print_result(struct calling *calling)
{
    const struct rapahub_type *type = calling->signature->types[0];
    const struct rapahub_bytes *payload = &calling->answer.payload;
    const void *value;
    int r;

    if (cli_arguments_flag(&calling->cli->arguments, "raw")) {
        fwrite(payload->data, 1, payload->size, stdout);
        return 0;
    }
    r = cli_answer_value(&calling->answer, type, &value);
    if (r < 0)
        return r;
    return cli_json_wanted(calling->cli) ? print_json(calling, value)
                                         : cli_answer_print(type, value, output(calling));
}

static int reach(struct calling *calling)
{
    struct cli *cli = calling->cli;
    int r;

    if (calling->target.is_file)
        return open_session(calling);
    r = cli_runtime_find(cli, calling->target.name, CLI_RUNTIME_GUESTS, &calling->place);
    if (r == 0 && !calling->place.guest[0]) {
        cli_failure_hint(cli, "rapahub ps");
        r = rapahub_fail(RAPAHUB_ENOENT, "", "that is a host; its guests have other names");
    }
    return r;
}

/* Gives hints that depend on the target: whether there is a log to look into, and its name. */
static void give_hint(struct calling *calling, int code)
{
    const struct cli_target *target = &calling->target;
    bool died = code == RAPAHUB_EDIED || code == RAPAHUB_EPROTOCOL || code == RAPAHUB_ESTART ||
                code == RAPAHUB_EGIVENUP || code == RAPAHUB_ESTOPPED;

    if (died && target->is_file)
        cli_failure_hint(calling->cli, "what it printed is above; rapahub inspect %s",
                         target->file);
    else if (died)
        cli_failure_hint(calling->cli, "rapahub %s %s",
                         code == RAPAHUB_EGIVENUP || code == RAPAHUB_ESTOPPED ? "restart" : "logs",
                         target->name);
    else if (code == RAPAHUB_EMSGSIZE)
        cli_failure_hint(calling->cli, "rapahub call --limit payload=64M %s takes larger ones",
                         target->is_file ? target->file : "FILE.METHOD");
    else if (code == RAPAHUB_ENOENT && target->is_file)
        cli_failure_hint(calling->cli, "look at the path; rapahub build makes build/NAME.so");
}

static int carry_out(struct calling *calling)
{
    int r = cli_target_parse(calling->cli->arguments.operands[0], &calling->target);

    if (r == 0)
        r = cli_interrupt_open(&calling->interrupt);
    if (r == 0)
        r = reach(calling);
    if (r == 0)
        r = find_method(calling);
    if (r == 0)
        r = read_arguments(calling);
    if (r == 0)
        r = call_all(calling);
    if (r == 0)
        r = print_result(calling);
    return r;
}

int cli_call(struct cli *cli)
{
    struct calling calling = {.cli = cli,
                              .interrupt = -1,
                              .timeout_ns = cli_arguments_number(&cli->arguments, "deadline")};
    int r = carry_out(&calling);

    /* Reported first, because the end of the host may replace the diagnosis. */
    if (r < 0) {
        give_hint(&calling, r);
        r = cli_failure_report(cli, r);
    }
    cli_session_close(&calling.session);
    cli_values_fini(&calling.values);
    cli_answer_fini(&calling.answer);
    hub_signature_release(&calling.signature);
    hub_fd_release(&calling.interrupt);
    return r;
}
