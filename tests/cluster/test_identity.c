/* SPDX-License-Identifier: Apache-2.0 */
/* A node gets its identity, signs certificates of clients, and makes tokens: by the commands that
 * people type, and by calls that no command makes. */
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define PATH      (NODE_PROCESS_PATH + 32)
#define CALL_NS   UINT64_C(20000000000)
#define TOKEN_END 53 /* characters of a token */

static const struct rapahub_container_id services = {.pool = {UINT32_MAX, 16}};

struct stage {
    struct node_process node;
    struct rapahub_client *client;
    char data[PATH];
    struct process_result result; /* of the last command */
};

static int type(struct stage *stage, const char *const words[])
{
    process_result_fini(&stage->result);
    return node_process_rapahub(&stage->node, words, &stage->result);
}

#define TYPE(...) type(stage, (const char *const[]){__VA_ARGS__, NULL})

/* A command that has no --node. */
static int init(struct stage *stage)
{
    const char *argv[] = {PROCESS_RAPAHUB, "node", "init", stage->data, NULL};
    const struct process_options options = {.argv = argv, .within_ns = UINT64_C(60000000000)};

    process_result_fini(&stage->result);
    assert_int_equal(process_run(&options, &stage->result), 0);
    return stage->result.status;
}

static void assert_says(const struct stage *stage, const char *text)
{
    if (!strstr(stage->result.err, text) && !strstr(stage->result.out, text))
        fail_msg("no '%s' in: %s%s", text, stage->result.out, stage->result.err);
}

static void open_client(struct stage *stage)
{
    const char *const nodes[] = {stage->node.address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes, .wait_ns = CALL_NS};

    assert_int_equal(rapahub_client_open(&options, &stage->client), 0);
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    node_process_open(&stage->node);
    snprintf(stage->data, sizeof stage->data, "%s/data", stage->node.folder);
    *state = stage;
    return 0;
}

static int begin_with_identity(void **state)
{
    struct stage *stage;

    begin(state);
    stage = *state;
    assert_int_equal(init(stage), 0);
    node_process_begin(&stage->node);
    open_client(stage);
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    rapahub_client_close(stage->client);
    process_result_fini(&stage->result);
    node_process_close(&stage->node);
    free(stage);
    return 0;
}

static int ask(struct stage *stage, const char *method, const void *const *arguments, void *out)
{
    const struct rapahub_call call = {
        .target = services, .method = method, .arguments = arguments, .timeout_ns = CALL_NS};

    return rapahub_client_call(stage->client, &call, out);
}

static int ask_certificate(struct stage *stage, const char *request, const char *role,
                           const char *name)
{
    const struct rapahub_string texts[] = {
        {request, strlen(request)}, {role, strlen(role)}, {name, strlen(name)}};
    struct rapahub_string answer = {NULL, 0};

    return ask(stage, "certificate(string, string, string) -> string",
               (const void *const[]){&texts[0], &texts[1], &texts[2], NULL}, &answer);
}

/* ---- node init ---- */

/* r[verify cluster.identity.setup] */
static void a_folder_gets_one_identity(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(init(stage), 0);
    assert_says(stage, "ca_hash  ");
    assert_int_equal(init(stage), 6);
    assert_says(stage, "name the folder of another node");
    node_process_begin(&stage->node);
    open_client(stage);
    assert_int_equal(TYPE("node", "status"), 0);
    assert_says(stage, "/node/1\n");
    assert_says(stage, "authority              here");
    assert_int_equal(init(stage), 75);
    assert_says(stage, "stop the node first");
}

/* r[verify cluster.identity.setup] */
static void a_folder_of_something_else_is_left(void **state)
{
    struct stage *stage = *state;
    char path[PATH + 16];

    assert_int_equal(mkdir(stage->data, 0755), 0);
    snprintf(path, sizeof path, "%s/thesis.tex", stage->data);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_not_equal(init(stage), 0);
    assert_says(stage, "'thesis.tex'");
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(stage->data), 0); /* it has nothing else */
}

