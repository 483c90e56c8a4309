/* SPDX-License-Identifier: Apache-2.0 */
#include "host/control/operation.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/control/reply.h"
#include "hub/base/own.h"

static void host_server_errand_release(struct host_server_errand **errand)
{
    if (!*errand)
        return;
    hub_list_remove(&(*errand)->link);
    free(*errand);
    *errand = NULL;
}

static void send_upgraded(const struct host_server_errand *errand,
                          const struct rapahub_upgrade_result *result)
{
    const struct control_upgraded record = {
        .before = rapahub_string_of(result->version_before),
        .after = rapahub_string_of(result->version_after),
        .start_ns = result->start_ns,
        .blackout_ns = result->blackout_ns,
        .calls_held = result->calls_held,
        .state_bytes = result->state_bytes,
        .containers = result->containers,
        .methods_kept = result->methods_kept,
        .methods_new = result->methods_new,
        .methods_lost = result->methods_lost,
    };

    host_reply_send(errand->control, errand->client, HOST_FRAME_UPGRADED, &record);
}

/* Says whether the client that requested it is still there. */
static bool is_awaited(struct host_server_errand *errand)
{
    if (!errand->control || !errand->client)
        return false;
    errand->client->errand = NULL;
    return true;
}

static void on_upgraded(void *user, int status, const struct rapahub_upgrade_result *result)
{
    OWN(host_server_errand) struct host_server_errand *errand = user;

    if (!is_awaited(errand))
        return;
    if (status == 0)
        send_upgraded(errand, result);
    host_reply_end(errand->control, errand->client, status);
}

static void on_done(void *user, int status, const void *result)
{
    OWN(host_server_errand) struct host_server_errand *errand = user;

    (void)result;
    if (is_awaited(errand))
        host_reply_end(errand->control, errand->client, status);
}

/* Returns NULL if there is no memory; the client has been told. */
static struct host_server_errand *make(struct rapahub_control *control,
                                       struct host_server_client *client)
{
    struct host_server_errand *errand = calloc(1, sizeof *errand);

    if (!errand) {
        host_reply_end(control, client,
                       rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for what was asked"));
        return NULL;
    }
    *errand = (struct host_server_errand){.control = control, .client = client};
    hub_list_init(&errand->link);
    hub_list_append(&control->errands, &errand->link);
    client->errand = errand;
    return errand;
}

/* Reports to the client that the operation could not begin. */
static void fail(struct host_server_errand *errand, int r)
{
    struct rapahub_control *control = errand->control;
    struct host_server_client *client = errand->client;

    client->errand = NULL;
    host_server_errand_release(&errand);
    host_reply_end(control, client, r);
}

void host_operation_stop(struct rapahub_control *control, struct host_server_client *client,
                         struct rapahub_guest_id guest)
{
    struct host_server_errand *errand = make(control, client);
    int r = errand ? control->host.stop(control->host.host, guest, on_done, errand) : 0;

    if (r < 0)
        fail(errand, r);
}

void host_operation_wish(struct rapahub_control *control, struct host_server_client *client,
                         const struct host_operation_wish *wish)
{
    struct host_server_errand *errand = make(control, client);
    int r = errand ? wish->begin(control->host.host, wish->child, wish->timeout_ns, on_done, errand)
                   : 0;

    if (r < 0)
        fail(errand, r);
}

void host_operation_upgrade(struct rapahub_control *control, struct host_server_client *client,
                            struct rapahub_guest_id guest,
                            const struct rapahub_upgrade_options *options)
{
    struct host_server_errand *errand = make(control, client);
    int r =
        errand ? control->host.upgrade(control->host.host, guest, options, on_upgraded, errand) : 0;

    if (r < 0)
        fail(errand, r);
}

void host_operation_abandon(struct host_server_client *client)
{
    if (client->errand)
        client->errand->client = NULL;
    client->errand = NULL;
}

void host_operation_forget_all(struct rapahub_control *control)
{
    for (struct hub_list *link; (link = hub_list_pop(&control->errands));)
        HUB_LIST_ITEM(link, struct host_server_errand, link)->control = NULL;
}
