/* SPDX-License-Identifier: Apache-2.0 */
/* Sides without a certificate, at a node: one question each, and no place for whoever is rude. */
#include <sys/epoll.h>

#include "cluster/node/join/joiners.h"
#include "tests/unit/cluster-link/tls_stage.h"

#define TAG  100
#define MANY (CLUSTER_JOINERS_MAX + 1)

/* A side that joins, by a connection as the product's. */
struct side {
    int fd;
    struct cluster_tls *session; /* the connection's */
    struct cluster_connection *connection;
    uint8_t type; /* of the last frame that came; 0: none */
    int32_t code;
    uint32_t node;
    char text[300];
    int failure; /* of the connection */
};

struct joining {
    struct stage stage;
    struct cluster_tls_context *pinned;
    struct hub_closer *closer;
    struct cluster_joiners joiners;
    struct side sides[MANY];
    unsigned asked, refused;
    uint64_t number; /* the last that asked */
    const char *rule;
    int verdict; /* of the hook */
};

static int on_join(void *user, uint64_t number, const struct cluster_body_join *join)
{
    struct joining *joining = user;

    assert_int_equal(join->uuid.size, CLUSTER_BODY_UUID);
    joining->asked++;
    joining->number = number;
    return joining->verdict == 0 ? 0
                                 : rapahub_fail(joining->verdict, "cluster.join.token", "a reason");
}

static void on_refused(void *user)
{
    struct joining *joining = user;

    joining->refused++;
    joining->rule = rapahub_last_error()->rule;
}

static const struct cluster_joiners_hooks hooks = {on_join, on_refused};

static int on_frame(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct side *side = user;

    side->type = frame->type;
    if (frame->type == CLUSTER_FRAME_JOIN_OK)
        side->node = body->join_ok.node;
    if (frame->type == CLUSTER_FRAME_CLOSE) {
        side->code = body->close.code;
        snprintf(side->text, sizeof side->text, "%.*s", (int)body->close.text.size,
                 body->close.text.data);
    }
    return 0;
}

static void on_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks side_hooks = {on_frame, on_credit};

static void turn(struct joining *joining)
{
    struct epoll_event events[16];

    for (unsigned round = 0; round < 10; round++) {
        int n = epoll_wait(joining->joiners.epoll, events, 16, 0);

        for (int i = 0; i < n; i++)
            cluster_joiners_serve(&joining->joiners, events[i].data.u32);
        cluster_joiners_do_due(&joining->joiners, hub_clock_now());
        for (unsigned i = 0; i < MANY; i++)
            if (joining->sides[i].connection && joining->sides[i].failure == 0)
                joining->sides[i].failure =
                    cluster_connection_dispatch(joining->sides[i].connection, hub_clock_now());
    }
    rapahub_clear_error();
}

/* A side comes, up to the end of its handshake. */
static void come(struct joining *joining, unsigned at)
{
    struct side *side = &joining->sides[at];
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER,
                                                .anonymous = true,
                                                .deadline_ns = hub_clock_after(60 * HUB_SECOND)};
    struct cluster_tls *node = NULL;
    struct cluster_connection_options how = {.body_max = CLUSTER_FRAME_BODY_MAX,
                                             .closer = joining->closer,
                                             .transport = &cluster_tls_table};
    int fds[2], r = 0;

    make_pair(fds);
    *side = (struct side){.fd = fds[0]};
    side->session = session_of(joining->pinned, fds[0], CLUSTER_TLS_CLIENT);
    assert_int_equal(cluster_tls_create(joining->stage.node, fds[1], &options, &node), 0);
    for (unsigned i = 0; i < 20 && r == 0; i++) {
        assert_true(cluster_tls_handshake(side->session) >= 0);
        r = cluster_tls_handshake(node);
    }
    assert_int_equal(r, 1);
    assert_true(cluster_tls_is_anonymous(node));
    how.session = side->session;
    assert_int_equal(cluster_connection_create(fds[0], &how, &side_hooks, side, &side->connection),
                     0);
    cluster_joiners_take(&joining->joiners, fds[1], node, "192.0.2.9:5");
}

static void go(struct joining *joining, unsigned at)
{
    cluster_connection_release(&joining->sides[at].connection);
}