/* r[verify cluster.identity.order] */
static void a_node_without_the_authority_refuses(void **state)
{
    struct stage *stage = *state;
    char out[PATH];

    snprintf(out, sizeof out, "%s/ana", stage->node.folder);
    node_process_begin(&stage->node);
    open_client(stage);
    assert_int_equal(TYPE("node", "certificate", "--name", "ana", "--out", out), 6);
    assert_says(stage, "stop it, then rapahub node init ");
    assert_int_equal(access(out, F_OK), -1);
    assert_int_equal(TYPE("token", "create"), 6);
    assert_int_equal(TYPE("node", "revoke", "1f"), 6);
    assert_int_equal(TYPE("token", "ls"), 0);
}

/* r[verify cluster.identity.files] */
static void a_key_that_others_may_read_is_refused(void **state)
{
    struct stage *stage = *state;
    char path[PATH + 16], out[PATH];

    snprintf(out, sizeof out, "%s/ana", stage->node.folder);
    snprintf(path, sizeof path, "%s/ca/ca.key", stage->data);
    assert_int_equal(init(stage), 0);
    assert_int_equal(chmod(path, 0644), 0);
    node_process_begin(&stage->node); /* it serves what is on this machine */
    open_client(stage);
    assert_int_equal(TYPE("node", "certificate", "--name", "ana", "--out", out), 7);
    assert_says(stage, "chmod 600 ");
    assert_says(stage, path);
    assert_int_equal(TYPE("node", "status"), 0);
    assert_says(stage, "identity fault");
}

/* ---- certificates ---- */

static X509 *read_certificate(const char *folder, const char *name)
{
    char path[PATH + 16];
    X509 *found;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "re");
    assert_non_null(file);
    found = PEM_read_X509(file, NULL, NULL, NULL);
    assert_non_null(found);
    (void)fclose(file);
    return found;
}

static unsigned mode_of(const char *folder, const char *name)
{
    char path[PATH + 16];
    struct stat found;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(stat(path, &found), 0);
    return found.st_mode & 0777;
}

/* r[verify cluster.identity.client] r[verify cluster.identity.order] */
static void a_client_gets_its_files(void **state)
{
    struct stage *stage = *state;
    char out[PATH];
    X509 *authority, *client;

    snprintf(out, sizeof out, "%s/ana", stage->node.folder);
    assert_int_equal(
        TYPE("node", "certificate", "--name", "ana", "--role", "operator", "--out", out), 0);
    assert_says(stage, "/client/operator/ana\n");
    assert_int_equal(mode_of(out, "client.key"), 0600);
    assert_int_equal(mode_of(out, ""), 0700);
    authority = read_certificate(out, "ca.pem");
    client = read_certificate(out, "client.pem");
    assert_int_equal(X509_verify(client, X509_get0_pubkey(authority)), 1);
    X509_free(authority);
    X509_free(client);
    assert_int_equal(TYPE("node", "certificate", "--name", "ana", "--out", out), 6);
    assert_says(stage, "client.pem: it is there");
}

/* r[verify cluster.identity.order] */
static void a_name_that_is_none_is_refused(void **state)
{
    static const char *const names[] = {
        "",   "a/b",  "a\nb",
        "-a", "../a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 65 */};
    struct stage *stage = *state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(ask_certificate(stage, "", "viewer", names[i]), RAPAHUB_EINVAL);
    assert_int_equal(ask_certificate(stage, "", "root", "ana"), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "viewer, operator, admin"));
    assert_int_equal(ask_certificate(stage, "", "", "ana"), RAPAHUB_EINVAL);
}

