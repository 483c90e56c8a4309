/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/host-control/fixture.h"

static void an_upgrade_reaches_the_guest(void **state)
{
    const struct control_upgrade good = {rapahub_string_of("calc"), rapahub_string_of("/new.so"),
                                         123, true};
    const struct control_upgrade other = {rapahub_string_of("calc"), rapahub_string_of("/old.so"),
                                          0, false};
    const struct control_upgrade cut = {rapahub_string_of("calc"), {"/new.so\0", 8}, 0, false};
    const struct control_upgrade nobody = {rapahub_string_of("kv"), rapahub_string_of("/new.so"), 0,
                                           false};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_UPGRADE, &good);
    finish_upgrade(&f->host, 0);
    assert_int_equal(answer(client, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_UPGRADED);
    assert_memory_equal(record.upgraded.after.data, "2", 1);
    assert_int_equal(record.upgraded.blackout_ns, 123);
    assert_int_equal(record.upgraded.methods_lost, 1);
    assert_int_equal(end_of(client), 0);
    ask(f, client, HOST_FRAME_UPGRADE, &other);
    assert_int_equal(end_of(client), RAPAHUB_ESTATE);
    assert_string_equal(rapahub_last_error()->text, "/old.so is another module");
    ask(f, client, HOST_FRAME_UPGRADE, &cut);
    assert_int_equal(end_of(client), RAPAHUB_EINVAL);
    ask(f, client, HOST_FRAME_UPGRADE, &nobody);
    assert_int_equal(end_of(client), RAPAHUB_ENOENT);
    assert_int_equal(f->host.upgrades, 2);
    host_client_release(&client);
}

/* A host of an older library has no such function. */
static void an_upgrade_is_refused_where_the_host_has_none(void **state)
{
    const struct control_upgrade good = {rapahub_string_of("calc"), rapahub_string_of("/new.so"), 0,
                                         false};
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    f->control->host.upgrade = NULL;
    ask(f, client, HOST_FRAME_UPGRADE, &good);
    assert_int_equal(end_of(client), RAPAHUB_ENOTSUP);
    assert_string_equal(rapahub_last_error()->text, "host 'h' upgrades no guest");
    host_client_release(&client);
}

static const struct control_upgrade upgrade_of_calc = {{"calc", 4}, {"/new.so", 7}, 0, false};

static void others_are_answered_while_an_upgrade_runs(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f), *other = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    ask(f, client, HOST_FRAME_UPGRADE, &upgrade_of_calc);
    assert_int_equal(answer(client, &kind, &record), RAPAHUB_ETIMEDOUT);
    ask(f, other, HOST_FRAME_LIST, &none);
    assert_int_equal(answer(other, &kind, &record), 1);
    assert_int_equal(kind, HOST_FRAME_GUEST);
    assert_int_equal(end_of(other), 0);
    rapahub_fail(RAPAHUB_EDIED, "", "it ended");
    finish_upgrade(&f->host, RAPAHUB_EDIED);
    assert_int_equal(end_of(client), RAPAHUB_EDIED);
    assert_string_equal(rapahub_last_error()->text, "it ended");
    ask(f, client, HOST_FRAME_LIST, &none); /* and it may ask again */
    assert_int_equal(end_of(client), 0);
    host_client_release(&client);
    host_client_release(&other);
}

static const enum host_frame_kind waits[] = {HOST_FRAME_STOP, HOST_FRAME_RESTART};
static const struct control_name calc = {{"calc", 4}};

static void others_are_answered_while_a_guest_stops_or_starts_anew(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f), *other = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;

    for (unsigned i = 0; i < 2; i++) {
        ask(f, client, waits[i], &calc);
        assert_int_equal(answer(client, &kind, &record), RAPAHUB_ETIMEDOUT);
        ask(f, other, HOST_FRAME_LIST, &none);
        assert_int_equal(answer(other, &kind, &record), 1);
        assert_int_equal(end_of(other), 0);
        ask(f, other, waits[i], &calc); /* why it does not begin */
        assert_int_equal(end_of(other), RAPAHUB_ESTALE);
        assert_string_equal(rapahub_last_error()->text, "that life has ended");
        rapahub_fail(RAPAHUB_EGIVENUP, "", "it is given up");
        finish_end(&f->host, RAPAHUB_EGIVENUP);
        assert_int_equal(end_of(client), RAPAHUB_EGIVENUP);
        assert_string_equal(rapahub_last_error()->text, "it is given up");
    }
    host_client_release(&client);
    host_client_release(&other);
}

static void a_stop_outlives_who_asked_for_it_and_the_socket(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_STOP, &calc);
    host_client_release(&client);
    serve(f);
    finish_end(&f->host, 0);
    client = connect_to(f);
    ask(f, client, HOST_FRAME_RESTART, &calc);
    rapahub_control_close(f->control);
    f->control = NULL;
    finish_end(&f->host, 0);
    assert_int_equal(end_of(client), RAPAHUB_ECLOSED);
    host_client_release(&client);
}

static void an_upgrade_outlives_who_asked_for_it(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_UPGRADE, &upgrade_of_calc);
    host_client_release(&client);
    serve(f);
    finish_upgrade(&f->host, 0);
    client = connect_to(f);
    ask(f, client, HOST_FRAME_UPGRADE, &upgrade_of_calc);
    ask(f, client, HOST_FRAME_LIST, &none); /* out of order */
    assert_int_equal(end_of(client), RAPAHUB_ECLOSED);
    finish_upgrade(&f->host, 0);
    host_client_release(&client);
}

static void an_upgrade_outlives_the_socket(void **state)
{
    struct fixture *f = *state;
    struct host_client *client = connect_to(f);

    ask(f, client, HOST_FRAME_UPGRADE, &upgrade_of_calc);
    rapahub_control_close(f->control);
    f->control = NULL;
    finish_upgrade(&f->host, 0);
    assert_int_equal(end_of(client), RAPAHUB_ECLOSED);
    host_client_release(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_upgrade_reaches_the_guest),
        TEST(an_upgrade_is_refused_where_the_host_has_none),
        TEST(others_are_answered_while_an_upgrade_runs),
        TEST(others_are_answered_while_a_guest_stops_or_starts_anew),
        TEST(a_stop_outlives_who_asked_for_it_and_the_socket),
        TEST(an_upgrade_outlives_who_asked_for_it),
        TEST(an_upgrade_outlives_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
