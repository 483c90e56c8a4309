/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "guest-sdk/state_transfer.h"
#include "hub/base/crc32c.h"
#include "tests/support/testing.h"

/* A state of text; self says what save does. */
struct state {
    char text[64];
    uint32_t version;
    int failure;
};

static int save(void *self, struct rapahub_sink *to)
{
    const struct state *state = self;
    int r = rapahub_sink_write(to, state->text, strlen(state->text));

    return r == 0 ? state->failure : r;
}

static int load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct state *state = self;
    ssize_t n = rapahub_source_read(from, state->text, sizeof state->text - 1);

    state->version = version;
    return n < 0 ? (int)n : state->failure;
}

static const struct rapahub_container_ops ops = {.save = save, .load = load};

static struct rapahub_bytes bytes_of(const char *text)
{
    return (struct rapahub_bytes){text, strlen(text)};
}

static void pieces_are_loaded_as_one_and_then_forgotten(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.failure = 0};

    (void)state;
    assert_int_equal(guest_state_transfer_write(&carry, bytes_of("of an earlier try")), 0);
    assert_int_equal(guest_state_transfer_write(&carry, bytes_of("")), 0); /* begins anew */
    assert_int_equal(guest_state_transfer_write(&carry, bytes_of("one, ")), 0);
    assert_int_equal(guest_state_transfer_write(&carry, bytes_of("two")), 0);
    assert_int_equal(guest_state_transfer_load(&carry, &ops, &self, 7), 0);
    assert_string_equal(self.text, "one, two");
    assert_int_equal(self.version, 7);
    memset(&self, 0, sizeof self);
    assert_int_equal(guest_state_transfer_load(&carry, &ops, &self, 8), 0);
    assert_string_equal(self.text, "");
}

static void a_state_above_the_limit_is_refused_before_it_is_copied(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};

    (void)state;
    assert_int_equal(guest_state_transfer_write(
                         &carry, (struct rapahub_bytes){"x", GUEST_STATE_TRANSFER_MAX + 1}),
                     -EMSGSIZE);
    guest_state_transfer_fini(&carry);
}

static void what_was_saved_is_read_in_pieces_until_its_end(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.text = "0123456789"};
    struct rapahub_bytes piece = {.size = 4};
    struct hub_saved saved = {.version = 2};
    char read[16] = "";
    size_t at = 0;

    (void)state;
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 0);
    assert_int_equal(saved.size, 10);
    assert_int_equal(saved.version, 2);
    assert_int_equal(saved.checksum, hub_crc32c(0, "0123456789", 10));
    while (at < saved.size) {
        piece.size = 4;
        assert_int_equal(guest_state_transfer_read(&carry, at, &piece), 0);
        assert_in_range(piece.size, 1, 4);
        memcpy(read + at, piece.data, piece.size);
        at += piece.size;
        guest_state_transfer_settle(&carry, at);
    }
    assert_string_equal(read, "0123456789");
    assert_null(carry.outgoing);
    assert_int_equal(guest_state_transfer_read(&carry, 0, &piece), RAPAHUB_ESTATE);
}

static void an_empty_state_is_a_state(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.text = ""};
    struct rapahub_bytes piece = {.size = 4};
    struct hub_saved saved;

    (void)state;
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 0);
    assert_int_equal(saved.size, 0);
    assert_int_equal(guest_state_transfer_read(&carry, 0, &piece), 0);
    assert_int_equal(piece.size, 0);
    guest_state_transfer_settle(&carry, 0);
    assert_null(carry.outgoing);
}

static void it_is_kept_while_a_part_of_it_is_not_read(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.text = "0123456789"};
    struct rapahub_bytes piece = {.size = 4};
    struct hub_saved saved;

    (void)state;
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 0);
    guest_state_transfer_settle(&carry, 9);
    assert_int_equal(guest_state_transfer_read(&carry, 8, &piece), 0);
    assert_int_equal(piece.size, 2);
    assert_int_equal(guest_state_transfer_read(&carry, 10, &piece), 0);
    assert_int_equal(piece.size, 0);
    assert_int_equal(guest_state_transfer_read(&carry, 11, &piece), -EINVAL);
    assert_int_equal(guest_state_transfer_read(&carry, UINT64_MAX, &piece), -EINVAL);
    guest_state_transfer_fini(&carry);
}

static void the_last_save_counts(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.text = "old and long"};
    struct rapahub_bytes piece = {.size = 64};
    struct hub_saved saved;

    (void)state;
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 0);
    memcpy(self.text, "new", 4);
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 0);
    assert_int_equal(saved.size, 3);
    assert_int_equal(guest_state_transfer_read(&carry, 0, &piece), 0);
    assert_int_equal(piece.size, 3);
    assert_memory_equal(piece.data, "new", 3);
    guest_state_transfer_fini(&carry);
}

static void of_a_save_that_fails_nothing_is_kept(void **state)
{
    struct guest_state_transfer carry = {.incoming = NULL};
    struct state self = {.text = "half", .failure = 42};
    struct rapahub_bytes piece = {.size = 64};
    struct hub_saved saved;

    (void)state;
    assert_int_equal(guest_state_transfer_save(&carry, &ops, &self, &saved), 42);
    assert_int_equal(guest_state_transfer_read(&carry, 0, &piece), RAPAHUB_ESTATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_loaded_as_one_and_then_forgotten),
        cmocka_unit_test(a_state_above_the_limit_is_refused_before_it_is_copied),
        cmocka_unit_test(what_was_saved_is_read_in_pieces_until_its_end),
        cmocka_unit_test(an_empty_state_is_a_state),
        cmocka_unit_test(it_is_kept_while_a_part_of_it_is_not_read),
        cmocka_unit_test(the_last_save_counts),
        cmocka_unit_test(of_a_save_that_fails_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
