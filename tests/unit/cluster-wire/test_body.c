/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/body.h"
#include "tests/unit/cluster-wire/body_stage.h"

static const struct cluster_body_member members[] = {{7, 0x30000}, {4095, 0}};

static const struct cluster_update updates[] = {{2, 9, 1, 3, CLUSTER_DATAGRAM_SUSPECTED},
                                                {3, 8, 0, 3, CLUSTER_DATAGRAM_LEFT}};

static const struct cluster_body
    hello = {.hello = {.protocol_least = 1,
                       .protocol_most = 2,
                       .role = CLUSTER_ROLE_NODE,
                       .cluster = TEXT("0123456789abcdef"),
                       .node = 3,
                       .boot = 4,
                       .origin = 5,
                       .features = 6,
                       .revision = 7,
                       .retry_ns = 8}},
    client = {.hello = {.protocol_least = 1,
                        .protocol_most = 1,
                        .role = CLUSTER_ROLE_CLIENT,
                        .origin = CLIENT,
                        .retry_ns = CLUSTER_BODY_RETRY_MAX}},
    call = {.call = {.class = CLUSTER_CLASS_REPEAT,
                     .maybe = true,
                     .mode = CLUSTER_MODE_DIRECT,
                     .lineage = 0x30001,
                     .left_us = 1000000,
                     .method_id = UINT64_C(0xfedcba9876543210),
                     .root_origin = CLIENT,
                     .root_number = 9,
                     .order = 2,
                     .order_prev = 3,
                     .done_below = 4,
                     .sources = 1,
                     .sinks = 2,
                     .arguments = TEXT("arguments"),
                     .members = {.of = members, .count = 2}}},
    result = {.result = {.status = RAPAHUB_EAPPLICATION,
                         .application = -7,
                         .lineage = 0x30001,
                         .text = TEXT("no such account"),
                         .payload = TEXT("payload")}},
    nack = {.nack = {.reason = CLUSTER_NACK_MOVED,
                     .after_ms = 10,
                     .owner = 3,
                     .epoch = 5,
                     .lineage = 0x30000,
                     .text = TEXT("it has moved")}},
    credit = {.credit = {CLUSTER_CREDIT_BULK, 65536}},
    closing = {.close = {RAPAHUB_EPROTOCOL, TEXT("a bad frame")}},
    resolved = {.resolved = {{.of = members, .count = 2}}}, open = {.bulk_open = {15, true}},
    reset = {.bulk_reset = {RAPAHUB_ERESET}}, share = {.share = {1 << 20}},
    shared = {.shared = {.peer = 255, .waiting = 3}},
    piece = {.piece = {false, TEXT("the end of a message")}},
    step = {.step_done = {.pool = POOL,
                          .container = 3,
                          .epoch = 7,
                          .step = CLUSTER_STEP_FAILED,
                          .status = RAPAHUB_EDIED,
                          .text = TEXT("its guest died")}},
    ask = {.blob_ask = {DIGEST, 1}},
    part = {.blob_part = {.digest = DIGEST,
                          .offset = CLUSTER_BODY_PIECE_MAX,
                          .size = CLUSTER_BODY_PIECE_MAX +
                                  3,
                          .part = TEXT("end")}},
    no_part = {.blob_part = {.digest = DIGEST,
                             .status = RAPAHUB_ENOENT,
                             .text = TEXT("there is none")}},
    join = {.join = {.uuid = TEXT("0123456789abcdef"),
                     .token = TEXT("rh1.0123456789abcdef.0"),
                     .name = TEXT("west"),
                     .request = TEXT("a request")}},
    joined = {.join_ok = {.node = 2,
                          .revision = 9,
                          .cluster = TEXT("0123456789abcdef"),
                          .certificate = TEXT("a certificate"),
                          .anchors = TEXT("authorities"),
                          .place = TEXT("etcd://192.0.2.7:2379/k")}},
    renew = {.renew = {TEXT("a request")}},
    renewed = {.renewed = {.certificate = TEXT("a certificate")}},
    unrenewed = {.renewed = {.status = RAPAHUB_EACCES, .text = TEXT("it has left")}},
    death = {.death = {.node = 3, .boot = 2, .session = 40, .final = true}},
    push_pull = {.push_pull = {.answer = true, .updates = {.of = updates, .count = 2}}},
    probe = {.link_probe = {true, 77}},
    key = {.datagram_key = {9, TEXT("0123456789abcdef0123456789abcdef")}},
    unshared = {.shared = {.status = RAPAHUB_EFULL, .text = TEXT("no place")}};

