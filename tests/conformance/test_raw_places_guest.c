/* SPDX-License-Identifier: Apache-2.0 */
/* Our host with a guest that puts each payload at the start of its slot, where no bytes begin at a
 * line: a caller gets them where they have to be all the same, and so does a method of the host. */
#include "tests/conformance/raw_stage.h"
#include "tests/support/places.h"

static uint8_t bytes[LARGEST];

struct walk {
    struct stage stage;
    uint64_t id;
    unsigned looked, elsewhere, done;
};

static void look(struct walk *walk, const struct rapahub_bytes *got, size_t size)
{
    walk->looked++;
    walk->elsewhere += !places_are_good(got, NULL);
    assert_int_equal(got->size, size);
    if (size > 0)
        assert_memory_equal(got->data, bytes, size);
}

static void on_done(void *user, int status, const void *result)
{
    struct walk *walk = user;

    assert_int_equal(status, 0);
    walk->looked++;
    walk->elsewhere += !places_are_good(result, NULL);
    walk->done++;
}

static void ask_each_way(struct walk *walk, size_t size)
{
    const struct rapahub_bytes sent = {bytes, size};
    const void *const arguments[] = {&sent, NULL};
    struct rapahub_call call = {
        .target = guest_side, .method = "echo(bytes) -> bytes", .arguments = arguments};
    struct rapahub_bytes got;

    walk->done = 0;
    check_done(rapahub_host_call_async(walk->stage.host, &call, on_done, walk, NULL));
    until(&walk->stage, &walk->done, 1);
    call.method = "echo";
    call.types = RAPAHUB_TYPES(bytes, bytes);
    call.method_id = &walk->id;
    for (int view = 0; view < 2; view++) {
        call.view = view;
        check_done(rapahub_host_call(walk->stage.host, &call, &got));
        look(walk, &got, size);
    }
}

/* r[verify hub.bytes.align] */
static void bytes_of_a_foreign_guest_begin_where_they_have_to(void **state)
{
    static const char *const manners[][3] = {{NULL}, {"foreign", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (unsigned i = 0; i < 4; i++) {
        const struct staging how = {.slot_size = 65536,
                                    .words = manners[i / 2],
                                    .trust =
                                        i % 2 ? RAPAHUB_TRUST_TRUSTED : RAPAHUB_TRUST_STANDARD};
        struct walk walk = {.id = 0};

        open_stage_with(&walk.stage, &how);
        for (size_t size = 0; size <= LARGEST; size += size < 400 ? 1 : size / 16)
            ask_each_way(&walk, size);
        assert_int_equal(walk.elsewhere, 0);
        assert_true(walk.looked > 1000);
        close_stage(&walk.stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_foreign_guest_begin_where_they_have_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
