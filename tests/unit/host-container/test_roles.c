/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that begin with a role in a region: the guest has taken it up and opened it before
 * they are shown, and closes it if they do not begin. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/roles.h>

#include "host/roles/regions.h"
#include "tests/unit/host-container/moving.h"

static const struct rapahub_role roles[] = {
    {.name = "in", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER}, {.name = NULL}};
static const struct rapahub_container_options options = {
    .id = {{4, 5}, 6}, .pool_name = "pool", .roles = roles};

struct linked {
    struct moving *moving;
    struct host_regions *regions;
    int far; /* the guest's end of the doorbell */
};

static void linked_open(struct linked *linked)
{
    static const struct rapahub_host_region_options spsc = {
        .region = {.kind = RAPAHUB_REGION_SPSC}};
    struct stage *stage;
    struct host_region *region;
    int ends[2];

    linked->moving = moving_open();
    stage = linked->moving->answering->stage;
    linked->regions = &stage->host.regions;
    host_regions_init(linked->regions);
    assert_int_equal(host_regions_add(linked->regions, "news", &spsc, &region), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    stage->life.doorbell.fd = ends[0];
    linked->far = ends[1];
    stage->guest.trust = RAPAHUB_TRUST_TRUSTED;
}

static void linked_close(struct linked *linked)
{
    struct stage *stage = linked->moving->answering->stage;

    close(stage->life.doorbell.fd);
    close(linked->far);
    host_containers_sweep(&HOST_REGISTRY(&stage->host)->containers, NULL, NULL);
    host_regions_fini(linked->regions);
    moving_close(linked->moving);
}

static struct host_container *there(const struct linked *linked)
{
    return answering_find(linked->moving->answering, answering_id);
}

static void remove_it(struct linked *linked)
{
    assert_int_equal(rapahub_host_remove_container(moving_handle(linked->moving), answering_id), 0);
}

/* Reads all that came by the doorbell; descriptors are closed by that. */
static void hear_all(const struct linked *linked)
{
    char heard[4096];

    while (recv(linked->far, heard, sizeof heard, 0) > 0)
        continue;
}

static void begin_it(struct linked *linked, uint64_t timeout_ns)
{
    const struct rapahub_step step = moving_step(linked->moving, NULL, timeout_ns);

    moving_again(linked->moving);
    assert_int_equal(rapahub_host_begin_async(moving_handle(linked->moving), &step,
                                              linked->moving->answering->stage->guest.id, &options,
                                              RAPAHUB_BEGIN_INIT),
                     0);
}

/* The same without a step of its own. */
static int begin_at_once(struct linked *linked)
{
    struct stage *stage = linked->moving->answering->stage;
    const struct host_container_lifecycle_begin order = {stage->guest.id, &options,
                                                         RAPAHUB_BEGIN_INIT, NULL};

    moving_again(linked->moving);
    return host_container_lifecycle_begin(&stage->host, &order);
}

/* r[verify supervise.role.ready] */
static void its_roles_are_opened_before_it_is_shown(void **state)
{
    struct linked linked;

    (void)state;
    linked_open(&linked);
    begin_it(&linked, 0);
    assert_int_equal(moving_await(linked.moving), 0);
    assert_string_equal(linked.moving->log, "obO");
    assert_int_equal(there(&linked)->state, HOST_CONTAINER_READY);
    remove_it(&linked);
    hear_all(&linked);
    assert_int_equal(begin_at_once(&linked), 0);
    assert_string_equal(linked.moving->log, "obO");
    remove_it(&linked);
    linked_close(&linked);
}

/* r[verify supervise.role.ready] */
static void one_whose_roles_cannot_be_opened_does_not_begin(void **state)
{
    struct linked linked;

    (void)state;
    linked_open(&linked);
    linked.moving->answering->refuses = HUB_LIFECYCLE_ROLES;
    begin_it(&linked, 0);
    assert_int_equal(moving_await(linked.moving), RAPAHUB_EAPPLICATION);
    assert_string_equal(linked.moving->log, "obf");
    assert_null(there(&linked));
    hear_all(&linked);
    assert_int_equal(begin_at_once(&linked), RAPAHUB_EAPPLICATION);
    assert_string_equal(linked.moving->log, "obf");
    assert_null(there(&linked));
    linked_close(&linked);
}

/* r[verify supervise.role.grant] */
static void a_doorbell_that_is_full_is_waited_for(void **state)
{
    static const char bells[4096];
    struct linked linked;
    int near;

    (void)state;
    linked_open(&linked);
    near = linked.moving->answering->stage->life.doorbell.fd;
    while (send(near, bells, sizeof bells, 0) > 0 || send(near, bells, 1, 0) > 0)
        continue;
    begin_it(&linked, 0);
    moving_turns(linked.moving, 10);
    assert_string_equal(linked.moving->log, "");
    hear_all(&linked);
    assert_int_equal(moving_await(linked.moving), 0);
    assert_string_equal(linked.moving->log, "obO");
    remove_it(&linked);
    linked_close(&linked);
}

static void speak_when_it_is_gone(struct answering *answering)
{
    if (!answering_find(answering, answering_id))
        answering->is_mute = false;
}

/* Its guest may have dropped the message, and has the region then. r[verify supervise.role.holder]
 */
static void a_role_that_was_not_answered_for_is_named_again_and_ended(void **state)
{
    struct linked linked;

    (void)state;
    linked_open(&linked);
    linked.moving->answering->is_mute = true;
    linked.moving->answering->in_turn = speak_when_it_is_gone;
    begin_it(&linked, 10 * HUB_MILLISECOND);
    assert_int_equal(moving_await(linked.moving), RAPAHUB_ETIMEDOUT);
    assert_string_equal(linked.moving->log, "of");
    assert_null(there(&linked));
    linked_close(&linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_roles_are_opened_before_it_is_shown),
        cmocka_unit_test(one_whose_roles_cannot_be_opened_does_not_begin),
        cmocka_unit_test(a_doorbell_that_is_full_is_waited_for),
        cmocka_unit_test(a_role_that_was_not_answered_for_is_named_again_and_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