static const struct {
    uint8_t type;
    const struct cluster_body *body;
} bodies[] = {
    {CLUSTER_FRAME_HELLO, &hello},         {CLUSTER_FRAME_HELLO_OK, &client},
    {CLUSTER_FRAME_CREDIT, &credit},       {CLUSTER_FRAME_CLOSE, &closing},
    {CLUSTER_FRAME_CALL, &call},           {CLUSTER_FRAME_RESULT, &result},
    {CLUSTER_FRAME_NACK, &nack},           {CLUSTER_FRAME_RESOLVED, &resolved},
    {CLUSTER_FRAME_EACH, &result},         {CLUSTER_FRAME_BULK_OPEN, &open},
    {CLUSTER_FRAME_SHARE, &share},         {CLUSTER_FRAME_BULK_RESET, &reset},
    {CLUSTER_FRAME_SHARED, &shared},       {CLUSTER_FRAME_SHARED, &unshared},
    {CLUSTER_FRAME_STORE_REQUEST, &piece}, {CLUSTER_FRAME_STORE_REPLY, &piece},
    {CLUSTER_FRAME_STORE_EVENT, &piece},   {CLUSTER_FRAME_JOIN, &join},
    {CLUSTER_FRAME_BLOB_ASK, &ask},        {CLUSTER_FRAME_BLOB_PART, &part},
    {CLUSTER_FRAME_BLOB_PART, &no_part},   {CLUSTER_FRAME_JOIN_OK, &joined},
    {CLUSTER_FRAME_STEP_DONE, &step},      {CLUSTER_FRAME_PUSH_PULL, &push_pull},
    {CLUSTER_FRAME_RENEW, &renew},         {CLUSTER_FRAME_RENEWED, &renewed},
    {CLUSTER_FRAME_RENEWED, &unrenewed},   {CLUSTER_FRAME_LINK_PROBE, &probe},
    {CLUSTER_FRAME_DATAGRAM_KEY, &key},    {CLUSTER_FRAME_DEATH, &death},
};
#define BODIES (sizeof bodies / sizeof *bodies)

/* r[verify cluster.client.shared] */
static void a_segment_that_can_be_none_is_refused(void **state)
{
    static const struct cluster_body wrong[] = {{.shared = {.peer = 0}},
                                                {.shared = {.peer = 256}},
                                                {.shared = {.status = 1, .peer = 1}},
                                                {.shared = {.status = -1, .peer = 1}},
                                                {.shared = {.peer = 1, .waiting = 4}}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(put(CLUSTER_FRAME_SHARED, &wrong[i]), RAPAHUB_EINVAL);
}

/* r[verify cluster.death.certificate] */
static void a_death_of_no_life_is_refused(void **state)
{
    static const struct cluster_body wrong[] = {
        {.death = {.node = 0, .boot = 2, .session = 40}},
        {.death = {.node = 3, .boot = 0, .session = 40}},
        {.death = {.node = 3, .boot = 2, .session = 0}},
        {.death = {.node = 3, .boot = 2, .session = UINT64_MAX}}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(put(CLUSTER_FRAME_DEATH, &wrong[i]), RAPAHUB_EINVAL);
}

/* r[verify cluster.wire.strict] */
static void a_body_of_each_type_is_read_and_written_again_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < BODIES; i++) {
        struct written first = write_body(bodies[i].type, bodies[i].body), second;
        struct cluster_body out;

        assert_int_equal(first.data[0], CLUSTER_FORMAT_FIRST);
        assert_int_equal(cluster_body_read(bodies[i].type, written_bytes(&first), &out), 0);
        second = write_body(bodies[i].type, &out);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        written_release(&first);
        written_release(&second);
    }
}

/* r[verify cluster.body.call] */
static void a_call_keeps_all_that_it_says(void **state)
{
    struct written written = write_body(CLUSTER_FRAME_CALL, &call);
    struct cluster_body_member member;
    struct cluster_body out;

    (void)state;
    assert_int_equal(cluster_body_read(CLUSTER_FRAME_CALL, written_bytes(&written), &out), 0);
    assert_int_equal(out.call.class, CLUSTER_CLASS_REPEAT);
    assert_true(out.call.maybe);
    assert_false(out.call.collect);
    assert_int_equal(out.call.lineage, 0x30001);
    assert_int_equal(out.call.left_us, 1000000);
    assert_int_equal(out.call.method_id, UINT64_C(0xfedcba9876543210));
    assert_int_equal(out.call.root_origin, CLIENT);
    assert_int_equal(out.call.root_number, 9);
    assert_int_equal(out.call.order, 2);
    assert_int_equal(out.call.order_prev, 3);
    assert_int_equal(out.call.done_below, 4);
    assert_int_equal(out.call.sources, 1);
    assert_int_equal(out.call.sinks, 2);
    assert_int_equal(out.call.arguments.size, 9);
    assert_memory_equal(out.call.arguments.data, "arguments", 9);
    assert_true(cluster_body_next_member(&out.call.members, &member));
    assert_int_equal(member.container, 7);
    assert_int_equal(member.lineage, 0x30000);
    assert_true(cluster_body_next_member(&out.call.members, &member));
    assert_int_equal(member.container, 4095);
    assert_false(cluster_body_next_member(&out.call.members, &member));
    written_release(&written);
}

