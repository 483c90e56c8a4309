/* SPDX-License-Identifier: Apache-2.0 */
/* A node joins, and the node that it asks answers rightly, wrongly, or not at all. */
#include <poll.h>
#include <pthread.h>

#include "cluster/link/connection.h"
#include "cluster/link/tcp.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/join/node_join.h"
#include "tests/store/folder_stage.h"
#include "tests/unit/cluster-link/tls_stage.h"

#define TOKEN "rh1.0123456789abcdef.0123456789abcdef0123456789abcdef"
#define WAIT  (30 * HUB_SECOND)

/* Ways in which the node answers. */
enum way {
    RIGHT,
    A_NUMBER_OF_ANOTHER,
    ANOTHER_CLUSTER,
    ANOTHER_KEY,
    ANOTHER_AUTHORITY, /* in place of its own */
    A_FORGED_CERTIFICATE,
    AN_EXPIRED_CERTIFICATE,
    NO_CERTIFICATE, /* a text that is none */
    A_PLACE_THAT_IS_NONE,
    TWO_LINES,
    IN_ETCD,
    A_REFUSAL,
    ANOTHER_FRAME,
    NOTHING,
    A_HANG_UP
};

struct fake {
    struct stage tls;
    struct folder_stage folder;
    struct cluster_ca forged;
    int listener;
    char address[64], hash[2 * CLUSTER_CERTIFICATE_DIGEST + 1];
    enum way way;
    pthread_t thread;
    bool asked;
    /* of the answer */
    struct cluster_pem certificate, anchors;
};

/* ---- the answer ---- */

static void sign(struct fake *fake, const struct cluster_body_join *join)
{
    const struct cluster_ca *ca = fake->way == A_FORGED_CERTIFICATE ? &fake->forged : &fake->tls.ca;
    const struct cluster_peer_name name = node_name(ca, 7);
    struct rapahub_bytes request = {join->request.data, join->request.size};
    uint64_t at_s =
        fake->way == AN_EXPIRED_CERTIFICATE ? wall_s() - 91 * CLUSTER_CA_DAY_S : wall_s();
    struct x509_st *certificate = NULL;
    struct evp_pkey_st *key = NULL;
    struct cluster_pem other;

    if (fake->way == ANOTHER_KEY) {
        assert_int_equal(cluster_private_key_make(&key), 0);
        assert_int_equal(cluster_csr_make(key, &other), 0);
        request = (struct rapahub_bytes){other.text, other.size};
    }
    assert_int_equal(cluster_ca_sign(ca, request, &name, at_s, &certificate), 0);
    assert_int_equal(cluster_certificate_write(certificate, &fake->certificate), 0);
    ca = fake->way == ANOTHER_AUTHORITY ? &fake->forged : &fake->tls.ca;
    assert_int_equal(cluster_certificate_write(ca->certificate, &fake->anchors), 0);
    if (fake->way == NO_CERTIFICATE)
        snprintf(fake->certificate.text, fake->certificate.size, "rubbish");
    cluster_certificate_release(&certificate);
    cluster_private_key_release(&key);
}

static struct cluster_body answer(struct fake *fake, const struct cluster_body_join *join)
{
    static const uint8_t another[CLUSTER_BODY_UUID] = {9};
    struct cluster_body body = {
        .join_ok = {.node = fake->way == A_NUMBER_OF_ANOTHER ? 8 : 7, .revision = 9}};

    sign(fake, join);
    body.join_ok.cluster = (struct rapahub_bytes){
        fake->way == ANOTHER_CLUSTER ? another : fake->tls.ca.uuid, CLUSTER_BODY_UUID};
    body.join_ok.certificate = rapahub_string_of(fake->certificate.text);
    body.join_ok.anchors = rapahub_string_of(fake->anchors.text);
    if (fake->way == A_PLACE_THAT_IS_NONE)
        body.join_ok.place = rapahub_string_of("seat:192.0.2.7:1");
    if (fake->way == TWO_LINES)
        body.join_ok.place = rapahub_string_of("etcd://192.0.2.7:2379/k\nmore");
    if (fake->way == IN_ETCD)
        body.join_ok.place = rapahub_string_of("etcd://192.0.2.7:2379/k");
    return body;
}

/* ---- the node ---- */

struct served {
    struct fake *fake;
    struct cluster_connection *connection;
};

static int on_frame(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    const struct served *served = user;
    struct fake *fake = served->fake;
    struct cluster_body said = {.close = {RAPAHUB_EACCES, {"no, by no means", 15}}};
    uint8_t type = CLUSTER_FRAME_CLOSE;

    assert_int_equal(frame->type, CLUSTER_FRAME_JOIN);
    fake->asked = true;
    if (fake->way == NOTHING)
        return 0;
    if (fake->way == A_HANG_UP)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "it hangs up");
    if (fake->way == ANOTHER_FRAME)
        return cluster_connection_put(served->connection,
                                      &(struct cluster_frame){.type = CLUSTER_FRAME_ACK,
                                                              .uid = {UINT64_C(1) << 63 | 5, 1},
                                                              .pool = UINT64_C(256) << 32 | 1},
                                      &said);
    if (fake->way != A_REFUSAL) {
        said = answer(fake, &body->join);
        type = CLUSTER_FRAME_JOIN_OK;
    }
    return cluster_connection_put(served->connection, &(struct cluster_frame){.type = type}, &said);
}

