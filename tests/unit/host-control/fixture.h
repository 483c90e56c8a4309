/* SPDX-License-Identifier: Apache-2.0 */
/* fixture: a control socket in a folder of its own, with a host that is made of three variables.
 * Both ends live on one thread: what a client sends is served by the next dispatch. */
#ifndef TESTS_UNIT_HOST_CONTROL_FIXTURE_H
#define TESTS_UNIT_HOST_CONTROL_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/control/client.h"
#include "host/control/server.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"
#include "tests/unit/host-control/fake_host.h"

#define FIXTURE    __attribute__((unused)) static
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

struct fixture {
    struct rapahub_host host;
    struct rapahub_control *control;
    char folder[64], path[96];
};

FIXTURE void finish_call(struct rapahub_host *host, int status, const void *result)
{
    rapahub_on_done *done = host->done;

    host->done = NULL;
    done(host->done_user, status, result);
}

FIXTURE void finish_upgrade(struct rapahub_host *host, int status)
{
    rapahub_on_upgraded *done = host->upgraded;

    host->upgraded = NULL;
    done(host->upgraded_user, status, &host->upgrade_result);
}

FIXTURE void finish_end(struct rapahub_host *host, int status)
{
    rapahub_on_done *done = host->ended;

    host->ended = NULL;
    done(host->ended_user, status, NULL);
}

FIXTURE void count_host_stop(void *user)
{
    ((struct rapahub_host *)user)->host_stops++;
}

FIXTURE const struct control_none none = {1};

/* `group`: whose members may connect; NULL: nobody's. */
FIXTURE int set_up_for(void **state, const char *group, enum rapahub_control_role role)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct rapahub_control_options options;

    assert_non_null(f);
    snprintf(f->folder, sizeof f->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/h.sock", f->folder);
    options = (struct rapahub_control_options){
        .path = f->path,
        .name = "h",
        .host = {&f->host, fake_guests, fake_methods, fake_call, fake_cancel, fake_stop, fake_kill,
                 fake_figures, fake_children, fake_restart, NULL, fake_upgrade},
        .on_stop = count_host_stop,
        .user = &f->host,
        .group = group,
        .group_role = role};
    assert_int_equal(rapahub_control_open(&options, &f->control), 0);
    assert_int_equal(rapahub_control_offer(f->control, "calc", (struct rapahub_pool_id){5, 0}), 0);
    *state = f;
    return 0;
}

FIXTURE int set_up(void **state)
{
    return set_up_for(state, NULL, RAPAHUB_CONTROL_VIEWER);
}

FIXTURE int tear_down(void **state)
{
    struct fixture *f = *state;

    rapahub_control_close(f->control);
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

FIXTURE struct host_client *connect_to(const struct fixture *f)
{
    struct host_client *client = NULL;

    assert_int_equal(host_client_open(f->path, &client), 0);
    return client;
}

FIXTURE void serve(const struct fixture *f)
{
    int n;

    do {
        n = rapahub_control_dispatch(f->control);
        assert_true(n >= 0);
    } while (n > 0);
}

FIXTURE void ask(const struct fixture *f, struct host_client *client, enum host_frame_kind kind,
                 const void *record)
{
    assert_int_equal(host_client_send(client, kind, record, hub_clock_after(HUB_SECOND)), 0);
    serve(f);
}

FIXTURE int answer(struct host_client *client, enum host_frame_kind *kind,
                   union host_frame_record *record)
{
    return host_client_receive(client, hub_clock_after(20 * HUB_MILLISECOND), -1, kind, record);
}

FIXTURE int end_of(struct host_client *client)
{
    union host_frame_record record;
    enum host_frame_kind kind;
    int r;

    do
        r = answer(client, &kind, &record);
    while (r > 0);
    return r;
}

FIXTURE struct control_call add_call(const char *signature)
{
    return (struct control_call){.guest = rapahub_string_of("calc"),
                                 .signature = rapahub_string_of(signature),
                                 .container = 2,
                                 .timeout_ns = HUB_SECOND,
                                 .arguments = {"\x50\x04", 2}};
}

#endif
