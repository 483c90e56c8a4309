/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest-sdk/containers.h"
#include "guest-sdk/ops.h"
#include "tests/support/testing.h"

/* The events, in order: "init a; fini a; ". */
struct book {
    char text[512];
    size_t size;
};

struct state {
    struct book *book;
    char name[16];
    struct rapahub_container_info info;
    uint8_t rest[1000];
};

static void write_line(struct book *book, const char *what, const char *name)
{
    book->size += (size_t)snprintf(book->text + book->size, sizeof book->text - book->size,
                                   "%s %s; ", what, name);
}

/* The parameters are the address of the book. */
static int begin(void *self, const struct rapahub_container_info *info, const char *what)
{
    struct state *state = self;

    for (size_t i = 0; i < sizeof *state; i++)
        assert_int_equal(((const uint8_t *)self)[i], 0);
    assert_int_equal((uintptr_t)self % 64, 0);
    memcpy(&state->book, info->params.data, sizeof state->book);
    snprintf(state->name, sizeof state->name, "%s", info->pool_name);
    write_line(state->book, what, state->name);
    state->info = *info;
    memset(state->rest, 0xff, sizeof state->rest);
    return strcmp(info->pool_name, "bad") == 0 ? 42 : 0;
}

static int init(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, "init");
}

static int restart(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, "restart");
}

static int recover(void *self, const struct rapahub_container_info *info)
{
    return begin(self, info, "recover");
}

static void fini(void *self)
{
    write_line(((struct state *)self)->book, "fini", ((struct state *)self)->name);
}

static const struct rapahub_container_ops own = {
    .init = init, .restart = restart, .recover = recover, .fini = fini};
static const struct rapahub_chimod chimod = {
    .ops_size = sizeof own, .ops = &own, .state_size = sizeof(struct state)};

/* The containers of a guest. */
struct rig {
    struct guest_containers containers;
    struct rapahub_container_ops ops;
    struct book book, *address;
};

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->address = &rig->book;
    guest_ops_fill(&rig->ops, &chimod);
    assert_int_equal(guest_containers_init(&rig->containers), 0);
}

static int rig_begin(struct rig *rig, uint64_t handle, const char *name, enum hub_begin_how how)
{
    const struct guest_containers_order order = {
        .begin = {.handle = handle,
                  .id = {1, 2, (uint32_t)handle},
                  .pool_name = {name, strlen(name)},
                  .params = {&rig->address, sizeof rig->address},
                  .how = (uint8_t)how},
        .token = 100 + handle};

    return guest_containers_begin(&rig->containers, &chimod, &rig->ops, &order);
}

static void each_begins_with_zeroed_memory_of_its_own(void **state)
{
    struct guest_container *a, *b;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 7, "a", HUB_BEGIN_INIT), 0);
    assert_int_equal(rig_begin(&rig, 9, "b", HUB_BEGIN_RESTART), 0);
    assert_int_equal(rig_begin(&rig, 11, "c", HUB_BEGIN_RECOVER), 0);
    a = guest_containers_find(&rig.containers, 7);
    b = guest_containers_find(&rig.containers, 9);
    assert_true(a && b && a != b && a->self != b->self);
    assert_int_equal(a->gate, GUEST_CONTAINER_OPEN);
    assert_int_equal(a->id.container, 7);
    assert_int_equal(a->id.pool.minor, 2);
    assert_string_equal(rig.book.text, "init a; restart b; recover c; ");
    guest_containers_fini(&rig.containers, &rig.ops);
}

static void it_is_told_all_that_is_known_of_it(void **state)
{
    const struct rapahub_container_info *info;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 7, "a", HUB_BEGIN_INIT), 0);
    info = &((struct state *)guest_containers_find(&rig.containers, 7)->self)->info;
    assert_int_equal(info->id.pool.major, 1);
    assert_int_equal(info->id.pool.minor, 2);
    assert_int_equal(info->id.container, 7);
    assert_int_equal(info->params.size, sizeof rig.address);
    assert_false(info->load_follows);
    guest_containers_fini(&rig.containers, &rig.ops);
}

/* Callbacks get a pointer that is not NULL, whatever the size. */
static void without_a_state_it_still_has_a_self(void **state)
{
    static const struct rapahub_chimod stateless = {.ops_size = 0};
    const struct guest_containers_order order = {.begin = {.handle = 1}};
    struct rapahub_container_ops ops;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    guest_ops_fill(&ops, &stateless);
    assert_int_equal(guest_containers_begin(&rig.containers, &stateless, &ops, &order), 0);
    assert_non_null(guest_containers_find(&rig.containers, 1)->self);
    guest_containers_fini(&rig.containers, &ops);
}

