/* SPDX-License-Identifier: Apache-2.0 */
/* A control socket that is open to a group: what its members may do, and who is one. */
#include <sys/socket.h>

#include "tests/unit/host-control/member.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* ---- roles ---- */

struct tried {
    enum host_frame_kind kind;
    const void *record;
};

static const struct control_name all = {{"", 0}}, calc_name = {{"calc", 4}};
static const struct control_logs lines = {.since_ns = UINT64_MAX, .level = RAPAHUB_LOG_INFO};
static const struct control_upgrade newer = {.guest = {"calc", 4}, .chimod = {"/new.so", 7}};

static bool is_refused(struct host_client *client, const struct tried *tried)
{
    return request(client, tried->kind, tried->record) == RAPAHUB_EACCES &&
           strcmp(rapahub_last_error()->rule, "sec.control.role") == 0;
}

static int look_only(const struct user *user)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    const struct tried looks[] = {{HOST_FRAME_LIST, &none},
                                  {HOST_FRAME_METHODS, &calc_name},
                                  {HOST_FRAME_STATS, &all},
                                  {HOST_FRAME_TREE, &none},
                                  {HOST_FRAME_LOGS, &lines}},
                       others[] = {{HOST_FRAME_CALL, &call},         {HOST_FRAME_STOP, &calc_name},
                                   {HOST_FRAME_STOP, &all},          {HOST_FRAME_KILL, &calc_name},
                                   {HOST_FRAME_RESTART, &calc_name}, {HOST_FRAME_UPGRADE, &newer}};
    struct host_client *client = NULL;

    if (host_client_open(user->path, &client) < 0)
        return 1;
    for (int i = 0; i < 5; i++)
        if (request(client, looks[i].kind, looks[i].record) != 0)
            return 10 + i;
    for (int i = 0; i < 6; i++)
        if (!is_refused(client, &others[i]))
            return 20 + i;
    if (request(client, HOST_FRAME_LIST, &none) != 0)
        return 30;
    host_client_release(&client);
    return 0;
}

/* r[verify sec.control.role] */
static void a_viewer_looks_and_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct user viewer = user_of(f, GROUP);

    assert_int_equal(run_as(f, &viewer, look_only), 0);
    expect_untouched(f);
}

static int call_and_stop(const struct user *user)
{
    const struct control_call call = add_call("add(i64, i64) -> i64");
    const struct tried others[] = {{HOST_FRAME_UPGRADE, &newer}, {HOST_FRAME_STOP, &all}};
    struct host_client *client = NULL;

    if (host_client_open(user->path, &client) < 0)
        return 1;
    if (request(client, HOST_FRAME_CALL, &call) != 0)
        return 2;
    if (request(client, HOST_FRAME_STOP, &calc_name) != 0)
        return 3;
    if (request(client, HOST_FRAME_RESTART, &calc_name) != 0)
        return 4;
    if (request(client, HOST_FRAME_KILL, &calc_name) != RAPAHUB_ESTALE)
        return 5;
    for (int i = 0; i < 2; i++)
        if (!is_refused(client, &others[i]))
            return 20 + i;
    host_client_release(&client);
    return 0;
}

/* r[verify sec.control.role] */
static void an_operator_calls_and_stops_but_the_host_is_not_its(void **state)
{
    struct fixture *f = *state;
    struct user operator= user_of(f, GROUP);

    assert_int_equal(run_as(f, &operator, call_and_stop), 0);
    assert_int_equal(f->host.calls, 1);
    assert_int_equal(f->host.stops, 1);
    assert_int_equal(f->host.restarts, 1);
    assert_int_equal(f->host.kills, 1);
    assert_int_equal(f->host.upgrades + f->host.host_stops, 0);
}

static int stop_the_host(const struct user *user)
{
    struct host_client *client = NULL;
    int r;

    if (host_client_open(user->path, &client) < 0)
        return 1;
    r = request(client, HOST_FRAME_STOP, &all) == 0 ? 0 : 2;
    host_client_release(&client);
    return r;
}