static void on_credit(void *user)
{
    (void)user;
}

static void serve(struct fake *fake, int fd, struct cluster_tls *tls)
{
    static const struct cluster_connection_hooks hooks = {on_frame, on_credit};
    struct served served = {.fake = fake};
    struct hub_closer *closer;
    struct cluster_connection_options how = {
        .body_max = CLUSTER_FRAME_BODY_MAX, .transport = &cluster_tls_table, .session = tls};
    uint64_t until_ns = hub_clock_after(2 * WAIT);

    assert_int_equal(hub_closer_create(&closer), 0);
    how.closer = closer;
    assert_int_equal(cluster_connection_create(fd, &how, &hooks, &served, &served.connection), 0);
    while (cluster_connection_dispatch(served.connection, hub_clock_now()) == 0 &&
           hub_clock_left(until_ns) > 0) {
        struct pollfd at = {.fd = fd, .events = cluster_connection_events(served.connection)};

        if (cluster_connection_due(served.connection) > hub_clock_now())
            (void)poll(&at, 1, 50);
    }
    cluster_connection_release(&served.connection);
    hub_closer_release(&closer);
}

static void *run(void *user)
{
    struct fake *fake = user;
    const struct cluster_tls_options options = {
        .side = CLUSTER_TLS_SERVER, .anonymous = true, .deadline_ns = hub_clock_after(2 * WAIT)};
    struct pollfd at = {.fd = fake->listener, .events = POLLIN};
    struct cluster_host_port_address from;
    struct cluster_tls *tls = NULL;
    int fd, r = 0;

    if (poll(&at, 1, 4000) != 1 || cluster_tcp_accept(fake->listener, &fd, &from) != 1)
        return NULL;
    assert_int_equal(cluster_tls_create(fake->tls.node, fd, &options, &tls), 0);
    while (r == 0) {
        struct pollfd ready = {.fd = fd, .events = cluster_tls_events(tls)};

        (void)poll(&ready, 1, 50);
        r = cluster_tls_handshake(tls);
    }
    if (r == 1) {
        serve(fake, fd, tls);
    } else {
        cluster_tls_release(&tls);
        cluster_tcp_close(&fd);
    }
    return NULL;
}

/* ---- a join ---- */

static void open_fake(struct fake *fake)
{
    struct cluster_host_port where = {.host = "127.0.0.1"};
    struct cluster_host_port_address address;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];

    *fake = (struct fake){.listener = -1};
    open_stage(&fake->tls);
    folder_stage_begin(&fake->folder);
    make_authority(&fake->forged, 7);
    assert_int_equal(cluster_certificate_digest(fake->tls.ca.certificate, digest), 0);
    for (unsigned i = 0; i < sizeof digest; i++)
        snprintf(fake->hash + 2 * (size_t)i, 3, "%02X", digest[i]);
    assert_true(cluster_host_port_in_numbers(&where, &address));
    assert_int_equal(cluster_tcp_listen(&address, &fake->listener), 0);
    cluster_host_port_print(&address, fake->address);
}

static void close_fake(struct fake *fake)
{
    close(fake->listener);
    cluster_ca_fini(&fake->forged);
    folder_stage_end(&fake->folder);
    close_stage(&fake->tls);
}

static int join_by(struct fake *fake, enum way way, const char *metastore,
                   struct cluster_node_joined *joined)
{
    const struct cluster_node_join_options options = {.metastore = metastore,
                                                      .data = fake->folder.path,
                                                      .node = fake->address,
                                                      .token = TOKEN,
                                                      .ca_hash = fake->hash,
                                                      .wait_ns =
                                                          way == NOTHING ? 3 * HUB_SECOND : WAIT};
    int r;

    fake->way = way;
    fake->asked = false;
    assert_int_equal(pthread_create(&fake->thread, NULL, run, fake), 0);
    r = cluster_node_join_run(&options, joined);
    pthread_join(fake->thread, NULL);
    assert_true(fake->asked);
    return r;
}

static int join(struct fake *fake, enum way way, struct cluster_node_joined *joined)
{
    return join_by(fake, way, NULL, joined);
}

