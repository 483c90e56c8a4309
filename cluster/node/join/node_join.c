/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/join/node_join.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/keys.h"
#include "cluster/identity/csr.h"
#include "cluster/identity/join_token.h"
#include "cluster/identity/private_key.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/identity/identity_files.h"
#include "cluster/node/join/join_request.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/random.h"

#define WAIT_NS (30 * HUB_SECOND)
#define RULE    "cluster.join.answer"
#define PLACE   "cluster.join.place"
#define ETCD    "etcd://"
#define ETCDS   "etcds://"

/* A join, from the words that were typed to the answer. */
struct joining {
    struct cluster_data_folder folder;
    struct evp_pkey_st *key;
    struct cluster_pem request_text;
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID];
    struct cluster_join_request request;
    struct cluster_join_answer answer;
    const char *metastore; /* that was typed; NULL: none */
};

/* ---- the words ---- */

static int digit_of(char letter)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = letter != '\0' ? strchr(digits, letter) : NULL;

    if (!at)
        return -1;
    return (int)(at - digits) < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

static int read_hash(const char *text, uint8_t to[CLUSTER_CERTIFICATE_DIGEST])
{
    bool sound = strlen(text) == 2 * (size_t)CLUSTER_CERTIFICATE_DIGEST;

    for (size_t i = 0; sound && i < CLUSTER_CERTIFICATE_DIGEST; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

        sound = high >= 0 && low >= 0;
        to[i] = (uint8_t)((unsigned)high << 4 | ((unsigned)low & 15));
    }
    return sound ? 0
                 : rapahub_fail(RAPAHUB_EINVAL, "cluster.join.pinned",
                                "a hash of an authority has %d hexadecimal digits: rapahub node "
                                "status, on a node of the cluster, shows it as ca_hash",
                                2 * CLUSTER_CERTIFICATE_DIGEST);
}

static int check_token(const char *text)
{
    struct cluster_join_token token;
    int r = cluster_join_token_parse(rapahub_string_of(text), &token);

    explicit_bzero(&token, sizeof token);
    return r;
}

static int check_name(const char *name)
{
    return !name || cluster_keys_is_name(rapahub_string_of(name))
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "cluster.keys.name",
                              "'%s': a name has 1 to 63 letters, digits, '_', '-' and '.', the "
                              "first a letter, a digit or '_'",
                              name);
}

static int read_words(struct joining *joining, const struct cluster_node_join_options *options)
{
    struct cluster_join_request *request = &joining->request;
    int r = cluster_host_port_parse(options->node, &request->to);

    if (r == 0)
        r = check_token(options->token);
    if (r == 0)
        r = read_hash(options->ca_hash, request->ca_digest);
    if (r == 0)
        r = check_name(options->name);
    request->wait_ns = options->wait_ns > 0 ? options->wait_ns : WAIT_NS;
    joining->metastore = options->metastore;
    request->join.token = rapahub_string_of(options->token);
    if (options->name)
        request->join.name = rapahub_string_of(options->name);
    return r;
}

/* ---- asked ---- */

static int make_request(struct joining *joining)
{
    uint64_t halves[2] = {hub_random_nonce(), hub_random_nonce()};
    int r = cluster_private_key_make(&joining->key);

    memcpy(joining->uuid, halves, sizeof halves);
    if (r == 0)
        r = cluster_csr_make(joining->key, &joining->request_text);
    joining->request.join.uuid = (struct rapahub_bytes){joining->uuid, sizeof joining->uuid};
    joining->request.join.request =
        (struct rapahub_string){joining->request_text.text, joining->request_text.size};
    return r;
}

/* ---- the answer is checked ---- */

static int refuse(const char *why)
{
    return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "the node has answered %s", why);
}

static int check_certificate(const struct joining *joining, struct x509_st *certificate)
{
    const struct cluster_join_answer *answer = &joining->answer;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name name;
    size_t size;
    int r = cluster_certificate_peer(certificate, &name, serial, &size);

    if (r == 0 && (name.kind != CLUSTER_PEER_NODE || name.node != answer->node ||
                   memcmp(name.uuid, answer->cluster, sizeof name.uuid) != 0))
        r = refuse("a certificate of another name");
    if (r == 0)
        r = cluster_certificate_check_key(certificate, joining->key);
    return r == 0 ? cluster_certificate_check_dates(certificate, hub_clock_wall() / HUB_SECOND) : r;
}

/* Says whether this is the authority whose digest was given, and has signed the certificate: 1. */
static int is_signer(const struct joining *joining, struct x509_st *authority,
                     struct x509_st *certificate)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    int r = cluster_certificate_digest(authority, digest);

    if (r < 0 || memcmp(digest, joining->request.ca_digest, sizeof digest) != 0)
        return r;
    r = cluster_certificate_check_issuer(certificate, authority);
    return r < 0 ? r : 1;
}

static int check_signer(const struct joining *joining, struct x509_st *certificate)
{
    struct x509_st *authorities[CLUSTER_CERTIFICATE_ANCHORS] = {NULL};
    int count = cluster_certificate_read_all(
        (struct rapahub_bytes){joining->answer.anchors, joining->answer.anchors_size}, authorities,
        CLUSTER_CERTIFICATE_ANCHORS);
    int r = count < 0 ? count : 0;

    for (int i = 0; i < count && r == 0; i++)
        r = is_signer(joining, authorities[i], certificate);
    for (unsigned i = 0; i < CLUSTER_CERTIFICATE_ANCHORS; i++)
        cluster_certificate_release(&authorities[i]);
    return r == 0 ? refuse("without the authority that was asked for") : r < 0 ? r : 0;
}

