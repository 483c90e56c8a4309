/* SPDX-License-Identifier: Apache-2.0 */
/* run: a host in the foreground. It serves its descriptor, the control socket's and the signals'
 * with one poll, and ends when it is told to, or when no guest is left. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/control.h>
#include <rapahub/error.h>
#include <rapahub/log.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/command/limits.h"
#include "host/cli/command/program.h"
#include "host/cli/commands.h"
#include "host/cli/run_anonymous.h"
#include "host/cli/run_events.h"
#include "host/cli/run_group.h"
#include "host/cli/run_roles.h"
#include "host/cli/run_tree.h"
#include "host/cli/target/sockets.h"
#include "host/cli/text/files.h"
#include "host/cli/text/json.h"
#include "host/config/module.h"
#include "host/config/units.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TURN_MS 1000

/* The options of the command line, as options of the library. */
struct run_options {
    struct rapahub_host_options host; /* its limits */
    struct rapahub_supervision supervision;
    enum rapahub_trust trust;
    bool check;                                 /* and no more */
    const char *plain[CLI_ARGUMENTS_GIVEN + 1]; /* ended by NULL */
};

struct running {
    struct cli *cli;
    struct cli_texts files;
    struct cli_run_tree *tree; /* in place of files; NULL: none */
    struct run_options options;
    struct cli_run_group group;
    struct cli_run_roles roles;
    struct cli_run_events events;
    struct cli_run_anonymous visitors;
    struct rapahub_guest_id *lives; /* the first of each guest */
    struct rapahub_host *host;
    struct rapahub_control *control;
    int interrupt;
    bool stop;
};

/* Every line is kept for `rapahub logs`; the deaths and starts are told by run_events. */
static void keep_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    struct running *running = user;

    if (running->control)
        rapahub_control_log(running->control, level, topic, text);
    if (running->cli->verbose)
        fprintf(stderr, "%s %s: %s\n", rapahub_log_level_name(level), topic, text);
}

static void ask_to_stop(void *user)
{
    struct running *running = user;

    running->stop = true;
}

static int take_tree(struct running *running, const char *path)
{
    running->tree = calloc(1, sizeof *running->tree);
    if (!running->tree)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a tree");
    return cli_run_tree_open(running->cli, path, running->options.trust, running->tree);
}

static int take_files(struct running *running)
{
    const struct cli_arguments *arguments = &running->cli->arguments;
    int r = 0;

    for (int i = 0; i < arguments->count && r == 0; i++) {
        if (config_tree_is_file(arguments->operands[i]))
            return take_tree(running, arguments->operands[i]);
        r = cli_files_add(&running->files, arguments->operands[i]);
    }
    return r;
}

static int make_room(struct running *running)
{
    unsigned count = running->tree ? running->tree->tree.guests : running->files.count;

    running->events.guests = calloc(count + 1, sizeof *running->events.guests);
    running->lives = calloc(count + 1, sizeof *running->lives);
    if (!running->events.guests || !running->lives)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u guests", count);
    return 0;
}

static bool is_taken(const struct running *running, const char *name)
{
    for (unsigned i = 0; i < running->events.count; i++) {
        if (strcmp(running->events.guests[i].name, name) == 0)
            return true;
    }
    return false;
}

/* A second guest of one module is called calc-2. */
static struct cli_run_guest *add_guest(struct running *running, const char *file)
{
    char module[CLI_RUN_NAME - 8], name[CLI_RUN_NAME];

    config_module_name(file, module, sizeof module);
    snprintf(name, sizeof name, "%s", module);
    for (unsigned n = 2; is_taken(running, name); n++)
        snprintf(name, sizeof name, "%s-%u", module, n);
    return cli_run_events_add(&running->events, name, file, running->options.trust,
                              &running->options.supervision);
}