static void handle_0_is_the_first_and_others_are_exact(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_null(guest_containers_find(&rig.containers, 0));
    assert_int_equal(rig_begin(&rig, 7, "a", HUB_BEGIN_INIT), 0);
    assert_int_equal(rig_begin(&rig, 9, "b", HUB_BEGIN_INIT), 0);
    assert_int_equal(guest_containers_find(&rig.containers, 0)->handle, 7);
    assert_null(guest_containers_find(&rig.containers, 8));
    guest_containers_end(&rig.containers, &rig.ops, guest_containers_find(&rig.containers, 7));
    assert_null(guest_containers_find(&rig.containers, 7));
    assert_int_equal(guest_containers_find(&rig.containers, 0)->handle, 9);
    guest_containers_fini(&rig.containers, &rig.ops);
}

static void what_could_not_begin_leaves_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 7, "bad", HUB_BEGIN_INIT), 42);
    assert_null(guest_containers_find(&rig.containers, 7));
    assert_null(guest_containers_find(&rig.containers, 0));
    assert_string_equal(rig.book.text, "init bad; "); /* and no fini */
    assert_int_equal(rig_begin(&rig, 7, "good", HUB_BEGIN_INIT), 0);
    guest_containers_fini(&rig.containers, &rig.ops);
}

static void a_handle_that_is_there_is_refused(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 7, "a", HUB_BEGIN_INIT), 0);
    assert_int_equal(rig_begin(&rig, 7, "b", HUB_BEGIN_INIT), -EEXIST);
    assert_string_equal(rig.book.text, "init a; ");
    guest_containers_fini(&rig.containers, &rig.ops);
    assert_string_equal(rig.book.text, "init a; fini a; ");
}

/* No call arrives before the end of load. */
static void it_is_not_live_while_a_load_follows(void **state)
{
    struct rig rig;
    struct guest_containers_order order = {.begin = {.handle = 3, .load_follows = true}};

    (void)state;
    rig_open(&rig);
    order.begin.params = (struct rapahub_bytes){&rig.address, sizeof rig.address};
    assert_int_equal(guest_containers_begin(&rig.containers, &chimod, &rig.ops, &order), 0);
    assert_int_equal(guest_containers_find(&rig.containers, 3)->gate, GUEST_CONTAINER_CLOSED);
    assert_true(
        ((struct state *)guest_containers_find(&rig.containers, 3)->self)->info.load_follows);
    guest_containers_fini(&rig.containers, &rig.ops);
}

/* r[verify hub.lease.call] */
static void its_handle_puts_it_under_the_lease(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, HUB_LIFECYCLE_LEASED + 1, "a", HUB_BEGIN_INIT), 0);
    assert_int_equal(rig_begin(&rig, HUB_LIFECYCLE_LEASED - 1, "b", HUB_BEGIN_INIT), 0);
    assert_int_equal(guest_containers_find(&rig.containers, HUB_LIFECYCLE_LEASED + 1)->gate,
                     GUEST_CONTAINER_LEASED);
    assert_int_equal(guest_containers_find(&rig.containers, HUB_LIFECYCLE_LEASED - 1)->gate,
                     GUEST_CONTAINER_OPEN);
    guest_containers_fini(&rig.containers, &rig.ops);
}

static void the_last_one_ends_first(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 1, "a", HUB_BEGIN_INIT), 0);
    assert_int_equal(rig_begin(&rig, 2, "b", HUB_BEGIN_INIT), 0);
    guest_containers_fini(&rig.containers, &rig.ops);
    assert_string_equal(rig.book.text, "init a; init b; fini b; fini a; ");
    guest_containers_fini(&rig.containers, &rig.ops);
}

static void without_callbacks_they_are_only_freed(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(rig_begin(&rig, 1, "a", HUB_BEGIN_INIT), 0);
    guest_containers_fini(&rig.containers, NULL);
    assert_string_equal(rig.book.text, "init a; ");
}

/* r[verify hub.limits] */
static void a_guest_has_a_limit_of_containers(void **state)
{
    static const struct rapahub_chimod small = {.ops_size = 0};
    struct rapahub_container_ops ops;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    guest_ops_fill(&ops, &small);
    for (uint64_t handle = 1; handle <= GUEST_CONTAINERS_MAX + 1; handle++) {
        const struct guest_containers_order order = {.begin = {.handle = handle}};

        assert_int_equal(guest_containers_begin(&rig.containers, &small, &ops, &order),
                         handle <= GUEST_CONTAINERS_MAX ? 0 : RAPAHUB_EFULL);
    }
    guest_containers_fini(&rig.containers, &ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_begins_with_zeroed_memory_of_its_own),
        cmocka_unit_test(it_is_told_all_that_is_known_of_it),
        cmocka_unit_test(without_a_state_it_still_has_a_self),
        cmocka_unit_test(handle_0_is_the_first_and_others_are_exact),
        cmocka_unit_test(what_could_not_begin_leaves_nothing),
        cmocka_unit_test(a_handle_that_is_there_is_refused),
        cmocka_unit_test(it_is_not_live_while_a_load_follows),
        cmocka_unit_test(its_handle_puts_it_under_the_lease),
        cmocka_unit_test(the_last_one_ends_first),
        cmocka_unit_test(without_callbacks_they_are_only_freed),
        cmocka_unit_test(a_guest_has_a_limit_of_containers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
