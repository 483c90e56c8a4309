/* SPDX-License-Identifier: Apache-2.0 */
/* identity: a node gets its identity, or joins; certificates of clients, and tokens. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rapahub/error.h>

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/cluster_commands.h"
#include "cluster/cli/identity/client_files.h"
#include "cluster/identity/join_token.h"
#include "cluster/metastore/kinds/store_kinds.h"
#include "cluster/node/boot/node_init.h"
#include "cluster/node/join/node_join.h"
#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/text/document.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"

#define HEX(size) (2 * (size) + 1)
#define TIME_SIZE 24

static void print_hex(const uint8_t *bytes, size_t size, char *to)
{
    for (size_t i = 0; i < size; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* ---- a node gets its identity ---- */

static int tell_init(const struct cli *cli, const char *data, const struct cluster_node_init *made)
{
    char uuid[HEX(CLUSTER_URI_UUID)], hash[HEX(CLUSTER_CERTIFICATE_DIGEST)];

    print_hex(made->uuid, sizeof made->uuid, uuid);
    print_hex(made->digest, sizeof made->digest, hash);
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema, MEMBER("cluster", uuid),
                              MEMBER("node", made->node), MEMBER("ca_hash", hash));
    printf("cluster  %s\nnode     %" PRIu32 "\nca_hash  %s\n", uuid, made->node, hash);
    cli_failure_note(cli, "keep %s/ca where no other user can read it, and have a backup of it",
                     data);
    cli_failure_note(cli, "next: rapahubd --data %s", data);
    cli_failure_note(cli, "      rapahub token create, for each node that shall join");
    cli_failure_note(cli,
                     "      rapahub node certificate --name NAME --role operator --out FOLDER");
    return 0;
}

int cluster_identity_init(struct cli *cli)
{
    const char *data = cli->arguments.operands[0];
    const struct cluster_boot_options options = {
        .data = data,
        .metastore = cli_arguments_text(&cli->arguments, "metastore"),
        .tls = cli_arguments_text(&cli->arguments, "metastore-tls"),
        .ends = cluster_store_kinds,
        .lock_fd = -1,
        .wait_ns = cli->timeout_ns};
    struct cluster_node_init made;
    int r = options.metastore ? cluster_store_kinds_check(options.metastore) : 0;

    if (r == 0)
        r = cluster_node_init_run(&options, hub_clock_wall() / HUB_SECOND, &made);

    if (r == RAPAHUB_EBUSY)
        cli_failure_hint(cli, "stop the node first: rapahub ps shows what runs");
    if (r == RAPAHUB_EEXIST)
        cli_failure_hint(cli, "rapahub node status shows the identity of a node that runs");
    return r < 0 ? r : tell_init(cli, data, &made);
}

/* ---- a node joins a cluster ---- */

static int tell_joined(const struct cli *cli, const char *data,
                       const struct cluster_node_joined *joined)
{
    char uuid[HEX(CLUSTER_URI_UUID)];

    print_hex(joined->cluster, sizeof joined->cluster, uuid);
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema, MEMBER("cluster", uuid),
                              MEMBER("node", joined->node), MEMBER("metastore", joined->place));
    printf("cluster    %s\nnode       %" PRIu32 "\nmetastore  %s\n", uuid, joined->node,
           joined->place);
    if (cluster_store_kinds_by_tls(joined->place))
        cli_failure_note(cli, "put ca.pem, client.pem and client.key for etcd into %s/etcd", data);
    cli_failure_note(cli,
                     "next: rapahubd --data %s; it begins containers of pools that name this node, "
                     "and calls those of all nodes",
                     data);
    return 0;
}

int cluster_identity_join(struct cli *cli)
{
    const struct cluster_node_join_options options = {
        .data = cli_arguments_text(&cli->arguments, "data"),
        .node = cli->arguments.operands[0],
        .token = cli_arguments_text(&cli->arguments, "token"),
        .ca_hash = cli_arguments_text(&cli->arguments, "ca-hash"),
        .name = cli_arguments_text(&cli->arguments, "name"),
        .metastore = cli_arguments_text(&cli->arguments, "metastore"),
        .wait_ns = cli->timeout_ns};
    struct cluster_node_joined joined;
    int r = options.metastore ? cluster_store_kinds_check(options.metastore) : 0;

    if (!options.data || !options.token || !options.ca_hash)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s is missing",
                            !options.token     ? "--token TOKEN"
                            : !options.ca_hash ? "--ca-hash HEX"
                                               : "--data DIR");
    if (r == 0)
        r = cluster_node_join_run(&options, &joined);
    if (r == RAPAHUB_ETIMEDOUT)
        cli_failure_hint(cli, "try it again, with a new token: this one may have been used");
    if (r == RAPAHUB_EACCES)
        cli_failure_hint(cli, "rapahub token create, on the node that has the authority, prints "
                              "the token and the hash");
    return r < 0 ? r : tell_joined(cli, options.data, &joined);
}

/* ---- a client gets a certificate ---- */

