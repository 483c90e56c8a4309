/* SPDX-License-Identifier: Apache-2.0 */
/* Where bytes begin that a method is given, or that a call brings back: every way of a call, small
 * and large, copied, lent and shown. Prints how many began elsewhere. */
#include "tests/integration/hosting.h"
#include "tests/support/places.h"

#define LARGEST ((size_t)1 << 20)
/* up to this one all, then steps of a twelfth and around powers of two */
#ifdef __SANITIZE_THREAD__ /* addresses are the same there, and all takes six times as long */
#define EACH_SIZE 40
#else
#define EACH_SIZE 300
#endif
#define ROOM 128 /* bytes before the arguments of the largest message */

/* The options of the host, and its guest. */
struct setting {
    const char *name;
    struct rapahub_host_options options;
    bool trusted, several; /* containers of the guest: requests name theirs */
    size_t largest;
};

static const struct setting settings[] = {
    {"polling, trusted", {.waiting = RAPAHUB_WAIT_POLL}, true, false, LARGEST},
    {"polling", {.waiting = RAPAHUB_WAIT_POLL}, false, false, LARGEST},
    {"sleeping, several containers", {.waiting = RAPAHUB_WAIT_SLEEP}, true, true, LARGEST},
    {"slots of one size", {.slot_size = 4096, .slot_count = 64}, true, false, 3900},
    {"slots of one size, full", {.slot_size = 512, .slot_count = 64}, false, false, 500},
};

/* A walk over all sizes. */
struct walk {
    struct hosting on;
    const struct setting *setting;
    struct rapahub_container_id target;
    uint8_t *bytes;
    uint64_t lent_id, copied_id, three_id;
    /* counts of returned bytes; a method itself refuses misaligned arguments */
    unsigned looked, elsewhere;
    unsigned done;
};

static void look(struct walk *walk, bool good)
{
    walk->looked++;
    walk->elsewhere += !good;
}

/* A method that got bytes elsewhere says so. */
static bool went(struct walk *walk, int r)
{
    bool elsewhere = r < 0 && strstr(rapahub_last_error()->text, "begin");

    look(walk, !elsewhere);
    if (r < 0)
        print_error("%s: %s: %s\n", walk->setting->name, rapahub_error_name(r),
                    rapahub_last_error()->text);
    assert_true(r >= 0 || elsewhere);
    return r >= 0;
}

static struct rapahub_call call_of(struct walk *walk, const char *method,
                                   const struct rapahub_type *const *types,
                                   const void *const *arguments, uint64_t *id)
{
    return (struct rapahub_call){.target = walk->target,
                                 .method = method,
                                 .types = types,
                                 .arguments = arguments,
                                 .method_id = id};
}

static void check_bytes(struct walk *walk, const struct rapahub_bytes *out, size_t size)
{
    look(walk, places_are_good(out, NULL));
    assert_int_equal(out->size, size);
    if (size > 0)
        assert_memory_equal(out->data, walk->bytes, size);
}

/* ---- each way ---- */

static void ask_raw(struct walk *walk, size_t size)
{
    for (int lent = 0; lent < 2; lent++)
        for (int view = 0; view < 2; view++) {
            const struct rapahub_bytes in = {walk->bytes, size};
            const void *const arguments[] = {&in, NULL};
            struct rapahub_call call =
                call_of(walk, lent ? "lent" : "copied", RAPAHUB_TYPES(bytes, bytes), arguments,
                        lent ? &walk->lent_id : &walk->copied_id);
            struct rapahub_bytes out = {NULL, 0};

            call.view = view;
            if (went(walk, rapahub_host_call(walk->on.host, &call, &out)))
                check_bytes(walk, &out, size);
        }
}

static void ask_with_a_loan(struct walk *walk, size_t size)
{
    struct rapahub_loan loan;
    struct rapahub_bytes in, out = {NULL, 0};
    const void *const arguments[] = {&in, NULL};
    struct rapahub_call call =
        call_of(walk, "lent", RAPAHUB_TYPES(bytes, bytes), arguments, &walk->lent_id);

    if (rapahub_host_loan(walk->on.host, walk->target, size, &loan) < 0)
        return; /* none is so large in this setting */
    in = (struct rapahub_bytes){loan.data, size};
    look(walk, places_are_good(&in, NULL));
    if (size > 0)
        memcpy(loan.data, walk->bytes, size);
    call.loan = &loan;
    call.view = size % 2;
    if (went(walk, rapahub_host_call(walk->on.host, &call, &out)))
        check_bytes(walk, &out, size);
    rapahub_host_drop_loan(walk->on.host, &loan);
}

static void on_done(void *user, int status, const void *result)
{
    struct walk *walk = user;

    walk->done++;
    if (went(walk, status))
        look(walk, places_are_good(result, NULL));
}

