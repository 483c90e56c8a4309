/* SPDX-License-Identifier: Apache-2.0 */
/* A host in a small /dev/shm, as a container has it: 64 MiB. Trusted guests share a file there. */
#include "tests/integration/hosting.h"
#include "tests/support/room.h"

#define GUESTS 16
#define MIB    ((size_t)1 << 20)

static struct rapahub_container_id container_of(unsigned guest)
{
    return (struct rapahub_container_id){.pool = {guest + 1, 0}};
}

static int begin_guest(struct hosting *on, unsigned guest)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = container_of(guest),
                                                        .pool_name = "room"};
    int r = rapahub_host_spawn(on->host, &options, &on->guest);

    return r < 0 ? r : rapahub_host_add_container(on->host, on->guest, &container);
}

static void echo(struct hosting *on, unsigned guest, const uint8_t *data, size_t size)
{
    struct rapahub_bytes in = {data, size}, out = {NULL, 0};
    const struct rapahub_call call = {.target = container_of(guest),
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&in, NULL}};

    assert_done(rapahub_host_call(on->host, &call, &out));
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, data, size);
}

/* Each with each size, the largest last: nothing that they touch is missing. */
static void echo_all(struct hosting *on, unsigned guests)
{
    static const size_t sizes[] = {10, 1000, 4000, 5000, 60000, 70000, 1000000};
    uint8_t *data = calloc(1, MIB);

    assert_non_null(data);
    memset(data, 7, MIB);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned guest = 0; guest < guests; guest++)
            echo(on, guest, data, sizes[i]);
    free(data);
}

/* r[verify hub.file.room] */
static void sixteen_guests_work_in_64_mib(void **state)
{
    struct hosting on;

    (void)state;
    if (!room_enter(64))
        skip(); /* no mounts here */
    open_host(&on, (struct rapahub_host_options){0});
    for (unsigned guest = 0; guest < GUESTS; guest++)
        assert_done(begin_guest(&on, guest));
    room_fill(0);
    echo_all(&on, GUESTS);
    assert_int_equal(on.told.down, 0);
    room_clear();
    close_host(&on);
}

/* r[verify hub.file.room] */
static void a_guest_for_which_there_is_no_room_is_refused_and_nobody_else_is_hurt(void **state)
{
    unsigned guests = 0;
    struct hosting on;
    int r = 0;

    (void)state;
    if (!room_enter(48))
        skip(); /* no mounts here */
    room_fill(16 * MIB);
    open_host(&on, (struct rapahub_host_options){0});
    while (guests < GUESTS && (r = begin_guest(&on, guests)) == 0)
        guests++;
    assert_in_range(guests, 2, 6);
    assert_refused(r, -ENOSPC, "/dev/shm");
    assert_refused(r, -ENOSPC, "bytes are free there");
    room_clear();
    room_fill(0);
    echo_all(&on, guests);
    assert_refused(begin_guest(&on, guests), -ENOSPC, "/dev/shm");
    echo_all(&on, guests);
    assert_int_equal(on.told.down, 0);
    room_clear();
    assert_done(begin_guest(&on, guests));
    echo_all(&on, guests + 1);
    close_host(&on);
}

/* r[verify hub.file.room] */
static void without_room_for_a_segment_the_first_guest_is_refused(void **state)
{
    struct hosting on;

    (void)state;
    if (!room_enter(64))
        skip(); /* no mounts here */
    room_fill(MIB);
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(begin_guest(&on, 0), -ENOSPC, "/dev/shm");
    room_clear();
    assert_done(begin_guest(&on, 0));
    echo_all(&on, 1);
    close_host(&on);
}

static int echo_much(struct hosting *on, unsigned guest)
{
    static const uint8_t data[1000000];
    const struct rapahub_bytes in = {data, sizeof data};
    struct rapahub_bytes out = {NULL, 0};
    const struct rapahub_call call = {.target = container_of(guest),
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&in, NULL},
                                      .timeout_ns = 3 * UINT64_C(1000000000)};

    return rapahub_host_call(on->host, &call, &out);
}

/* No caller waits for its answer longer than asking twice takes, and no link ends because of it.
 * r[verify hub.file.room] r[verify hub.var.single-popper] */
static void an_answer_for_which_there_is_no_room_is_refused_and_the_guest_serves_on(void **state)
{
    static const uint8_t few[] = "few";
    unsigned refused = 0;
    struct hosting on;
    uint64_t before;

    (void)state;
    if (!room_enter(256))
        skip(); /* no mounts here */
    open_host(&on, (struct rapahub_host_options){.guests_max = 4});
    for (unsigned guest = 0; guest < 3; guest++)
        assert_done(begin_guest(&on, guest));
    room_fill(0);
    for (unsigned i = 0; i < 6; i++) {
        int r;

        before = now_ms();
        r = echo_much(&on, i % 3);
        refused += r < 0;
        if (r < 0) /* a slot that the host can spare is granted */
            assert_int_equal(r, -EMSGSIZE);
        assert_true(now_ms() - before < 2500);
        echo(&on, i % 3, few, sizeof few);
    }
    assert_true(refused > 0);
    assert_int_equal(on.told.down, 0);
    room_clear();
    before = now_ms();
    for (unsigned guest = 0; guest < 3; guest++)
        while (echo_much(&on, guest) < 0)
            assert_true(now_ms() - before < 5000);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_guests_work_in_64_mib),
        cmocka_unit_test(a_guest_for_which_there_is_no_room_is_refused_and_nobody_else_is_hurt),
        cmocka_unit_test(without_room_for_a_segment_the_first_guest_is_refused),
        cmocka_unit_test(an_answer_for_which_there_is_no_room_is_refused_and_the_guest_serves_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