static void say(struct joining *joining, unsigned at, uint8_t type)
{
    static const char uuid[] = "0123456789abcdef";
    const struct cluster_body body =
        type == CLUSTER_FRAME_JOIN
            ? (struct cluster_body){.join = {.uuid = {uuid, 16},
                                             .token = rapahub_string_of("rh1"),
                                             .request = rapahub_string_of("a request")}}
            : (struct cluster_body){.hello = {.protocol_least = 1,
                                              .protocol_most = 1,
                                              .role = CLUSTER_ROLE_CLIENT,
                                              .origin = UINT64_C(1) << 63 | 5}};

    assert_int_equal(cluster_connection_put(joining->sides[at].connection,
                                            &(struct cluster_frame){.type = type}, &body),
                     0);
    assert_int_equal(cluster_connection_flush(joining->sides[at].connection), 0);
    turn(joining);
}

static unsigned places(const struct joining *joining)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CLUSTER_JOINERS_MAX; i++)
        count += joining->joiners.all[i].connection ? 1 : 0;
    return count;
}

static void open_joining(struct joining *joining)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    *joining = (struct joining){.rule = ""};
    open_stage(&joining->stage);
    assert_int_equal(cluster_certificate_digest(joining->stage.ca.certificate, digest), 0);
    assert_int_equal(cluster_tls_open_pinned(digest, &joining->pinned), 0);
    assert_int_equal(hub_closer_create(&joining->closer), 0);
    cluster_joiners_init(&joining->joiners, epoll, TAG, &hooks, joining);
    joining->joiners.closer = joining->closer;
}

static void close_joining(struct joining *joining)
{
    for (unsigned i = 0; i < MANY; i++)
        if (joining->sides[i].connection)
            go(joining, i);
    cluster_joiners_close(&joining->joiners);
    assert_int_equal(places(joining), 0);
    hub_closer_release(&joining->closer);
    close(joining->joiners.epoll);
    cluster_tls_context_release(&joining->pinned);
    close_stage(&joining->stage);
}

static const struct cluster_body_join_ok good = {.node = 7,
                                                 .revision = 9,
                                                 .cluster = {"0123456789abcdef", 16},
                                                 .certificate = {"c", 1},
                                                 .anchors = {"a", 1}};

/* r[verify cluster.join.only] */
static void one_question_gets_one_answer(void **state)
{
    struct joining joining;

    (void)state;
    open_joining(&joining);
    come(&joining, 0);
    say(&joining, 0, CLUSTER_FRAME_JOIN);
    assert_int_equal(joining.asked, 1);
    assert_int_equal(places(&joining), 1);
    cluster_joiners_answer(&joining.joiners, joining.number + 1, &good); /* another's */
    turn(&joining);
    assert_int_equal(joining.sides[0].type, 0);
    cluster_joiners_answer(&joining.joiners, joining.number, &good);
    cluster_joiners_answer(&joining.joiners, joining.number, &good);
    turn(&joining);
    assert_int_equal(joining.sides[0].type, CLUSTER_FRAME_JOIN_OK);
    assert_int_equal(joining.sides[0].node, 7);
    assert_int_equal(places(&joining), 0);
    assert_int_equal(joining.refused, 0);
    close_joining(&joining);
}

/* r[verify cluster.join.only] */
static void anything_else_is_refused_in_words(void **state)
{
    struct joining joining;

    (void)state;
    open_joining(&joining);
    come(&joining, 0);
    say(&joining, 0, CLUSTER_FRAME_HELLO);
    assert_int_equal(joining.sides[0].type, CLUSTER_FRAME_CLOSE);
    assert_int_equal(joining.sides[0].code, RAPAHUB_EACCES);
    assert_non_null(strstr(joining.sides[0].text, "it says HELLO"));
    assert_string_equal(joining.rule, "cluster.join.only");
    assert_int_equal(places(&joining), 0);
    come(&joining, 1);
    say(&joining, 1, CLUSTER_FRAME_JOIN);
    say(&joining, 1, CLUSTER_FRAME_JOIN); /* twice */
    assert_int_equal(joining.asked, 1);
    assert_int_equal(joining.sides[1].code, RAPAHUB_EACCES);
    cluster_joiners_answer(&joining.joiners, joining.number, &good); /* it has gone */
    joining.verdict = RAPAHUB_ESTATE;
    come(&joining, 2);
    say(&joining, 2, CLUSTER_FRAME_JOIN);
    assert_int_equal(joining.sides[2].code, RAPAHUB_ESTATE);
    assert_string_equal(joining.sides[2].text, "a reason");
    assert_int_equal(joining.refused, 3);
    assert_int_equal(places(&joining), 0);
    close_joining(&joining);
}