/* r[verify cluster.wire.strict] */
static void a_body_that_is_cut_or_longer_is_refused(void **state)
{
    struct cluster_body out;

    (void)state;
    for (size_t i = 0; i < BODIES; i++) {
        struct written all = write_body(bodies[i].type, bodies[i].body);

        for (size_t size = 0; size < all.size; size++) {
            struct written cut = written_cut(&all, size);

            assert_int_equal(cluster_body_read(bodies[i].type, written_bytes(&cut), &out),
                             RAPAHUB_EFORMAT);
            written_release(&cut);
        }
        all.data = realloc(all.data, all.size + 1);
        assert_non_null(all.data);
        all.data[all.size++] = 0;
        assert_int_equal(cluster_body_read(bodies[i].type, written_bytes(&all), &out),
                         RAPAHUB_EFORMAT);
        written_release(&all);
    }
}

/* r[verify cluster.wire.strict] */
static void some_frames_have_no_body(void **state)
{
    const uint8_t none[] = {CLUSTER_FRAME_PING, CLUSTER_FRAME_PONG, CLUSTER_FRAME_ACK,
                            CLUSTER_FRAME_CANCEL, CLUSTER_FRAME_BULK_DONE};
    struct cluster_body out;

    (void)state;
    for (size_t i = 0; i < sizeof none; i++) {
        assert_int_equal(cluster_body_read(none[i], (struct rapahub_bytes){NULL, 0}, &out), 0);
        assert_int_equal(cluster_body_read(none[i], (struct rapahub_bytes){"\1", 1}, &out),
                         RAPAHUB_EFORMAT);
        assert_int_equal(put(none[i], &out), 0);
    }
    assert_int_equal(
        cluster_body_read(CLUSTER_FRAME_BULK_DATA, (struct rapahub_bytes){"\1", 1}, &out),
        RAPAHUB_EINVAL);
    assert_int_equal(put(CLUSTER_FRAME_BULK_DATA, &out), RAPAHUB_EINVAL);
    assert_int_equal(put(99, &out), RAPAHUB_EINVAL);
}

