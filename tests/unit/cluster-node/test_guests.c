/* SPDX-License-Identifier: Apache-2.0 */
/* The guest of a pool, beside a host, a disk and a machine that the test plays. */
#include <rapahub/error.h>
#include <rapahub/supervise.h>

#include "cluster/node/guests/guests.h"
#include "hub/base/clock.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL UINT64_C(0x0000010000000000)
#define PID  4711

static struct {
    struct cluster_pool_records *pools;
    struct cluster_guests *guests;
    struct pool_records records;
    cluster_disk_on_done *on_done; /* of the request that is open */
    void *user;
    int start; /* what the machine says of the process */
    unsigned looks, ready;
} stage;

static struct rapahub_supervisor *supervisor(void)
{
    return (struct rapahub_supervisor *)(void *)&stage;
}

int __wrap_rapahub_host_supervisor(struct rapahub_host *host, struct rapahub_supervisor **out);
int __wrap_rapahub_host_supervisor(struct rapahub_host *host, struct rapahub_supervisor **out)
{
    (void)host;
    *out = supervisor();
    return 0;
}

int __wrap_rapahub_supervisor_create(struct rapahub_supervisor *parent,
                                     const struct rapahub_supervisor_options *options,
                                     struct rapahub_supervisor **out);
int __wrap_rapahub_supervisor_create(struct rapahub_supervisor *parent,
                                     const struct rapahub_supervisor_options *options,
                                     struct rapahub_supervisor **out)
{
    (void)parent;
    (void)options;
    *out = supervisor();
    return 0;
}

int __wrap_rapahub_supervisor_observe(struct rapahub_supervisor *of,
                                      const struct rapahub_observer_options *options,
                                      struct rapahub_observer **out);
int __wrap_rapahub_supervisor_observe(struct rapahub_supervisor *of,
                                      const struct rapahub_observer_options *options,
                                      struct rapahub_observer **out)
{
    (void)of;
    (void)options;
    *out = NULL;
    return 0;
}

/* There is one event. */
int __wrap_rapahub_observer_read(struct rapahub_observer *observer,
                                 struct rapahub_observation *list, size_t max, size_t *out);
int __wrap_rapahub_observer_read(struct rapahub_observer *observer,
                                 struct rapahub_observation *list, size_t max, size_t *out)
{
    (void)observer;
    (void)list;
    (void)max;
    *out = 1;
    return 0;
}

int __wrap_rapahub_supervisor_add(struct rapahub_supervisor *to,
                                  const struct rapahub_guest_options *options,
                                  struct rapahub_child_id *out);
int __wrap_rapahub_supervisor_add(struct rapahub_supervisor *to,
                                  const struct rapahub_guest_options *options,
                                  struct rapahub_child_id *out)
{
    (void)to;
    (void)options;
    out->number = 1;
    return 0;
}

int __wrap_rapahub_child_status(struct rapahub_host *host, struct rapahub_child_id child,
                                struct rapahub_child_status *out);
int __wrap_rapahub_child_status(struct rapahub_host *host, struct rapahub_child_id child,
                                struct rapahub_child_status *out)
{
    (void)host;
    *out = (struct rapahub_child_status){
        .child = child, .state = "ready", .incarnation = 1, .pid = PID};
    return 0;
}

int __wrap_cluster_blob_fetches_get(struct cluster_blob_fetches *fetches, const uint8_t *digest,
                                    cluster_disk_on_done *on_done, void *user);
int __wrap_cluster_blob_fetches_get(struct cluster_blob_fetches *fetches, const uint8_t *digest,
                                    cluster_disk_on_done *on_done, void *user)
{
    (void)fetches;
    (void)digest;
    stage.on_done = on_done;
    stage.user = user;
    return 0;
}

int __wrap_cluster_store_thread_guest_came(struct cluster_store_thread *thread,
                                           struct cluster_guest_record guest,
                                           cluster_disk_on_done *on_done, void *user);
int __wrap_cluster_store_thread_guest_came(struct cluster_store_thread *thread,
                                           struct cluster_guest_record guest,
                                           cluster_disk_on_done *on_done, void *user)
{
    (void)thread;
    assert_int_equal(guest.pid, PID);
    stage.on_done = on_done;
    stage.user = user;
    return 0;
}

int __wrap_cluster_machine_start_of(pid_t pid, uint64_t *out);
int __wrap_cluster_machine_start_of(pid_t pid, uint64_t *out)
{
    assert_int_equal(pid, PID);
    stage.looks++;
    *out = 5;
    return stage.start < 0 ? rapahub_fail(stage.start, "", "/proc cannot be read") : 0;
}

static void note_ready(void *user, struct cluster_guest *guest)
{
    (void)user;
    (void)guest;
    stage.ready++;
}

static void ignore(void *user, struct cluster_guest *guest)
{
    (void)user;
    (void)guest;
}

static const struct cluster_guests_hooks hooks = {note_ready, ignore, ignore, ignore};

static int open_stage(void **state)
{
    const struct pool_records_pool kv = {.name = "kv", .containers = 1};
    struct cluster_guests_parts parts = {.guests_max = 4, .hooks = &hooks};
    uint8_t value[65536];
    struct hub_writer writer;

    (void)state;
    memset(&stage, 0, sizeof stage);
    assert_int_equal(cluster_pool_records_create(1, &stage.pools), 0);
    (void)pool_records_of(&kv, &stage.records);
    hub_writer_init(&writer, value, sizeof value);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_POOL, &stage.records.read), 0);
    assert_int_equal(
        cluster_pool_records_put(stage.pools, POOL, (struct rapahub_bytes){value, writer.size}), 0);
    parts.pools = stage.pools;
    return cluster_guests_create(&parts, &stage.guests);
}

static int close_stage(void **state)
{
    (void)state;
    cluster_guests_release(&stage.guests);
    cluster_pool_records_release(&stage.pools);
    return 0;
}

static void end_request(void)
{
    struct cluster_disk_result result = {.fd = -1};

    stage.on_done(stage.user, &result);
}

/* Its process cannot be read, then it can. r[verify cluster.node.begins] */
static void a_process_that_cannot_be_read_is_looked_at_again(void **state)
{
    const struct cluster_guest *guest = cluster_guests_take(stage.guests, POOL, 0);
    uint64_t next_ns;

    (void)state;
    assert_non_null(guest);
    end_request();
    assert_true(cluster_guests_look_again(stage.guests, 0) == HUB_NEVER);
    stage.start = RAPAHUB_EMFILE;
    assert_int_equal(cluster_guests_step(stage.guests), 0);
    assert_int_equal(guest->state, CLUSTER_GUEST_STARTING);
    next_ns = cluster_guests_look_again(stage.guests, 0);
    assert_true(next_ns < HUB_NEVER);
    next_ns = cluster_guests_look_again(stage.guests, next_ns);
    assert_int_equal(stage.looks, 2);
    assert_true(next_ns < HUB_NEVER);
    stage.start = 0;
    assert_true(cluster_guests_look_again(stage.guests, next_ns) == HUB_NEVER);
    end_request();
    assert_int_equal(stage.ready, 1);
    assert_int_equal(guest->state, CLUSTER_GUEST_READY);
    assert_true(cluster_guests_look_again(stage.guests, HUB_NEVER) == HUB_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_cannot_be_read_is_looked_at_again,
                                        open_stage, close_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