static void make_request(EVP_PKEY *key, EVP_PKEY *signer, char *to, size_t room)
{
    X509_REQ *request = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long size;

    X509_REQ_set_pubkey(request, key);
    assert_true(X509_REQ_sign(request, signer, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509_REQ(bio, request), 1);
    size = BIO_get_mem_data(bio, &text);
    assert_true(size > 0 && (size_t)size < room);
    memcpy(to, text, (size_t)size);
    to[size] = 0;
    BIO_free(bio);
    X509_REQ_free(request);
}

/* r[verify cluster.identity.order] */
static void a_request_that_is_none_is_refused(void **state)
{
    struct stage *stage = *state;
    EVP_PKEY *rsa = EVP_RSA_gen(2048), *one = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
    char *huge = malloc(100001), text[4096];

    assert_non_null(huge);
    memset(huge, 'A', 100000);
    huge[100000] = 0;
    assert_int_equal(ask_certificate(stage, "", "viewer", "ana"), RAPAHUB_EINVAL);
    assert_int_equal(ask_certificate(stage, "-----BEGIN ", "viewer", "ana"), RAPAHUB_EINVAL);
    assert_int_equal(ask_certificate(stage, huge, "viewer", "ana"), RAPAHUB_EINVAL);
    make_request(rsa, rsa, text, sizeof text);
    assert_int_equal(ask_certificate(stage, text, "viewer", "ana"), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "P-256"));
    make_request(one, other, text, sizeof text);
    assert_int_equal(ask_certificate(stage, text, "viewer", "ana"), RAPAHUB_EINVAL);
    make_request(one, one, text, sizeof text);
    assert_int_equal(ask_certificate(stage, text, "viewer", "ana"), 0);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(one);
    EVP_PKEY_free(other);
    free(huge);
}

/* r[verify cluster.identity.revoked] */
static void a_certificate_stays_revoked(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(TYPE("node", "revoke", "4A90C2F1D3E85B77"), 0);
    assert_int_equal(TYPE("node", "revoke", "4a90c2f1d3e85b77"), 0);
    assert_int_equal(TYPE("node", "revoke", "4a9"), 2);
    assert_int_equal(TYPE("node", "revoked", "-o", "name"), 0);
    assert_string_equal(stage->result.out, "4a90c2f1d3e85b77\n");
    rapahub_client_close(stage->client);
    stage->client = NULL;
    node_process_end(&stage->node);
    node_process_begin(&stage->node);
    open_client(stage);
    assert_int_equal(TYPE("node", "revoked", "-o", "name"), 0);
    assert_string_equal(stage->result.out, "4a90c2f1d3e85b77\n");
}

/* r[verify cluster.identity.revoked] */
static void a_node_does_not_revoke_itself(void **state)
{
    struct stage *stage = *state;
    X509 *own;
    BIGNUM *number;
    char folder[PATH + 8], *serial;

    snprintf(folder, sizeof folder, "%s/tls", stage->data);
    own = read_certificate(folder, "node.pem");
    number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(own), NULL);
    serial = BN_bn2hex(number);
    assert_int_equal(TYPE("node", "revoke", serial), 2);
    assert_says(stage, "the certificate of this node");
    OPENSSL_free(serial);
    BN_free(number);
    X509_free(own);
}

/* ---- tokens ---- */

/* r[verify cluster.identity.token] */
static void a_token_is_made_listed_and_revoked(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_END + 2], id[17];

    assert_int_equal(TYPE("token", "create"), 0);
    assert_int_equal(strlen(stage->result.out), TOKEN_END + 1);
    snprintf(token, sizeof token, "%s", stage->result.out);
    snprintf(id, sizeof id, "%.16s", token + 4);
    assert_int_equal(TYPE("token", "ls"), 0);
    assert_says(stage, id);
    assert_null(strstr(stage->result.out, token + 21)); /* its secret */
    assert_int_equal(TYPE("token", "revoke", id), 0);
    assert_int_equal(TYPE("token", "revoke", id), 3);
    assert_says(stage, "no such token");
    assert_int_equal(TYPE("token", "revoke", token), 2);
    assert_int_equal(TYPE("token", "ls", "-o", "name"), 0);
    assert_string_equal(stage->result.out, "");
}