static int create_host(struct running *running)
{
    struct rapahub_host_options options = running->options.host;
    char program[CLI_PROGRAM_PATH];
    int r = cli_program_guest(program);

    if (r < 0)
        return r;
    if (running->tree)
        cli_run_tree_limit(running->tree, &options);
    options.name = cli_arguments_text(&running->cli->arguments, "name");
    options.guest_program = program;
    options.on_event = cli_run_events_take;
    options.user = &running->events;
    running->events.visitors = options.anonymous ? &running->visitors : NULL;
    running->events.cli = running->cli;
    running->events.trust = running->options.trust;
    r = rapahub_host_create(&options, &running->host);
    running->events.host = running->visitors.host = running->host;
    return r;
}

/* Before the first guest, so that a name that is in use is found before any process starts. */
static int open_control(struct running *running)
{
    const char *name = cli_arguments_text(&running->cli->arguments, "name");
    char path[CLI_SOCKETS_PATH], first[CLI_RUN_NAME] = "hub";
    struct rapahub_control_options options = {.path = path,
                                              .host = RAPAHUB_CONTROL_HOST(running->host),
                                              .on_stop = ask_to_stop,
                                              .user = running};
    int r;

    if (running->tree) {
        snprintf(first, sizeof first, "%s", cli_run_tree_name(running->tree));
        options.host.rest = rapahub_child_stop_async;
    } else if (running->files.count > 0) {
        config_module_name(running->files.texts[0], first, sizeof first);
    }
    options.name = name ? name : first;
    cli_failure_about(running->cli, "%s", options.name);
    cli_run_group_add(&running->group, &options);
    r = cli_sockets_new(options.name, options.group != NULL, path);
    if (r < 0)
        cli_run_group_hint(running->cli, &running->group, r);
    if (r == 0)
        r = rapahub_control_open(&options, &running->control);
    if (r == 0)
        cli_failure_about(running->cli, "%s", "");
    if (r == RAPAHUB_EPERM)
        cli_run_group_hint(running->cli, &running->group, r);
    if (r == RAPAHUB_EEXIST) {
        cli_failure_hint(running->cli, "--name OTHER, or rapahub stop %s", options.name);
        r = rapahub_fail(RAPAHUB_EEXIST, "", "a host of this name runs already");
    }
    return r;
}

/* A lack of space in /dev/shm is not the module's fault: the hint of the error code helps. */
static void hint_start(struct running *running, int r, const char *file)
{
    if (r == RAPAHUB_ENOENT)
        cli_failure_hint(running->cli, "look at the path; rapahub build makes build/NAME.so");
    else if (strncmp(rapahub_last_error()->rule, "supervise.role", 14) == 0)
        cli_failure_hint(running->cli, "rapahub region ls; rapahub region inspect REGION");
    else if (r != RAPAHUB_ENOSPC)
        cli_failure_hint(running->cli, "rapahub inspect %s", file);
}

static int start_guest(struct running *running, unsigned index)
{
    const struct cli_run_guest *guest = add_guest(running, running->files.texts[index]);
    const char *const *plain = running->options.plain;
    const char *params = cli_arguments_text(&running->cli->arguments, "params");
    const struct rapahub_container_options container = {
        .id.pool = {index + 1, 0},
        .pool_name = guest->name,
        .params = {params, params ? strlen(params) : 0},
        .roles = running->roles.of};
    const struct rapahub_guest_options options = {.chimod = guest->file,
                                                  .name = guest->name,
                                                  .plain = plain[0] ? plain : NULL,
                                                  .trust = guest->trust,
                                                  .supervision = &running->options.supervision,
                                                  .container = &container};
    int r = rapahub_host_spawn(running->host, &options, &running->lives[index]);

    if (r == 0)
        r = rapahub_control_offer(running->control, guest->name, container.id.pool);
    if (r == 0)
        r = rapahub_host_dispatch(running->host, 0);
    if (r < 0)
        hint_start(running, r, guest->file);
    return r < 0 ? r : 0;
}

