/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/identity/client_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/keys.h"
#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "cluster/store/files.h"

#define RULE         "cluster.identity.client"
#define KEY          "client.key"
#define CERTIFICATE  "client.pem"
#define ANCHORS      "ca.pem"
#define CERTIFICATES (1 + CLUSTER_CERTIFICATE_ANCHORS)

/* ---- a key is made ---- */

static int check_name(const char *name)
{
    if (cluster_keys_is_name(rapahub_string_of(name)))
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "cluster.identity.name",
                        "'%.80s' is no name of a client: it has 1 to 63 letters, digits, '_', '-' "
                        "and '.', the first a letter, a digit or '_'",
                        name);
}

/* A key that is there is not lost for one that was asked for by mistake. */
static int check_free(const char *folder, const char *name)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "%.200s: the path is too long", folder);
    if (access(path, F_OK) != 0)
        return 0;
    return rapahub_fail(RAPAHUB_EEXIST, RULE, "%s: it is there: name another folder, or remove it",
                        path);
}

int cluster_client_files_begin(struct cluster_client_files *files)
{
    int r = check_name(files->name);

    if (r == 0)
        r = check_free(files->folder, CERTIFICATE);
    if (r == 0)
        r = check_free(files->folder, KEY);
    if (r == 0)
        r = cluster_private_key_make(&files->key);
    return r == 0 ? cluster_csr_make(files->key, &files->request) : r;
}

void cluster_client_files_end(struct cluster_client_files *files)
{
    cluster_private_key_release(&files->key);
}

/* ---- the answer of the node ---- */

struct answer {
    struct x509_st *of[CERTIFICATES]; /* the client's, then those of the authorities */
    size_t count;
};

static void release(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        cluster_certificate_release(&answer->of[i]);
}

static int check_issuer(const struct answer *answer)
{
    uint8_t uuid[CLUSTER_URI_UUID];
    int r = RAPAHUB_EPROTOCOL;

    for (size_t i = 1; i < answer->count; i++) {
        if (cluster_certificate_authority(answer->of[i], uuid) < 0)
            return RAPAHUB_EPROTOCOL;
        if (cluster_certificate_check_issuer(answer->of[0], answer->of[i]) == 0)
            r = 0;
    }
    return r;
}

/* It must be for the key of the request, under the name that was asked for. */
static int check_client(const struct cluster_client_files *files, const struct answer *answer,
                        struct cluster_client_files_made *out)
{
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX], role;
    struct cluster_peer_name name;
    uint64_t from_s;
    size_t size;

    if (cluster_certificate_peer(answer->of[0], &name, serial, &size) < 0 ||
        cluster_certificate_check_key(answer->of[0], files->key) < 0 ||
        cluster_certificate_dates(answer->of[0], &from_s, &out->until_s) < 0 ||
        cluster_uri_role(rapahub_string_of(files->role), &role) < 0)
        return RAPAHUB_EPROTOCOL;
    if (name.kind != CLUSTER_PEER_CLIENT || name.role != role ||
        strcmp(name.name, files->name) != 0)
        return RAPAHUB_EPROTOCOL;
    cluster_certificate_serial_text(serial, size, out->serial);
    return cluster_uri_print(&name, out->uri) < 0 ? RAPAHUB_EPROTOCOL : 0;
}

static int read_answer(const struct cluster_client_files *files, struct rapahub_string text,
                       struct answer *answer, struct cluster_client_files_made *out)
{
    int r = cluster_certificate_read_all((struct rapahub_bytes){text.data, text.size}, answer->of,
                                         CERTIFICATES);

    answer->count = r > 0 ? (size_t)r : 0;
    if (r < 2 || check_client(files, answer, out) < 0 || check_issuer(answer) < 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "the node answers no certificate of this name and key");
    return 0;
}

/* ---- files ---- */

static int write_key(const struct cluster_files_folder *folder, struct evp_pkey_st *key)
{
    struct cluster_pem pem;
    int r = cluster_private_key_write(key, &pem);

    if (r == 0)
        r = cluster_files_replace(folder, KEY, pem.text, pem.size);
    cluster_pem_wipe(&pem);
    return r;
}

static int write_certificates(const struct cluster_files_folder *folder, const char *name,
                              struct x509_st *const *of, size_t count)
{
    char texts[CERTIFICATES * CLUSTER_PEM_SIZE_MAX];
    struct cluster_pem pem;
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        int r = cluster_certificate_write(of[i], &pem);

        if (r < 0)
            return r;
        memcpy(texts + size, pem.text, pem.size);
        size += pem.size;
    }
    return cluster_files_replace(folder, name, texts, size);
}

static int write_all(const struct cluster_client_files *files, const struct answer *answer)
{
    struct cluster_files_folder folder;
    int r = cluster_files_open_folder(&cluster_files_system, NULL, files->folder, true, &folder);

    if (r < 0)
        return r;
    r = write_key(&folder, files->key);
    if (r == 0)
        r = write_certificates(&folder, ANCHORS, &answer->of[1], answer->count - 1);
    if (r == 0)
        r = write_certificates(&folder, CERTIFICATE, &answer->of[0], 1);
    cluster_files_close_folder(&folder);
    return r;
}

/* r[impl cluster.identity.client] */
int cluster_client_files_finish(const struct cluster_client_files *files,
                                struct rapahub_string text, struct cluster_client_files_made *out)
{
    struct answer answer = {.count = 0};
    int r = read_answer(files, text, &answer, out);

    if (r == 0)
        r = write_all(files, &answer);
    release(&answer);
    return r;
}