/* Looks for some bytes in a file of the data folder. */
static bool has_bytes(const struct stage *stage, const char *name, const char *bytes)
{
    char path[PATH + 16];
    size_t size;
    char *all = malloc(4 << 20);
    FILE *file;
    bool found;

    snprintf(path, sizeof path, "%s/%s", stage->data, name);
    file = fopen(path, "re");
    assert_non_null(all);
    size = file ? fread(all, 1, 4 << 20, file) : 0;
    found = size > 0 && memmem(all, size, bytes, strlen(bytes)) != NULL;
    if (file)
        (void)fclose(file);
    free(all);
    return found;
}

/* r[verify cluster.identity.token] */
static void the_secret_of_a_token_is_not_kept(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_END + 2], id[32];

    assert_int_equal(TYPE("token", "create"), 0);
    snprintf(token, sizeof token, "%.*s", TOKEN_END, stage->result.out);
    snprintf(id, sizeof id, "/c/token/%.16s", token + 4);
    rapahub_client_close(stage->client);
    stage->client = NULL;
    node_process_end(&stage->node);
    assert_true(has_bytes(stage, "meta.db", id));
    assert_false(has_bytes(stage, "meta.db", token + 21));
}

/* r[verify cluster.identity.token] */
static void tokens_are_bounded_and_old_ones_go(void **state)
{
    struct stage *stage = *state;
    uint64_t ttl_ns = UINT64_C(1000000000), week_ns = UINT64_C(604800) * ttl_ns,
             longer = week_ns + 1, shorter = ttl_ns - 1;
    uint32_t uses = 1, many = 1025;
    struct rapahub_string token;
    unsigned made = 0;

    assert_int_equal(ask(stage, "token(u64, u32) -> string",
                         (const void *const[]){&longer, &uses, NULL}, &token),
                     RAPAHUB_EINVAL);
    assert_int_equal(ask(stage, "token(u64, u32) -> string",
                         (const void *const[]){&shorter, &uses, NULL}, &token),
                     RAPAHUB_EINVAL);
    assert_int_equal(ask(stage, "token(u64, u32) -> string",
                         (const void *const[]){&week_ns, &many, NULL}, &token),
                     RAPAHUB_EINVAL);
    while (made < 300 && ask(stage, "token(u64, u32) -> string",
                             (const void *const[]){&week_ns, &uses, NULL}, &token) == 0)
        made++;
    assert_int_equal(made, 256);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EFULL);
}

/* r[verify cluster.identity.token] */
static void a_token_whose_time_is_over_is_gone(void **state)
{
    struct stage *stage = *state;

    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(TYPE("token", "create", "--ttl", "1s"), 0);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(TYPE("token", "ls", "-o", "name"), 0);
        if (stage->result.out[0] == 0)
            break;
        pause_ms(20);
    }
    assert_string_equal(stage->result.out, "");
    assert_int_equal(TYPE("token", "create", "--uses", "3"), 0);
    assert_int_equal(TYPE("token", "ls"), 0);
    assert_says(stage, "  3     5\n");
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, begin_with_identity, end)
#define FIRST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIRST(a_folder_gets_one_identity),
        FIRST(a_folder_of_something_else_is_left),
        FIRST(a_node_without_the_authority_refuses),
        FIRST(a_key_that_others_may_read_is_refused),
        TEST(a_client_gets_its_files),
        TEST(a_name_that_is_none_is_refused),
        TEST(a_request_that_is_none_is_refused),
        TEST(a_certificate_stays_revoked),
        TEST(a_node_does_not_revoke_itself),
        TEST(a_token_is_made_listed_and_revoked),
        TEST(the_secret_of_a_token_is_not_kept),
        TEST(tokens_are_bounded_and_old_ones_go),
        TEST(a_token_whose_time_is_over_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
