/* SPDX-License-Identifier: Apache-2.0 */
#include "host/control/operation.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/control/reply.h"
#include "hub/base/own.h"

static void host_server_operation_release(struct host_server_operation **operation)
{
    if (!*operation)
        return;
    hub_list_remove(&(*operation)->link);
    free(*operation);
    *operation = NULL;
}

static void send_upgraded(const struct host_server_operation *operation,
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

    host_reply_send(operation->control, operation->client, HOST_FRAME_UPGRADED, &record);
}

/* Says whether the client that requested it is still there. */
static bool is_awaited(struct host_server_operation *operation)
{
    if (!operation->control || !operation->client)
        return false;
    operation->client->operation = NULL;
    return true;
}

static void on_upgraded(void *user, int status, const struct rapahub_upgrade_result *result)
{
    OWN(host_server_operation) struct host_server_operation *operation = user;

    if (!is_awaited(operation))
        return;
    if (status == 0)
        send_upgraded(operation, result);
    host_reply_end(operation->control, operation->client, status);
}

static void on_done(void *user, int status, const void *result)
{
    OWN(host_server_operation) struct host_server_operation *operation = user;

    (void)result;
    if (is_awaited(operation))
        host_reply_end(operation->control, operation->client, status);
}

/* Returns NULL if there is no memory; the client has been told. */
static struct host_server_operation *make(struct rapahub_control *control,
                                          struct host_server_client *client)
{
    struct host_server_operation *operation = calloc(1, sizeof *operation);

    if (!operation) {
        host_reply_end(control, client,
                       rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for what was asked"));
        return NULL;
    }
    *operation = (struct host_server_operation){.control = control, .client = client};
    hub_list_init(&operation->link);
    hub_list_append(&control->operations, &operation->link);
    client->operation = operation;
    return operation;
}

/* Reports to the client that the operation could not begin. */
static void fail(struct host_server_operation *operation, int r)
{
    struct rapahub_control *control = operation->control;
    struct host_server_client *client = operation->client;

    client->operation = NULL;
    host_server_operation_release(&operation);
    host_reply_end(control, client, r);
}

void host_operation_stop(struct rapahub_control *control, struct host_server_client *client,
                         struct rapahub_guest_id guest)
{
    struct host_server_operation *operation = make(control, client);
    int r = operation ? control->host.stop(control->host.host, guest, on_done, operation) : 0;

    if (r < 0)
        fail(operation, r);
}

void host_operation_child(struct rapahub_control *control, struct host_server_client *client,
                          const struct host_operation_child *wanted)
{
    struct host_server_operation *operation = make(control, client);
    int r = operation ? wanted->begin(control->host.host, wanted->child, wanted->timeout_ns,
                                      on_done, operation)
                      : 0;

    if (r < 0)
        fail(operation, r);
}

void host_operation_upgrade(struct rapahub_control *control, struct host_server_client *client,
                            struct rapahub_guest_id guest,
                            const struct rapahub_upgrade_options *options)
{
    struct host_server_operation *operation = make(control, client);
    int r = operation
                ? control->host.upgrade(control->host.host, guest, options, on_upgraded, operation)
                : 0;

    if (r < 0)
        fail(operation, r);
}

void host_operation_abandon(struct host_server_client *client)
{
    if (client->operation)
        client->operation->client = NULL;
    client->operation = NULL;
}

void host_operation_forget_all(struct rapahub_control *control)
{
    for (struct hub_list *link; (link = hub_list_pop(&control->operations));)
        HUB_LIST_ITEM(link, struct host_server_operation, link)->control = NULL;
}