/* The body with members changed, as in `call.order = 0, changed.call.order_prev = 0`. */
#define REFUSES(type, what, ...)                                               \
    do {                                                                       \
        struct cluster_body changed = what;                                    \
        changed.__VA_ARGS__;                                                   \
        assert_int_equal(put(CLUSTER_FRAME_##type, &changed), RAPAHUB_EINVAL); \
    } while (0)
#define TAKES(type, what, ...)                                    \
    do {                                                          \
        struct cluster_body changed = what;                       \
        changed.__VA_ARGS__;                                      \
        assert_int_equal(put(CLUSTER_FRAME_##type, &changed), 0); \
    } while (0)

/* r[verify cluster.join.body] */
static void a_join_says_all_that_it_must_and_no_more(void **state)
{
    static const char long_text[CLUSTER_BODY_ANCHORS_MAX + 1];

    (void)state;
    TAKES(JOIN, join, join.name.size = 0);
    TAKES(JOIN, join, join.token.size = 0); /* that is refused in words */
    REFUSES(JOIN, join, join.uuid.size = 15);
    REFUSES(JOIN, join, join.name = rapahub_string_of("no name"));
    REFUSES(JOIN, join, join.request.size = 0);
    TAKES(JOIN, join, join.request = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX});
    REFUSES(JOIN, join,
            join.request = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX + 1});
    TAKES(JOIN, join, join.token = (struct rapahub_string){long_text, CLUSTER_BODY_TOKEN_MAX});
    REFUSES(JOIN, join,
            join.token = (struct rapahub_string){long_text, CLUSTER_BODY_TOKEN_MAX + 1});
}

/* r[verify cluster.join.body] */
static void who_has_joined_gets_all_that_a_node_needs(void **state)
{
    static const char long_text[CLUSTER_BODY_ANCHORS_MAX + 1];

    (void)state;
    TAKES(JOIN_OK, joined, join_ok.place.size = 0);
    REFUSES(JOIN_OK, joined, join_ok.node = 0);
    REFUSES(JOIN_OK, joined, join_ok.revision = 0);
    REFUSES(JOIN_OK, joined, join_ok.cluster.size = 15);
    REFUSES(JOIN_OK, joined, join_ok.certificate.size = 0);
    REFUSES(JOIN_OK, joined, join_ok.anchors.size = 0);
    REFUSES(JOIN_OK, joined,
            join_ok.certificate = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX + 1});
    TAKES(JOIN_OK, joined,
          join_ok.anchors = (struct rapahub_string){long_text, CLUSTER_BODY_ANCHORS_MAX});
    REFUSES(JOIN_OK, joined,
            join_ok.anchors = (struct rapahub_string){long_text, CLUSTER_BODY_ANCHORS_MAX + 1});
    REFUSES(JOIN_OK, joined,
            join_ok.place = (struct rapahub_string){long_text, CLUSTER_BODY_PLACE_MAX + 1});
}

/* r[verify cluster.renewal.body] */
static void a_renewal_has_a_certificate_or_says_why_not(void **state)
{
    static const char long_text[CLUSTER_BODY_PEM_MAX + 1];

    (void)state;
    TAKES(RENEW, renew, renew.request = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX});
    REFUSES(RENEW, renew,
            renew.request = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX + 1});
    REFUSES(RENEW, renew, renew.request.size = 0);
    REFUSES(RENEWED, renewed, renewed.certificate.size = 0);
    REFUSES(RENEWED, renewed,
            renewed.certificate = (struct rapahub_string){long_text, CLUSTER_BODY_PEM_MAX + 1});
    REFUSES(RENEWED, renewed, renewed.text = rapahub_string_of("well"));
    REFUSES(RENEWED, renewed, renewed.status = 1);
    REFUSES(RENEWED, renewed, renewed.status = -1);
    TAKES(RENEWED, unrenewed, renewed.text.size = 0);
    TAKES(RENEWED, unrenewed,
          renewed.text = (struct rapahub_string){long_text, CLUSTER_BODY_RENEW_TEXT});
    REFUSES(RENEWED, unrenewed,
            renewed.text = (struct rapahub_string){long_text, CLUSTER_BODY_RENEW_TEXT + 1});
    REFUSES(RENEWED, unrenewed, renewed.certificate = rapahub_string_of("one"));
}

/* r[verify cluster.body.hello] */
static void who_says_hello_is_a_node_or_a_client(void **state)
{
    (void)state;
    REFUSES(HELLO, hello, hello.protocol_least = 0);
    REFUSES(HELLO, hello, hello.protocol_least = 3);
    TAKES(HELLO, hello, hello.protocol_least = 2);
    REFUSES(HELLO, hello, hello.role = 0);
    REFUSES(HELLO, hello, hello.role = 3);
    REFUSES(HELLO, hello, hello.cluster.size = 0);
    REFUSES(HELLO, hello, hello.cluster.size = 15);
    REFUSES(HELLO, client, hello.cluster = hello.hello.cluster, changed.hello.cluster.size = 15);
    TAKES(HELLO, client, hello.cluster = hello.hello.cluster);
    REFUSES(HELLO, hello, hello.node = 0);
    REFUSES(HELLO, hello, hello.boot = 0);
    REFUSES(HELLO, client, hello.node = 1);
    REFUSES(HELLO, client, hello.boot = 1);
    REFUSES(HELLO, hello, hello.origin = CLIENT);
    TAKES(HELLO, hello, hello.origin = 0); /* it has no session yet */
    REFUSES(HELLO, client, hello.origin = 0);
    REFUSES(HELLO, client, hello.origin = 5);
    REFUSES(HELLO, hello, hello.revision = UINT64_C(1) << 63 | 1);
    TAKES(HELLO, hello, hello.revision = 0);
    REFUSES(HELLO, client, hello.revision = 1);
    REFUSES(HELLO, client, hello.retry_ns = CLUSTER_BODY_RETRY_MAX + 1);
}

/* r[verify cluster.body.call] */
static void a_call_that_nobody_makes_is_refused(void **state)
{
    (void)state;
    REFUSES(CALL, call, call.class = CLUSTER_CLASSES);
    REFUSES(CALL, call, call.lineage = 5);
    TAKES(CALL, call, call.lineage = 0);
    REFUSES(CALL, call, call.root_number = 0);
    REFUSES(CALL, call, call.root_origin = 0);
    TAKES(CALL, call, call.root_number = changed.call.root_origin = 0);
    REFUSES(CALL, call, call.order = 0);
    TAKES(CALL, call, call.order = 0, changed.call.order_prev = 0);
    REFUSES(CALL, call, call.sinks = 3);
    REFUSES(CALL, call, call.sinks = 1 << 16);
    REFUSES(CALL, call, call.sources = 1 << 16);
    REFUSES(CALL, call, call.sources = 1 << 15); /* the indexes have no gaps */
    TAKES(CALL, call, call.sources = 0xfffd);
}

