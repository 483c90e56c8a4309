/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that is killed, and whose death cannot be proven yet: its calls end, its place waits. */
#include <fcntl.h>

#include "tests/integration/visiting.h"

struct end {
    int status;
    bool done;
};

static void on_done(void *user, int status, const void *result)
{
    struct end *end = user;

    (void)result;
    end->status = status;
    end->done = true;
}

static uint32_t state_of(struct hosting *on, uint32_t peer)
{
    int fd = open(rapahub_host_path(on->host), O_RDONLY | O_CLOEXEC);
    uint32_t state = UINT32_MAX;

    assert_int_equal(pread(fd, &state, sizeof state, 128 + 64 * (off_t)(peer - 1)), sizeof state);
    close(fd);
    return state;
}

/* A process that the guest forked has the lock as well: for all the host knows, it may write.
 * r[verify hub.death.stuck] r[verify hub.death.proof] */
static void calls_end_where_the_proof_does_not_come(void **state)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_call wait = {.target = here, .method = "wait() -> void"};
    struct process_result result;
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    struct end end = {0, false};
    int32_t child = 0;

    (void)state;
    open_host(&on, small);
    send_anonymous_guest(&anonymous_guest, rapahub_host_path(on.host), MODULE("forker"));
    assert_done(rapahub_host_add_container(on.host, await_anonymous_guest(&on), &container));
    assert_done(ask(&on, "leave_child() -> i32", NULL, &child));
    assert_done(rapahub_host_call_async(on.host, &wait, on_done, &end, NULL));
    assert_done(rapahub_host_dispatch(on.host, 0));
    process_kill(&anonymous_guest.process, SIGKILL);
    for (uint64_t start = now_ms(); !end.done && now_ms() - start < 10000;)
        assert_done(rapahub_host_dispatch(on.host, 100));
    assert_int_equal(end.status, RAPAHUB_EDIED);
    assert_int_equal(on.told.down, 0);
    assert_int_equal(state_of(&on, 1), 2); /* Goodbye */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(until(&on, &on.told.down, 1));
    assert_done(rapahub_host_dispatch(on.host, 0));
    assert_int_equal(state_of(&on, 1), 0);
    assert_int_equal(rapahub_host_quarantined(on.host), 0);
    assert_int_equal(process_finish(&anonymous_guest.process, &result), 0);
    process_result_fini(&result);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_where_the_proof_does_not_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
