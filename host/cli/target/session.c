/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/session.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/command/program.h"
#include "hub/base/clock.h"

#define POOL_NAME "call"

static void let_go(struct cli_session *session, bool shown)
{
    if (session->held && shown && !session->cli->quiet)
        fprintf(stderr, "%s\n", session->held);
    free(session->held);
    session->held = NULL;
}

/* The last line is held back during the start, because it may be the error that is reported anyway.
 */
static void show_event(void *user, const struct rapahub_event *event)
{
    struct cli_session *session = user;
    char *line = NULL;

    if (event->kind != RAPAHUB_EVENT_OUTPUT ||
        asprintf(&line, "%s| %s", event->name, event->cause) < 0)
        return;
    let_go(session, true);
    session->held = line;
    if (!session->opening)
        let_go(session, true);
}

static void end_opening(struct cli_session *session, int r)
{
    session->opening = false;
    let_go(session,
           r == 0 || (session->held && !strstr(session->held, rapahub_last_error()->text)));
}

static void note_guest(void *user, const struct rapahub_guest_status *status)
{
    struct cli_session *session = user;

    snprintf(session->name, sizeof session->name, "%s", status->name);
    snprintf(session->version, sizeof session->version, "%s", status->version);
    session->pid = status->pid;
}

static int spawn(struct cli_session *session, const struct cli_session_options *options)
{
    const struct rapahub_supervision supervision = {.restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_guest_options guest = {
        .chimod = options->file, .plain = options->plain, .supervision = &supervision};
    int r = rapahub_host_spawn(session->host, &guest, &session->guest);

    if (r < 0)
        return r;
    return rapahub_host_guests(session->host, note_guest, session);
}

static int create(struct cli_session *session, const struct cli_session_options *options)
{
    char program[CLI_PROGRAM_PATH];
    struct rapahub_host_options host = options->limits;
    int r = cli_program_guest(program);

    host.name = POOL_NAME;
    host.guests_max = 1;
    host.call_timeout_ns = options->timeout_ns;
    host.guest_program = program;
    host.on_event = show_event;
    host.user = session;

    return r < 0 ? r : rapahub_host_create(&host, &session->host);
}

static int begin(struct cli_session *session, const struct cli_session_options *options)
{
    const char *params = options->params ? options->params : "";
    const struct rapahub_container_options container = {
        .id = session->container, .pool_name = POOL_NAME, .params = {params, strlen(params)}};

    return rapahub_host_add_container(session->host, session->guest, &container);
}

int cli_session_open(struct cli *cli, const struct cli_session_options *options,
                     struct cli_session *out)
{
    int r;

    *out = (struct cli_session){.cli = cli, .container = {.pool = {1, 0}}, .opening = true};
    r = create(out, options);
    if (r == 0)
        r = spawn(out, options);
    if (r == 0)
        r = begin(out, options);
    end_opening(out, r);
    return r;
}

void cli_session_close(struct cli_session *session)
{
    rapahub_host_destroy(session->host);
    session->host = NULL;
}

int cli_session_methods(struct cli_session *session, struct cli_texts *to)
{
    return rapahub_host_guest_methods(session->host, session->guest, cli_texts_add, to);
}

struct waiting {
    const struct rapahub_type *type;
    struct cli_answer *answer;
    bool done;
    int status;
    /* The diagnosis holds only inside of on_done. */
    struct rapahub_diagnosis diagnosis;
    char text[1024];
};

static void end_wait(void *user, int status, const void *result)
{
    struct waiting *waiting = user;

    waiting->done = true;
    waiting->status =
        status == 0 ? cli_answer_keep(waiting->answer, waiting->type, result) : status;
    if (waiting->status == 0)
        return;
    waiting->diagnosis = *rapahub_last_error();
    snprintf(waiting->text, sizeof waiting->text, "%s", waiting->diagnosis.text);
}

static int fail_again(const struct waiting *waiting)
{
    if (waiting->status == 0)
        return 0;
    if (waiting->status == RAPAHUB_EAPPLICATION)
        return rapahub_fail_application(waiting->diagnosis.application, waiting->text);
    return rapahub_fail(waiting->status, waiting->diagnosis.rule, "%s", waiting->text);
}

static int turn(struct cli_session *session, struct rapahub_request_id request, int interrupt,
                unsigned *interrupts)
{
    struct pollfd fds[] = {{.fd = rapahub_host_fd(session->host), .events = POLLIN},
                           {.fd = interrupt, .events = POLLIN}};
    int r = poll(fds, 2, 1000);

    if (r < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait");
    if (fds[1].revents && cli_interrupt_take(interrupt)) {
        if (++*interrupts > 1)
            return rapahub_host_kill(session->host, session->guest);
        rapahub_host_cancel(session->host, request);
    }
    r = rapahub_host_dispatch(session->host, 0);
    return r < 0 ? r : 0;
}

int cli_session_call(struct cli_session *session, const struct rapahub_call *call, int interrupt,
                     struct cli_answer *out)
{
    struct waiting waiting = {.type = call->types[0], .answer = out};
    struct rapahub_request_id request;
    uint64_t began_ns = hub_clock_now();
    unsigned interrupts = 0;
    int r = rapahub_host_call_async(session->host, call, end_wait, &waiting, &request);

    while (r == 0 && !waiting.done)
        r = turn(session, request, interrupt, &interrupts);
    if (!waiting.done && r < 0) {
        /* The end of the call would write to a variable of this function, so the host is closed
         * first. */
        cli_session_close(session);
        return r;
    }
    out->duration_ns = hub_clock_now() - began_ns;
    out->peer = session->guest.peer;
    out->epoch = session->guest.epoch;
    out->pid = session->pid;
    return interrupts > 1 ? rapahub_fail(RAPAHUB_ECANCELED, "", "interrupted")
                          : fail_again(&waiting);
}