static void ask_and_not_wait(struct walk *walk, size_t size)
{
    const struct rapahub_bytes in = {walk->bytes, size};
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call typed =
        call_of(walk, "copied", RAPAHUB_TYPES(bytes, bytes), arguments, NULL);
    const struct rapahub_call known =
        call_of(walk, "lent", RAPAHUB_TYPES(bytes, bytes), arguments, &walk->lent_id);
    const struct rapahub_call *const calls[] = {&typed, &known};

    walk->done = 0;
    for (unsigned i = 0; i < 2; i++)
        assert_done(rapahub_host_call_async(walk->on.host, calls[i], on_done, walk, NULL));
    assert_true(until(&walk->on, &walk->done, 2));
}

/* Several bytes: of `size` in all, the largest at each place among them. */
static struct trio trio_of(const struct walk *walk, size_t size, unsigned largest)
{
    const size_t part = size / 8;
    const struct rapahub_bytes small = {walk->bytes, part},
                               large = {walk->bytes + part, size - 2 * part};

    return (struct trio){.number = 7,
                         .text = {"text", size % 5},
                         .a = largest == 0 ? large : small,
                         .b = largest == 1 ? large : small,
                         .c = largest == 2 ? large : (struct rapahub_bytes){"c", 1}};
}

static void check_trio(struct walk *walk, const struct trio *in, const struct trio *out)
{
    look(walk, places_of_trio_are_good(out, NULL));
    assert_true(out->number == in->number && out->text.size == in->text.size);
    assert_true(out->a.size == in->a.size && out->b.size == in->b.size);
    if (in->a.size > 0)
        assert_memory_equal(out->a.data, in->a.data, in->a.size);
    if (in->b.size > 0)
        assert_memory_equal(out->b.data, in->b.data, in->b.size);
    assert_memory_equal(out->c.data, in->c.data, in->c.size);
}

static void ask_with_several(struct walk *walk, size_t size)
{
    const uint16_t number = (uint16_t)size;

    for (unsigned largest = 0; largest < 4; largest++) {
        const struct trio in = trio_of(walk, size, largest);
        const struct rapahub_bytes last = {walk->bytes, largest == 3 ? size / 2 : 3};
        const void *const arguments[] = {&in, &number, &last, NULL};
        const struct rapahub_call call =
            call_of(walk, "three", RAPAHUB_TYPES(trio, trio, u16, bytes), arguments,
                    largest % 2 ? &walk->three_id : NULL);
        struct trio out = {0};

        if (in.a.size + in.b.size + in.c.size + last.size + ROOM > walk->setting->largest)
            continue;
        if (went(walk, rapahub_host_call(walk->on.host, &call, &out)))
            check_trio(walk, &in, &out);
    }
}

static void ask_a_plain_one(struct walk *walk, size_t size)
{
    const struct rapahub_bytes in = {walk->bytes, size};
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call =
        call_of(walk, "plain", RAPAHUB_TYPES(bool, bytes), arguments, NULL);
    bool good = false;

    assert_done(rapahub_host_call(walk->on.host, &call, &good));
    look(walk, good);
}

/* A method asks the host's own container, or another guest's. */
static void ask_through(struct walk *walk, size_t size)
{
    for (uint32_t pool = 2; pool <= 3; pool++) {
        const struct rapahub_bytes in = {walk->bytes, size};
        const void *const arguments[] = {&pool, &in, NULL};
        const struct rapahub_call call =
            call_of(walk, "onward", RAPAHUB_TYPES(bytes, u32, bytes), arguments, NULL);
        const struct trio three = trio_of(walk, size, pool);
        const void *const with_three[] = {&pool, &three, NULL};
        const struct rapahub_call several =
            call_of(walk, "trio", RAPAHUB_TYPES(trio, u32, trio), with_three, NULL);
        struct rapahub_bytes out = {NULL, 0};
        struct trio got = {0};

        if (went(walk, rapahub_host_call(walk->on.host, &call, &out)))
            check_bytes(walk, &out, size);
        if (size + ROOM <= walk->setting->largest &&
            went(walk, rapahub_host_call(walk->on.host, &several, &got)))
            check_trio(walk, &three, &got);
    }
}

/* The host asks its own container. */
static void ask_itself(struct walk *walk, size_t size)
{
    const struct rapahub_bytes in = {walk->bytes, size};
    const void *const arguments[] = {&in, NULL};
    struct rapahub_call call =
        call_of(walk, "copied", RAPAHUB_TYPES(bytes, bytes), arguments, NULL);
    struct rapahub_bytes out = {NULL, 0};

    call.target.pool.major = 2;
    if (went(walk, rapahub_host_call(walk->on.host, &call, &out)))
        check_bytes(walk, &out, size);
}

