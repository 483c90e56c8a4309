/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "host/control/reply.h"
#include "tests/unit/host-control/fixture.h"

static void a_client_that_reads_late_gets_all(void **state)
{
    const struct control_logs logs = {.since_ns = UINT64_MAX, .level = RAPAHUB_LOG_INFO};
    static char text[2048];
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;
    unsigned lines = 0;

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < HOST_LINES_COUNT; i++)
        rapahub_control_log(f->control, RAPAHUB_LOG_INFO, "run", text);
    ask(f, client, HOST_FRAME_LOGS, &logs);
    for (; answer(client, &kind, &record) > 0; lines++)
        serve(f);
    assert_int_equal(lines, HOST_LINES_COUNT);
    host_client_release(&client);
}

/* A host that logs faster than a client reads would have no end otherwise. */
static void lines_of_after_the_question_are_no_answer(void **state)
{
    const struct control_logs logs = {.since_ns = UINT64_MAX, .level = RAPAHUB_LOG_INFO};
    static char text[2048];
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    union host_frame_record record;
    enum host_frame_kind kind;
    unsigned lines = 0, later = 0;

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < HOST_LINES_COUNT; i++)
        rapahub_control_log(f->control, RAPAHUB_LOG_INFO, "before", text);
    ask(f, client, HOST_FRAME_LOGS, &logs);
    for (; answer(client, &kind, &record) > 0 && lines < 2 * HOST_LINES_COUNT; lines++) {
        later += record.line.topic.size == strlen("after");
        rapahub_control_log(f->control, RAPAHUB_LOG_INFO, "after", text);
        serve(f);
    }
    assert_in_range(lines, 1, HOST_LINES_COUNT);
    assert_int_equal(later, 0);
    host_client_release(&client);
}

/* A host's standard input may be closed. */
static void a_client_may_have_any_descriptor(void **state)
{
    const struct fixture *f = *state;
    struct host_client *first = connect_to(f), *second;
    int input = dup(0);

    assert_true(input > 0);
    close(0);
    serve(f);
    assert_true(fcntl(0, F_GETFD) >= 0);
    second = connect_to(f);
    serve(f);
    ask(f, first, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(first), 0);
    ask(f, second, HOST_FRAME_LIST, &none);
    assert_int_equal(end_of(second), 0);
    host_client_release(&first);
    host_client_release(&second);
    serve(f);
    hub_closer_settle(f->control->closer);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

static struct host_server_client *present(const struct fixture *f)
{
    for (size_t i = 0; i < HOST_SERVER_CLIENTS; i++)
        if (f->control->clients[i].fd >= 0)
            return &f->control->clients[i];
    return NULL;
}

/* It is closed in the next dispatch, and nothing more is put up for it. */
static void a_client_that_no_answer_reaches_is_closed(void **state)
{
    const struct fixture *f = *state;
    struct host_client *client = connect_to(f);
    struct host_server_client *served;

    serve(f);
    served = present(f);
    assert_non_null(served);
    host_client_release(&client);
    host_reply_send(f->control, served, HOST_FRAME_DONE, &none);
    assert_true(served->doomed);
    host_reply_send(f->control, served, HOST_FRAME_DONE, &none);
    serve(f);
    assert_null(present(f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_that_reads_late_gets_all),
        TEST(lines_of_after_the_question_are_no_answer),
        TEST(a_client_may_have_any_descriptor),
        TEST(a_client_that_no_answer_reaches_is_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