static void an_admin_of_the_group_may_all(void **state)
{
    struct fixture *f = *state;
    struct user admin = user_of(f, GROUP);

    assert_int_equal(run_as(f, &admin, stop_the_host), 0);
    assert_int_equal(f->host.host_stops, 1);
}

static void root_and_the_user_of_the_host_may_all(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_STOP, &all);
    assert_int_equal(end_of(client), 0);
    assert_int_equal(f->host.host_stops, 1);
    host_client_release(&client);
}

/* ---- who is a member ---- */

static bool groups_are_told(void)
{
    socklen_t size = 0;
    int ends[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    r = getsockopt(ends[0], SOL_SOCKET, SO_PEERGROUPS, NULL, &size);
    close(ends[0]);
    close(ends[1]);
    return r == 0 || errno == ERANGE;
}

/* More groups than are asked for at first, and the one is the last. r[verify sec.control.peer] */
static void a_supplementary_group_counts(void **state)
{
    struct fixture *f = *state;
    struct user viewer = user_of(f, ANOTHER);

    if (!groups_are_told())
        skip();
    viewer.also = GROUP;
    assert_int_equal(run_as(f, &viewer, look_only), 0);
    viewer.more = 200;
    assert_int_equal(run_as(f, &viewer, look_only), 0);
    expect_untouched(f);
}

static int be_kept_out(const struct user *user)
{
    struct host_client *client = NULL;

    return host_client_open(user->path, &client) == RAPAHUB_EACCES &&
                   strstr(rapahub_last_error()->text, "for its user, for root, and for its group")
               ? 0
               : 1;
}

static int be_refused(const struct user *user)
{
    struct host_client *client = NULL;
    int r;

    if (host_client_open(user->path, &client) < 0)
        return 1;
    r = request(client, HOST_FRAME_LIST, &none);
    host_client_release(&client);
    return r == RAPAHUB_EACCES && strstr(rapahub_last_error()->text, "has no role at this host")
               ? 0
               : 2;
}

/* Sometimes before it has said a word, and sometimes after. */
static int be_refused_often(const struct user *user)
{
    int r = 0;

    for (int i = 0; i < 100 && r == 0; i++)
        r = be_refused(user);
    return r;
}

/* The file keeps out strangers; the host does so itself where the file was opened by mistake.
 * r[verify sec.control.peer] */
static void a_user_in_no_group_is_refused_with_one_line(void **state)
{
    struct fixture *f = *state;
    struct user stranger = user_of(f, ANOTHER);

    stranger.more = 70;
    assert_int_equal(run_as(f, &stranger, be_kept_out), 0);
    assert_int_equal(chmod(f->path, 0666), 0);
    assert_int_equal(run_as(f, &stranger, be_refused_often), 0);
    for (int i = 0; i < HOST_SERVER_CLIENTS; i++)
        assert_int_equal(f->control->clients[i].fd, -1);
}

/* ---- options ---- */

static void a_group_that_is_none_and_a_role_that_is_none_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct rapahub_control_options options = {
        .path = "/tmp/rapahub-test-never.sock", .name = "n", .host = f->control->host};
    struct rapahub_control *control = NULL;

    options.group = "no such group";
    assert_int_equal(rapahub_control_open(&options, &control), RAPAHUB_ENOENT);
    options.group = "65534";
    assert_int_equal(rapahub_control_open(&options, &control), RAPAHUB_EINVAL);
    options.group = "4711";
    options.group_role = (enum rapahub_control_role)3;
    assert_int_equal(rapahub_control_open(&options, &control), RAPAHUB_EINVAL);
    assert_null(control);
    assert_int_equal(access(options.path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AS(for_viewers, a_viewer_looks_and_changes_nothing),
        AS(for_operators, an_operator_calls_and_stops_but_the_host_is_not_its),
        AS(for_admins, an_admin_of_the_group_may_all),
        AS(for_viewers, root_and_the_user_of_the_host_may_all),
        AS(for_viewers, a_supplementary_group_counts),
        AS(for_viewers, a_user_in_no_group_is_refused_with_one_line),
        AS(set_up, a_group_that_is_none_and_a_role_that_is_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