static void count_alive(void *user, const struct rapahub_guest_status *status)
{
    static const char *const alive[] = {"starting", "ready", "degraded", "stopping", "restarting"};

    for (unsigned i = 0; i < sizeof alive / sizeof *alive; i++)
        *(unsigned *)user += strcmp(status->state, alive[i]) == 0;
}

static bool is_over(const struct running *running)
{
    unsigned alive = 0;

    if (running->tree)
        return cli_run_tree_state(running->tree) != CLI_RUN_TREE_RUNS;
    if (running->options.host.anonymous)
        return false; /* anonymous guests may attach */
    if (rapahub_host_guests(running->host, count_alive, &alive) < 0)
        return true;
    return alive == 0;
}

static int turn(struct running *running)
{
    struct pollfd fds[] = {{.fd = rapahub_host_fd(running->host), .events = POLLIN},
                           {.fd = rapahub_control_fd(running->control), .events = POLLIN},
                           {.fd = running->interrupt, .events = POLLIN}};
    int r = poll(fds, 3, TURN_MS);

    if (r < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait");
    if (cli_interrupt_take(running->interrupt))
        running->stop = true;
    r = rapahub_host_dispatch(running->host, 0);
    if (r >= 0)
        r = rapahub_control_dispatch(running->control);
    cli_run_events_settle(&running->events);
    if (running->tree)
        cli_run_tree_watch(running->tree, &running->events);
    cli_run_anonymous_settle(&running->visitors);
    return r < 0 ? r : 0;
}

/* Stops guests in reverse order. A guest that has ended meanwhile, or has another life, is left to
 * destroy. */
static void stop_guests(struct running *running)
{
    if (running->tree)
        cli_run_tree_stop(running->tree);
    for (unsigned i = running->events.count; i-- > 0 && !running->tree;) {
        if (rapahub_host_stop(running->host, running->lives[i]) < 0)
            rapahub_clear_error();
    }
    if (rapahub_host_dispatch(running->host, 0) < 0)
        rapahub_clear_error();
    cli_run_events_settle(&running->events);
}

/* The path is what this command is asked for: it goes to standard output. */
static int invite(struct running *running)
{
    int r = 0;

    running->visitors.cli = running->cli;
    running->visitors.control = running->control;
    running->visitors.pools = running->files.count;
    if (cli_json_wanted(running->cli)) {
        r = cli_json_print(stdout, "rapahub.run/1", MEMBER("event", "listening"),
                           MEMBER("hub_path", rapahub_host_path(running->host)));
    } else {
        printf("%s\n", rapahub_host_path(running->host));
    }
    fflush(stdout);
    return r;
}

static int take_options(const struct cli_arguments *arguments, struct run_options *out)
{
    int r;

    *out = (struct run_options){
        .trust = (enum rapahub_trust)cli_arguments_choice(arguments, "trust"),
        .supervision.restart = (enum rapahub_restart)cli_arguments_choice(arguments, "restart")};
    out->check = cli_arguments_flag(arguments, "check");
    out->host.anonymous = cli_arguments_flag(arguments, "anonymous");
    out->host.path = cli_arguments_text(arguments, "hub-path");
    if (arguments->count == 0 && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "FILE|DIR... is missing");
    if (out->host.path && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--hub-path needs --anonymous");
    r = config_units_budget(cli_arguments_text(arguments, "budget"), &out->supervision.restarts_max,
                            &out->supervision.period_ns);
    if (r == 0)
        r = cli_limits_take(arguments, &out->host);
    cli_arguments_all(arguments, "plain", out->plain);
    return r;
}

static int take(struct running *running)
{
    int r;

    cli_failure_about(running->cli, "run");
    cli_failure_hint(running->cli, "rapahub run --help");
    r = take_options(&running->cli->arguments, &running->options);
    if (r == 0)
        r = cli_run_group_take(running->cli, &running->group);
    if (r == 0)
        r = cli_run_roles_take(running->cli, &running->roles);
    if (r < 0)
        return r;
    cli_failure_about(running->cli, "%s", "");
    cli_failure_hint(running->cli, "%s", "");
    r = take_files(running);
    if (r == 0 && running->tree)
        r = cli_run_group_of_tree(running->tree, &running->group);
    if (r == 0)
        r = cli_run_roles_check(&running->roles, running->files.count, running->options.trust);
    if (r == 0 && running->options.check && !running->tree)
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "--check takes a tree: a file .yaml");
    return r;
}

static int start(struct running *running)
{
    int r = make_room(running);

    if (r == 0)
        r = cli_interrupt_open(&running->interrupt);
    if (r == 0)
        r = create_host(running);
    if (r == 0)
        r = open_control(running);
    if (r == 0 && running->tree)
        r = cli_run_tree_regions(running->cli, running->tree, running->host);
    if (r == 0)
        r = cli_run_roles_open(running->cli, &running->roles, running->host);
    if (r == 0 && running->tree)
        r = cli_run_tree_start(running->tree, running->host, running->control, &running->events);
    for (unsigned i = 0; r == 0 && i < running->files.count; i++)
        r = start_guest(running, i);
    if (r == 0 && running->options.host.anonymous)
        r = invite(running);
    return r;
}

static int judge_tree(struct running *running)
{
    const struct cli_run_guest *culprit = running->events.culprit;

    if (running->stop || cli_run_tree_state(running->tree) != CLI_RUN_TREE_FAILED)
        return 0;
    cli_failure_about(running->cli, "%s", cli_run_tree_name(running->tree));
    cli_failure_hint(running->cli, "look at what was said above; rapahub run --check %s",
                     running->tree->tree.yaml.path);
    return rapahub_fail(RAPAHUB_EGIVENUP, "", "the tree has failed%s%s%s%s",
                        culprit ? "; last: " : "", culprit ? culprit->name : "",
                        culprit ? ": " : "", culprit ? culprit->cause : "");
}

/* A guest that will not be restarted decides the exit status. */
static int judge(struct running *running)
{
    if (running->tree)
        return judge_tree(running);
    for (unsigned i = 0; i < running->events.count && !running->stop; i++) {
        const struct cli_run_guest *guest = &running->events.guests[i];

        if (!guest->failed)
            continue;
        cli_failure_about(running->cli, "%s", guest->name);
        cli_failure_hint(running->cli, "rapahub inspect %s", guest->file);
        return rapahub_fail(running->options.supervision.restart == RAPAHUB_RESTART_TEMPORARY
                                ? RAPAHUB_ENORESTART
                                : RAPAHUB_EGIVENUP,
                            "", "not started again; last: %s", guest->cause);
    }
    return 0;
}

static void finish(struct running *running)
{
    if (running->host)
        stop_guests(running);
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_ERROR);
    rapahub_control_close(running->control);
    rapahub_host_destroy(running->host);
    if (running->tree)
        config_tree_close(&running->tree->tree);
    free(running->tree);
    cli_texts_fini(&running->files);
    hub_fd_release(&running->interrupt);
    free(running->events.guests);
    free(running->lives);
    free(running);
}

static int run(struct running *running)
{
    int r = take(running);

    if (r == 0 && running->options.check)
        return cli_run_tree_report(running->cli, running->tree);
    if (r == 0)
        r = start(running);
    while (r == 0 && !running->stop && !is_over(running))
        r = turn(running);
    return r == 0 ? judge(running) : r;
}

int cli_run(struct cli *cli)
{
    struct running *running = calloc(1, sizeof *running);
    int r;

    if (!running)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a host");
    running->cli = cli;
    running->interrupt = -1;
    rapahub_log_to(keep_line, running, RAPAHUB_LOG_DEBUG);
    r = run(running);
    /* Reported first, because finish may replace the diagnosis. */
    if (r < 0)
        r = cli_failure_report(cli, r);
    finish(running);
    return r;
}