/* Only such a text becomes a line of the folder. */
static bool is_etcd(const char *url)
{
    bool named = strncmp(url, ETCD, strlen(ETCD)) == 0 || strncmp(url, ETCDS, strlen(ETCDS)) == 0;

    for (; named && *url; url++)
        named = *url > ' ' && *url <= '~';
    return named;
}

/* r[impl cluster.join.place] */
static int check_place(const char *given, const char *answered)
{
    const char *prefix = strrchr(answered, '/'), *other = given ? strrchr(given, '/') : prefix;

    if (answered[0] != '\0' && !is_etcd(answered))
        return refuse("a place of the metastore that is none");
    if (given && answered[0] == '\0')
        return rapahub_fail(RAPAHUB_ECONFIG, PLACE,
                            "the metastore of this cluster is on the node that was asked, and not "
                            "%.200s: join without that",
                            given);
    if (prefix && (!other || strcmp(prefix, other) != 0))
        return rapahub_fail(RAPAHUB_ECONFIG, PLACE,
                            "the metastore of this cluster is %.200s, and not %.200s: only the "
                            "addresses may be others",
                            answered, given);
    return 0;
}

/* r[impl cluster.join.answer] */
static int check_answer(const struct joining *joining)
{
    OWN(cluster_certificate) struct x509_st *certificate = NULL;
    int r = cluster_certificate_read(
        (struct rapahub_bytes){joining->answer.certificate.text, joining->answer.certificate.size},
        &certificate);

    if (r == 0)
        r = check_certificate(joining, certificate);
    if (r == 0)
        r = check_signer(joining, certificate);
    return r == 0 ? check_place(joining->metastore, joining->answer.place) : r;
}

/* ---- the folder ---- */

static int write_key(const struct cluster_identity_files *files, struct evp_pkey_st *key)
{
    struct cluster_pem pem;
    int r = cluster_private_key_write(key, &pem);

    if (r == 0)
        r = cluster_identity_files_write(files, CLUSTER_IDENTITY_NODE_KEY, &pem);
    cluster_pem_wipe(&pem);
    return r;
}

static int write_anchors(const struct cluster_identity_files *files,
                         const struct cluster_join_answer *answer)
{
    struct cluster_pem pem = {.size = answer->anchors_size};

    if (pem.size > CLUSTER_PEM_SIZE_MAX)
        return refuse("more authorities than a file may have");
    memcpy(pem.text, answer->anchors, pem.size);
    return cluster_identity_files_write(files, CLUSTER_IDENTITY_ANCHORS, &pem);
}

static int write_identity(const struct joining *joining)
{
    struct cluster_identity_files files;
    int r = cluster_identity_files_open(&joining->folder.root, true, &files);

    if (r < 0)
        return r;
    r = write_key(&files, joining->key);
    if (r == 0)
        r = cluster_identity_files_write(&files, CLUSTER_IDENTITY_NODE,
                                         &joining->answer.certificate);
    if (r == 0)
        r = write_anchors(&files, &joining->answer);
    cluster_identity_files_close(&files);
    return r;
}

static void tell(const struct joining *joining, struct cluster_node_joined *out)
{
    const struct cluster_host_port *asked = &joining->request.to;
    const char *mark = strchr(asked->host, ':') ? "[" : "", *end = mark[0] ? "]" : "";

    memcpy(out->cluster, joining->answer.cluster, sizeof out->cluster);
    out->node = joining->answer.node;
    if (joining->answer.place[0] != '\0')
        snprintf(out->place, sizeof out->place, "%s",
                 joining->metastore ? joining->metastore : joining->answer.place);
    else
        snprintf(out->place, sizeof out->place, "seat:%s%.*s%s:%u", mark,
                 CLUSTER_HOST_PORT_HOST - 1, asked->host, end, asked->port);
}

/* The number is written last: what is before it can be written over. r[impl cluster.join.folder] */
static int settle(struct joining *joining, struct cluster_node_joined *out)
{
    const struct cluster_data_folder_joined joined = {
        .node = joining->answer.node, .uuid = joining->uuid, .place = out->place};
    int r = write_identity(joining);

    tell(joining, out);
    joining->folder.store.revision = joining->answer.revision;
    memcpy(joining->folder.store.uuid, joining->answer.cluster, sizeof joining->answer.cluster);
    return r == 0 ? cluster_data_folder_join(&joining->folder, &joined) : r;
}

static int run(struct joining *joining, const struct cluster_node_join_options *options,
               struct cluster_node_joined *out)
{
    const struct cluster_data_folder_options how = {
        .files = options->files, .path = options->data, .lock_fd = -1, .joins = true};
    int r = read_words(joining, options);

    if (r == 0)
        r = cluster_data_folder_open(&joining->folder, &how);
    if (r < 0)
        return r;
    r = make_request(joining);
    if (r == 0)
        r = cluster_join_request_run(&joining->request, &joining->answer);
    if (r == 0)
        r = check_answer(joining);
    if (r == 0)
        r = settle(joining, out);
    cluster_data_folder_close(&joining->folder);
    return r;
}

int cluster_node_join_run(const struct cluster_node_join_options *options,
                          struct cluster_node_joined *out)
{
    struct joining joining = {.key = NULL};
    int r = run(&joining, options, out);

    cluster_private_key_release(&joining.key);
    return r;
}