/* r[verify cluster.join.only] */
static void bytes_that_are_no_frame_end_it(void **state)
{
    struct joining joining;
    char rubbish[200];

    (void)state;
    open_joining(&joining);
    come(&joining, 0);
    memset(rubbish, 'x', sizeof rubbish);
    assert_int_equal(cluster_tls_table.send(joining.sides[0].session, joining.sides[0].fd, rubbish,
                                            sizeof rubbish, NULL),
                     sizeof rubbish);
    turn(&joining);
    assert_int_equal(joining.asked, 0);
    assert_string_equal(joining.rule, "cluster.frame.checksum");
    assert_int_equal(places(&joining), 0);
    close_joining(&joining);
}

/* r[verify cluster.join.bounds] */
static void there_are_few_and_the_oldest_goes(void **state)
{
    struct joining joining;

    (void)state;
    open_joining(&joining);
    for (unsigned i = 0; i < MANY - 1; i++)
        come(&joining, i);
    say(&joining, 0, CLUSTER_FRAME_JOIN); /* it has asked, and stays */
    assert_int_equal(places(&joining), CLUSTER_JOINERS_MAX);
    come(&joining, MANY - 1);
    turn(&joining);
    assert_int_equal(places(&joining), CLUSTER_JOINERS_MAX);
    assert_int_equal(joining.sides[0].type, 0);
    assert_int_equal(joining.sides[1].code, RAPAHUB_EBUSY);
    assert_string_equal(joining.rule, "cluster.join.bounds");
    say(&joining, MANY - 1, CLUSTER_FRAME_JOIN);
    for (unsigned i = 2; i < MANY - 1; i++)
        say(&joining, i, CLUSTER_FRAME_JOIN);
    go(&joining, 1);
    come(&joining, 1); /* all have asked: it is the one who goes */
    turn(&joining);
    assert_int_equal(joining.sides[1].code, RAPAHUB_EBUSY);
    assert_int_equal(places(&joining), CLUSTER_JOINERS_MAX);
    close_joining(&joining);
}

/* r[verify cluster.join.bounds] */
static void each_has_its_time(void **state)
{
    struct joining joining;
    uint64_t due;

    (void)state;
    open_joining(&joining);
    assert_true(cluster_joiners_due(&joining.joiners) == HUB_NEVER);
    come(&joining, 0);
    come(&joining, 1);
    say(&joining, 1, CLUSTER_FRAME_JOIN);
    due = cluster_joiners_due(&joining.joiners);
    assert_true(due <= hub_clock_after(CLUSTER_JOINERS_NS));
    cluster_joiners_do_due(&joining.joiners, due - 1);
    assert_int_equal(places(&joining), 2);
    cluster_joiners_do_due(&joining.joiners, hub_clock_after(CLUSTER_JOINERS_NS));
    turn(&joining);
    assert_int_equal(places(&joining), 0);
    assert_int_equal(joining.sides[0].code, RAPAHUB_ETIMEDOUT);
    assert_int_equal(joining.sides[1].code, RAPAHUB_ETIMEDOUT);
    go(&joining, 0);
    come(&joining, 0);
    go(&joining, 0); /* it hangs up, and nobody minds */
    turn(&joining);
    assert_int_equal(places(&joining), 0);
    assert_int_equal(joining.refused, 2);
    close_joining(&joining);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question_gets_one_answer),
        cmocka_unit_test(anything_else_is_refused_in_words),
        cmocka_unit_test(bytes_that_are_no_frame_end_it),
        cmocka_unit_test(there_are_few_and_the_oldest_goes),
        cmocka_unit_test(each_has_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
