/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/node_call.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/interrupt.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

/* Written by the thread of the client, before it rings the bell. */
struct waiting {
    const struct rapahub_type *type;
    struct cli_answer *answer;
    int bell, status;
    /* The diagnosis holds only inside of on_done. */
    struct rapahub_diagnosis diagnosis;
    char text[1024];
};

static void end(void *user, int status, const void *result)
{
    struct waiting *waiting = user;
    uint64_t one = 1;

    if (status == 0 && result)
        status = cli_answer_keep(waiting->answer, waiting->type, result);
    waiting->status = status;
    if (status < 0) {
        waiting->diagnosis = *rapahub_last_error();
        snprintf(waiting->text, sizeof waiting->text, "%s", waiting->diagnosis.text);
    }
    /* It has space for the only one that is ever written. */
    if (write(waiting->bell, &one, sizeof one) < 0)
        waiting->status = -errno;
}

static int fail_again(const struct waiting *waiting)
{
    const struct rapahub_diagnosis *last = &waiting->diagnosis;

    if (waiting->status >= 0)
        return 0;
    if (waiting->status == RAPAHUB_EAPPLICATION)
        return rapahub_fail_application(last->application, waiting->text);
    if (last->code != waiting->status)
        return rapahub_fail(waiting->status, "", "%s", rapahub_error_text(waiting->status));
    return rapahub_fail(waiting->status, last->rule, "%s", waiting->text);
}

/* Each call ends, by its own deadline at the latest: so this does. The bell is read, so that all is
 * seen that the client's thread wrote before it rang. */
static void wait_for_bell(struct cluster_node_client *node, const struct waiting *waiting,
                          struct rapahub_request_id request, int interrupt)
{
    struct pollfd fds[] = {{.fd = waiting->bell, .events = POLLIN},
                           {.fd = interrupt, .events = POLLIN}};
    bool cancelled = false;
    uint64_t rung;

    while (!(fds[0].revents & POLLIN)) {
        if (poll(fds, 2, -1) <= 0 || !fds[1].revents || !cli_interrupt_take(interrupt))
            continue;
        if (cancelled) /* which ends all its calls */
            cluster_node_client_close(node);
        else
            rapahub_client_cancel(node->client, request);
        cancelled = true;
    }
    while (read(waiting->bell, &rung, sizeof rung) < 0 && errno == EINTR)
        ;
}

int cluster_node_call(struct cluster_node_client *node, const struct rapahub_call *call,
                      int interrupt, struct cli_answer *out)
{
    OWN(hub_fd) int bell = eventfd(0, EFD_CLOEXEC);
    struct waiting waiting = {.type = call->types[0], .answer = out, .bell = bell};
    uint64_t began_ns = hub_clock_now();
    struct rapahub_request_id request;
    int r;

    if (bell < 0)
        return rapahub_fail(-errno, "", "cannot wait for a call");
    cli_answer_fini(out);
    r = rapahub_client_call_async(node->client, call, end, &waiting, &request);
    if (r < 0)
        return r;
    wait_for_bell(node, &waiting, request, interrupt);
    out->duration_ns = hub_clock_now() - began_ns;
    return fail_again(&waiting);
}
