/* SPDX-License-Identifier: Apache-2.0 */
/* An end that only calls: it attaches by descriptors, as a process that received them would, to a
 * host that is this test. */
#include <fcntl.h>

#include "hub/connection/attach.h"
#include "tests/support/leak.h"
#include "tests/unit/link/pair.h"

#define CALLS 1000

/* The host's end, and the descriptors that were sent. */
struct rig {
    struct leak *leak;
    struct pair pair;
    int segment, doorbell;
    char path[64];
};

static void open_rig(struct rig *rig)
{
    const struct hub_limits limits = pair_limits();
    struct pair *pair = &rig->pair;

    memset(rig, 0, sizeof *rig);
    rig->leak = leak_begin();
    assert_int_equal(hub_segment_create(&limits, false, &pair->host.segment), 0);
    assert_int_equal(hub_peer_table_reserve(pair->host.segment, &pair->peer, &pair->epoch), 0);
    hub_segment_view(pair->host.segment, pair->peer, &pair->host.view);
    assert_int_equal(hub_doorbell_create(&pair->host.doorbell, &rig->doorbell), 0);
    pair_open_end(pair, &pair->host, HUB_ROLE_HOST);
    rig->segment = fcntl(pair->host.segment->mapping.fd, F_DUPFD_CLOEXEC, 90);
    snprintf(rig->path, sizeof rig->path, "/proc/self/fd/%d", rig->segment);
}

static void close_rig(struct rig *rig)
{
    pair_close_end(&rig->pair.host);
    leak_assert_none(rig->leak);
}

static int attach(const struct rig *rig, struct hub_attach *attach, struct end *user)
{
    const struct hub_connection_events events = {pair_on_request,
                                                 pair_on_ready,
                                                 pair_on_pending,
                                                 pair_on_close,
                                                 pair_on_hint,
                                                 pair_on_goodbye,
                                                 user,
                                                 NULL};

    *attach = (struct hub_attach){
        .ticket = {.hub_path = rig->path, .peer = rig->pair.peer, .doorbell = rig->doorbell}};
    return hub_attach_open(attach, &events);
}

/* A call to the host, which answers with its argument. */
static int call(struct hub_calls *calls, uint8_t byte)
{
    const uint8_t payload[] = {0, byte}; /* no metadata */
    struct hub_answer answer = {0};
    const struct hub_call order = {.method_id = 1,
                                   .payload = {.head = {payload, sizeof payload}},
                                   .deadline_ns = hub_clock_after(SOON),
                                   .answer = &answer};
    struct hub_response response;
    struct hub_reader reader;
    uint64_t number;
    int r = hub_calls_begin(calls, &order, &number);

    if (r == 0)
        r = hub_calls_wait(calls, number, false);
    if (r == 0) {
        hub_reader_init(&reader, answer.data, answer.size);
        assert_int_equal(hub_response_decode(&reader, &response), 0);
        assert_int_equal(response.kind, HUB_RESPONSE_OK);
        assert_int_equal(*reader.at, byte);
    }
    hub_responses_fini(&answer);
    return r;
}

static void stop_host(struct rig *rig, pthread_t thread)
{
    hub_link_close(rig->pair.host.connection.link, RAPAHUB_ECLOSED, "");
    pthread_join(thread, NULL);
}

/* r[verify shm.spawn.guest-init] r[verify hub.spawn.closed] */
static void descriptors_make_an_end_that_calls(void **state)
{
    struct hub_attach attached;
    struct end user = {.doorbell = -1};
    pthread_t thread;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_int_equal(attach(&rig, &attached, &user), 0);
    assert_int_equal(hub_observe(&rig.pair.host.view.entry->state), HUB_PEER_ATTACHED);
    assert_int_equal(attached.epoch, rig.pair.epoch);
    assert_int_equal(fcntl(rig.segment, F_GETFD), -1); /* a sealed segment needs none */
    assert_true(fcntl(rig.doorbell, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(pthread_create(&thread, NULL, pair_echo, &rig.pair.host), 0);
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(call(attached.connection.calls, (uint8_t)i), 0);
    stop_host(&rig, thread);
    hub_attach_close(&attached);
    close_rig(&rig);
}

/* r[verify shm.spawn.guest-init] */
static void a_second_end_finds_the_ticket_spent(void **state)
{
    struct hub_attach attached, other;
    struct end user = {.doorbell = -1};
    struct rig rig, copy;

    (void)state;
    open_rig(&rig);
    copy = rig;
    copy.segment = fcntl(rig.segment, F_DUPFD_CLOEXEC, 90);
    copy.doorbell = fcntl(rig.doorbell, F_DUPFD_CLOEXEC, 0);
    snprintf(copy.path, sizeof copy.path, "/proc/self/fd/%d", copy.segment);
    assert_int_equal(attach(&rig, &attached, &user), 0);
    assert_int_equal(attach(&copy, &other, &user), RAPAHUB_ESTALE);
    hub_attach_close(&other);
    close(copy.segment); /* nothing was mapped by it */
    assert_int_equal(hub_observe(&rig.pair.host.view.entry->state), HUB_PEER_ATTACHED);
    assert_int_equal(hub_link_ours(attached.connection.link), true);
    hub_attach_close(&attached);
    close_rig(&rig);
}

static void an_end_whose_host_is_gone_does_not_attach(void **state)
{
    struct hub_attach attached;
    struct end user = {.doorbell = -1};
    struct rig rig;

    (void)state;
    open_rig(&rig);
    close(rig.pair.host.doorbell);
    rig.pair.host.doorbell = -1;
    assert_int_equal(attach(&rig, &attached, &user), RAPAHUB_EDIED);
    assert_int_equal(hub_observe(&rig.pair.host.view.entry->state), HUB_PEER_RESERVED);
    hub_attach_close(&attached);
    close_rig(&rig);
}

static void what_was_never_opened_can_be_closed(void **state)
{
    struct hub_attach attached = {.epoch = 0};

    (void)state;
    hub_attach_close(&attached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_make_an_end_that_calls),
        cmocka_unit_test(a_second_end_finds_the_ticket_spent),
        cmocka_unit_test(an_end_whose_host_is_gone_does_not_attach),
        cmocka_unit_test(what_was_never_opened_can_be_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