static void ask_for_a_stream(struct walk *walk, size_t size)
{
    const struct rapahub_bytes in = {walk->bytes, size};
    struct rapahub_sink *sink;
    const void *const arguments[] = {&in, &sink, NULL};
    const struct rapahub_call call =
        call_of(walk, "pour", RAPAHUB_TYPES(void, bytes, sink), arguments, NULL);
    struct rapahub_bytes got = {NULL, 0};

    assert_done(rapahub_sink_of_memory(LARGEST, &sink));
    if (went(walk, rapahub_host_call(walk->on.host, &call, NULL))) {
        got.data = rapahub_sink_data(sink, &got.size);
        check_bytes(walk, &got, size);
    }
    rapahub_sink_destroy(sink);
}

/* ---- the host's own methods ---- */

static int serve_copied(void *self, struct rapahub_bytes in, struct rapahub_bytes *out)
{
    look(self, places_are_good(&in, NULL));
    *out = in;
    return 0;
}

static int serve_three(void *self, struct trio in, uint16_t number, struct rapahub_bytes last,
                       struct trio *out)
{
    (void)number;
    look(self, places_of_trio_are_good(&in, &last));
    *out = in;
    return 0;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(copied, serve_copied, bytes, bytes),
    RAPAHUB_METHOD(three, serve_three, trio, trio, u16, bytes),
    RAPAHUB_METHOD_END,
};

/* ---- the walk ---- */

static void add_container(struct walk *walk, struct rapahub_guest_id guest, uint32_t major,
                          uint32_t number)
{
    /* Each begins elsewhere in its message. */
    const struct rapahub_container_options options = {
        .id = {.pool = {major, 0}, .container = number},
        .pool_name = &"a pool of some name"[number % 8],
        .params = {walk->bytes, walk->setting->largest < 600 ? 100 : 500 + number}};

    assert_done(rapahub_host_add_container(walk->on.host, guest, &options));
}

static void open_walk(struct walk *walk, const struct setting *setting)
{
    struct rapahub_guest_options guest = {.chimod = MODULE("places"),
                                          .trust = setting->trusted ? RAPAHUB_TRUST_TRUSTED
                                                                    : RAPAHUB_TRUST_STANDARD};
    const struct rapahub_container_options offer = {.id = {.pool = {2, 0}}, .pool_name = "host"};
    struct rapahub_host_options options = setting->options;
    struct rapahub_guest_id other;

    *walk = (struct walk){.setting = setting, .target = here, .bytes = malloc(LARGEST)};
    assert_non_null(walk->bytes);
    for (size_t i = 0; i < LARGEST; i++)
        walk->bytes[i] = (uint8_t)(i * 31 + i / 251);
    options.guests_max = 2;
    open_host(&walk->on, options);
    assert_done(rapahub_host_offer(walk->on.host, &offer, offered, walk));
    assert_done(rapahub_host_spawn(walk->on.host, &guest, &walk->on.guest));
    guest.name = "other";
    assert_done(rapahub_host_spawn(walk->on.host, &guest, &other));
    add_container(walk, walk->on.guest, 1, 0);
    add_container(walk, other, 3, 0);
    for (uint32_t i = 1; setting->several && i < 10; i++)
        add_container(walk, walk->on.guest, 1, i);
}

static void step(struct walk *walk, size_t size)
{
    ask_raw(walk, size);
    ask_with_a_loan(walk, size);
    ask_and_not_wait(walk, size);
    ask_with_several(walk, size);
    ask_a_plain_one(walk, size);
    ask_through(walk, size);
    ask_itself(walk, size);
    ask_for_a_stream(walk, size);
}

static size_t next(size_t size)
{
    size_t far = size + size / 12 + 1, power = EACH_SIZE;

    while (power + 3 <= size || (power & (power - 1)) != 0)
        power++;
    if (size < EACH_SIZE || (size + 4 >= power && size < power + 3))
        return size + 1;
    return far < power - 3 ? far : power - 3;
}

/* r[verify hub.bytes.align] */
static void bytes_begin_where_they_have_to(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        const size_t most = settings[i].largest - ROOM;
        struct walk walk;

        open_walk(&walk, &settings[i]);
        for (size_t size = 0; size <= most; size = next(size))
            step(&walk, size);
        step(&walk, most);
        print_message("%s: begins elsewhere %u of %u\n", settings[i].name, walk.elsewhere,
                      walk.looked);
        assert_int_equal(walk.elsewhere, 0);
        assert_true(walk.looked > 1000);
        close_host(&walk.on);
        free(walk.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_begin_where_they_have_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