static int tell_certificate(const struct cli *cli, const struct cluster_client_files_made *made,
                            const char *folder)
{
    time_t until = (time_t)made->until_s;
    char expires[TIME_SIZE] = "?";
    struct tm parts;

    if (gmtime_r(&until, &parts))
        strftime(expires, sizeof expires, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (cli_json_wanted(cli))
        return cli_json_print(stdout, cli->command->schema, MEMBER("name", made->uri),
                              MEMBER("serial", made->serial), MEMBER("expires", expires),
                              MEMBER("folder", folder));
    printf("name     %s\nserial   %s\nexpires  %s\n", made->uri, made->serial, expires);
    cli_failure_note(cli, "%s has ca.pem, client.pem and client.key", folder);
    return 0;
}

static int ask_certificate(struct cli *cli, struct cluster_client_files *files,
                           struct cluster_client_files_made *made)
{
    struct rapahub_string request = {files->request.text, files->request.size},
                          role = rapahub_string_of(files->role),
                          name = rapahub_string_of(files->name), answer = {NULL, 0};
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = cluster_node_client_ask(&node, CLUSTER_ASK_CERTIFICATE,
                                    (const void *[]){&request, &role, &name, NULL}, &answer);
    if (r == 0)
        r = cluster_client_files_finish(files, answer, made);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

/* The private key is made here, and leaves this machine never. */
int cluster_identity_certificate(struct cli *cli)
{
    struct cluster_client_files files = {.name = cli_arguments_text(&cli->arguments, "name"),
                                         .role = cli_arguments_text(&cli->arguments, "role"),
                                         .folder = cli_arguments_text(&cli->arguments, "out")};
    struct cluster_client_files_made made;
    int r;

    if (!files.name || !files.folder)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s is missing",
                            files.name ? "--out FOLDER" : "--name NAME");
    r = cluster_client_files_begin(&files);
    if (r == 0)
        r = ask_certificate(cli, &files, &made);
    if (r == 0)
        r = tell_certificate(cli, &made, files.folder);
    cluster_client_files_end(&files);
    return r;
}

/* ---- tokens, and what is revoked ---- */

/* A note for people, and no part of the answer: where the node does not say it, there is none. */
static void tell_next(const struct cli *cli, const struct cluster_node_client *node,
                      const char *token)
{
    struct rapahub_string text = {NULL, 0};
    struct cli_document status;
    const char *hash, *address;

    if (cluster_node_client_ask(node, CLUSTER_ASK_STATUS, NULL, &text) < 0 ||
        cli_document_read(text, &status) < 0) {
        rapahub_clear_error();
        return;
    }
    hash = cli_document_text(cli_document_member(status.root, "ca_hash"));
    address = cli_document_text(cli_document_member(status.root, "listens"));
    if (!address || !address[0])
        address = "HOST:PORT";
    if (hash)
        cli_failure_note(cli,
                         "where the new node shall be: rapahub node join %.*s --token %s "
                         "--ca-hash %s --data DIR",
                         (int)strcspn(address, ","), address, token, hash);
    cli_document_fini(&status);
}

int cluster_identity_token(struct cli *cli)
{
    uint64_t ttl_ns = cli_arguments_number(&cli->arguments, "ttl");
    uint32_t uses = (uint32_t)cli_arguments_number(&cli->arguments, "uses");
    char token[CLUSTER_JOIN_TOKEN_TEXT] = "";
    struct rapahub_string answer = {NULL, 0};
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    if (r == 0)
        r = cluster_node_client_ask(&node, CLUSTER_ASK_TOKEN,
                                    (const void *[]){&ttl_ns, &uses, NULL}, &answer);
    if (r == 0) /* the next question takes the memory of the answer */
        snprintf(token, sizeof token, "%.*s", (int)answer.size, answer.data);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("token", token));
    else if (r == 0)
        printf("%s\n", token);
    if (r == 0 && !cli_json_wanted(cli))
        tell_next(cli, &node, token);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

/* An order about a thing, which has no result; `key` names the thing in JSON. */
static int revoke(struct cli *cli, const char *method, const char *key)
{
    const char *what = cli->arguments.operands[0];
    struct rapahub_string thing = rapahub_string_of(what);
    struct cluster_node_client node;
    int r = cluster_node_client_open(cli, &node);

    cli_failure_about(cli, "%s", r < 0 ? "" : what);
    if (r == 0)
        r = cluster_node_client_ask(&node, method, (const void *[]){&thing, NULL}, NULL);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER(key, what));
    else if (r == 0)
        cli_failure_note(cli, "%s is revoked", what);
    r = r < 0 ? cli_failure_report(cli, r) : r;
    cluster_node_client_close(&node);
    return r;
}

int cluster_identity_token_revoke(struct cli *cli)
{
    return revoke(cli, CLUSTER_ASK_TOKEN_REVOKE, "id");
}

int cluster_identity_revoke(struct cli *cli)
{
    return revoke(cli, CLUSTER_ASK_REVOKE, "serial");
}