/* r[verify cluster.body.call] */
static void a_query_has_the_members_of_its_mode(void **state)
{
    (void)state;
    REFUSES(CALL, call, call.mode = CLUSTER_MODES);
    REFUSES(CALL, call, call.number = 1);
    REFUSES(CALL, call, call.offset = 1);
    REFUSES(CALL, call, call.count = 1);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_HASH, changed.call.number = UINT64_MAX);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_PHYSICAL, changed.call.number = 1);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_PHYSICAL, changed.call.number = UINT32_MAX);
    REFUSES(CALL, call, call.mode = CLUSTER_MODE_PHYSICAL);
    REFUSES(CALL, call, call.mode = CLUSTER_MODE_PHYSICAL,
            changed.call.number = (uint64_t)UINT32_MAX + 1);
    REFUSES(CALL, call, call.mode = CLUSTER_MODE_RANGE);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_RANGE, changed.call.count = 4096,
          changed.call.offset = 4095);
    REFUSES(CALL, call, call.mode = CLUSTER_MODE_RANGE, changed.call.count = 4097);
    REFUSES(CALL, call, call.mode = CLUSTER_MODE_RANGE, changed.call.count = 1,
            changed.call.offset = 4096);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_DYNAMIC);
    TAKES(CALL, call, call.mode = CLUSTER_MODE_DYNAMIC, changed.call.number = UINT64_MAX);
}

/* r[verify cluster.wire.strict] */
static void an_answer_that_no_node_gives_is_refused(void **state)
{
    static char text[CLUSTER_BODY_TEXT_MAX + 1];
    const struct rapahub_string most = {text, sizeof text - 1}, more = {text, sizeof text};
    const struct cluster_body_member bad[] = {{4096, 0}, {1, 5}};

    (void)state;
    REFUSES(RESULT, result, result.lineage = 5);
    TAKES(RESULT, result, result.lineage = 0);
    REFUSES(RESULT, result, result.text = more);
    TAKES(RESULT, result, result.text = most);
    REFUSES(CLOSE, closing, close.text = more);
    REFUSES(NACK, nack, nack.text = more);
    REFUSES(NACK, nack, nack.reason = 0);
    REFUSES(NACK, nack, nack.reason = CLUSTER_NACK_END);
    TAKES(NACK, nack, nack.reason = CLUSTER_NACK_HOPS);
    REFUSES(NACK, nack, nack.epoch = UINT64_C(1) << 36);
    TAKES(NACK, nack, nack.epoch = (UINT64_C(1) << 36) - 1);
    REFUSES(NACK, nack, nack.lineage = 5);
    REFUSES(CREDIT, credit, credit.kind = CLUSTER_CREDIT_KINDS);
    REFUSES(CREDIT, credit, credit.bytes = 0);
    REFUSES(BULK_OPEN, open, bulk_open.index = 16);
    REFUSES(RESOLVED, resolved, resolved.members.of = &bad[0], changed.resolved.members.count = 1);
    REFUSES(RESOLVED, resolved, resolved.members.of = &bad[1], changed.resolved.members.count = 1);
    REFUSES(RESOLVED, resolved, resolved.members.count = 4097);
    REFUSES(CALL, call, call.members.of = &bad[0], changed.call.members.count = 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_that_can_be_none_is_refused),
        cmocka_unit_test(a_death_of_no_life_is_refused),
        cmocka_unit_test(a_body_of_each_type_is_read_and_written_again_the_same),
        cmocka_unit_test(a_call_keeps_all_that_it_says),
        cmocka_unit_test(a_body_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(some_frames_have_no_body),
        cmocka_unit_test(a_join_says_all_that_it_must_and_no_more),
        cmocka_unit_test(who_has_joined_gets_all_that_a_node_needs),
        cmocka_unit_test(a_renewal_has_a_certificate_or_says_why_not),
        cmocka_unit_test(who_says_hello_is_a_node_or_a_client),
        cmocka_unit_test(a_call_that_nobody_makes_is_refused),
        cmocka_unit_test(a_query_has_the_members_of_its_mode),
        cmocka_unit_test(an_answer_that_no_node_gives_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