/* r[verify cluster.join.answer] */
static void a_right_answer_is_taken(void **state)
{
    struct cluster_data_folder folder;
    struct cluster_node_joined joined;
    struct fake fake;

    (void)state;
    open_fake(&fake);
    assert_int_equal(join(&fake, RIGHT, &joined), 0);
    assert_int_equal(joined.node, 7);
    assert_memory_equal(joined.place, "seat:", 5);
    assert_string_equal(joined.place + 5, fake.address);
    assert_memory_equal(joined.cluster, fake.tls.ca.uuid, sizeof joined.cluster);
    assert_int_equal(cluster_data_folder_open(
                         &folder, &(struct cluster_data_folder_options){.path = fake.folder.path,
                                                                        .lock_fd = -1}),
                     0);
    assert_int_equal(folder.node, 7);
    assert_int_equal(folder.boot, 1);
    assert_int_equal(folder.store.revision, 9);
    assert_true(folder.place.joined);
    cluster_data_folder_close(&folder);
    close_fake(&fake);
}

/* r[verify cluster.join.answer] */
static void a_wrong_answer_leaves_the_folder_as_it_was(void **state)
{
    static const struct {
        enum way way;
        int code;
        const char *text;
    } wrong[] = {
        {A_NUMBER_OF_ANOTHER, RAPAHUB_EPROTOCOL, "a certificate of another name"},
        {ANOTHER_CLUSTER, RAPAHUB_EPROTOCOL, "for another cluster"},
        {ANOTHER_KEY, RAPAHUB_EINVAL, ""},
        {ANOTHER_AUTHORITY, RAPAHUB_EPROTOCOL, "without the authority that was asked for"},
        {A_FORGED_CERTIFICATE, RAPAHUB_EACCES, ""},
        {AN_EXPIRED_CERTIFICATE, RAPAHUB_EACCES, "expired"},
        {NO_CERTIFICATE, RAPAHUB_EINVAL, ""},
        {A_PLACE_THAT_IS_NONE, RAPAHUB_EPROTOCOL, "a place of the metastore that is none"},
        {TWO_LINES, RAPAHUB_EPROTOCOL, "a place of the metastore that is none"},
        {A_REFUSAL, RAPAHUB_EACCES, "no, by no means"},
        {ANOTHER_FRAME, RAPAHUB_EPROTOCOL, "is no ACK"},
        {NOTHING, RAPAHUB_ETIMEDOUT, "no answer in time"},
        {A_HANG_UP, RAPAHUB_ECLOSED, "hung up"},
    };
    struct cluster_node_joined joined;
    struct fake fake;

    (void)state;
    open_fake(&fake);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int r = join(&fake, wrong[i].way, &joined);

        if (r != wrong[i].code || !strstr(rapahub_last_error()->text, wrong[i].text))
            fail_msg("way %u: %d, %s", i, r, rapahub_last_error()->text);
        assert_false(folder_stage_has(&fake.folder, "node.id"));
        assert_false(folder_stage_has(&fake.folder, "tls"));
    }
    assert_int_equal(join(&fake, RIGHT, &joined), 0);
    close_fake(&fake);
}

static void expect_metastore(const struct fake *fake, const char *url)
{
    struct cluster_data_folder folder;

    assert_int_equal(cluster_data_folder_open(
                         &folder, &(struct cluster_data_folder_options){.path = fake->folder.path,
                                                                        .lock_fd = -1}),
                     0);
    assert_string_equal(folder.place.url, url);
    assert_true(folder.place.apart);
    assert_false(folder.place.joined);
    cluster_data_folder_close(&folder);
    folder_stage_clear(fake->folder.path);
}

/* r[verify cluster.join.place] */
static void the_folder_has_the_metastore_of_the_answer(void **state)
{
    struct cluster_node_joined joined;
    struct fake fake;

    (void)state;
    open_fake(&fake);
    assert_int_equal(join(&fake, IN_ETCD, &joined), 0);
    assert_string_equal(joined.place, "etcd://192.0.2.7:2379/k");
    expect_metastore(&fake, "etcd://192.0.2.7:2379/k");
    assert_int_equal(join_by(&fake, IN_ETCD, "etcds://a:1,b:2/k", &joined), 0);
    expect_metastore(&fake, "etcds://a:1,b:2/k");
    close_fake(&fake);
}

/* r[verify cluster.join.place] */
static void another_metastore_than_that_of_the_answer_is_refused(void **state)
{
    struct cluster_node_joined joined;
    struct fake fake;

    (void)state;
    open_fake(&fake);
    assert_int_equal(join_by(&fake, IN_ETCD, "etcd://192.0.2.7:2379/other", &joined),
                     RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "and not etcd://192.0.2.7:2379/other"));
    assert_int_equal(join_by(&fake, RIGHT, "etcd://192.0.2.7:2379/k", &joined), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "is on the node that was asked"));
    assert_false(folder_stage_has(&fake.folder, "node.id"));
    close_fake(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_answer_is_taken),
        cmocka_unit_test(a_wrong_answer_leaves_the_folder_as_it_was),
        cmocka_unit_test(the_folder_has_the_metastore_of_the_answer),
        cmocka_unit_test(another_metastore_than_that_of_the_answer_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
