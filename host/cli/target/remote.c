/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/remote.h"

#include <rapahub/error.h>
#include <rapahub/method.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/view.h"
#include "hub/base/clock.h"

/* The host itself ends the call at its deadline; this long later it is the host that hangs. */
#define GRACE_NS (2 * HUB_SECOND)

/* Interval of asking again: a guest that starts because of the question has methods in a moment,
 * and the host does not report that by itself. */
#define LOOK_NS (10 * HUB_MILLISECOND)

static int note_guest(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct cli_remote_guest *guest = user;

    if (kind != HOST_FRAME_GUEST || !cli_view_is(record->guest.name, guest->name))
        return 0;
    guest->found = true;
    cli_view_copy(guest->file, sizeof guest->file, record->guest.chimod);
    cli_view_copy(guest->version, sizeof guest->version, record->guest.version);
    return 0;
}

int cli_remote_guest(struct cli *cli, const char *name, struct cli_remote_guest *out)
{
    *out = (struct cli_remote_guest){.name = name};
    return cli_runtime_ask(cli, HOST_FRAME_LIST, &(struct control_none){1}, note_guest, out);
}

static int add_method(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    char text[RAPAHUB_SIGNATURE_MAX + 1];

    if (kind != HOST_FRAME_SIGNATURE || record->name.name.size >= sizeof text)
        return 0;
    cli_view_copy(text, sizeof text, record->name.name);
    cli_texts_add(user, text);
    return 0;
}

int cli_remote_methods(struct cli *cli, const char *guest, struct cli_texts *to)
{
    const struct control_name name = {rapahub_string_of(guest)};
    uint64_t deadline_ns = hub_clock_after(cli->timeout_ns);
    union host_frame_record record;
    enum host_frame_kind kind;
    int r;

    do {
        r = cli_runtime_ask(cli, HOST_FRAME_METHODS, &name, add_method, to);
    } while (r == RAPAHUB_EAGAIN && hub_clock_left(deadline_ns) > 0 &&
             host_client_receive(cli->client, hub_clock_after(LOOK_NS), -1, &kind, &record) ==
                 RAPAHUB_ETIMEDOUT);
    return r;
}

static int keep(struct cli_answer *answer, const struct control_result *result)
{
    answer->peer = result->peer;
    answer->epoch = result->epoch;
    answer->pid = result->pid;
    return cli_answer_keep_payload(answer, result->payload);
}

static int cancel(struct cli *cli, int interrupt, unsigned *interrupts)
{
    if (!cli_interrupt_take(interrupt))
        return 0;
    if (++*interrupts > 1)
        return rapahub_fail(RAPAHUB_ECANCELED, "", "interrupted");
    return host_client_send(cli->client, HOST_FRAME_CANCEL, &(struct control_none){1},
                            hub_clock_after(GRACE_NS));
}

int cli_remote_call(struct cli *cli, const struct control_call *call,
                    const struct cli_stream_files *files, int interrupt, struct cli_answer *out)
{
    uint64_t began_ns = hub_clock_now();
    /* A call with streams goes on as long as bytes move, which only the host sees. */
    uint64_t deadline_ns =
        files->count > 0 ? HUB_NEVER : hub_clock_after(call->timeout_ns + GRACE_NS);
    union host_frame_record record;
    enum host_frame_kind kind;
    unsigned interrupts = 0;
    int r;

    host_client_attach(cli->client, files->fds, files->count);
    r = host_client_send(cli->client, HOST_FRAME_CALL, call, hub_clock_after(GRACE_NS));

    if (r < 0)
        return r;
    do {
        r = host_client_receive(cli->client, deadline_ns, interrupt, &kind, &record);
        if (r == RAPAHUB_EINTR)
            r = cancel(cli, interrupt, &interrupts) < 0 ? RAPAHUB_ECANCELED : 1;
        else if (r > 0 && kind == HOST_FRAME_RESULT)
            r = keep(out, &record.result) < 0 ? RAPAHUB_ENOMEM : 1;
    } while (r > 0);
    out->duration_ns = hub_clock_now() - began_ns;
    return r;
}
