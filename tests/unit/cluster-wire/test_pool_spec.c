/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/pool_spec.h"
#include "tests/unit/cluster-wire/written.h"

#define TEXT(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const struct cluster_pool_method methods[] = {{5, true, false}, {6, false, true}};
static const uint32_t nodes[] = {1, 2, 3};
static const struct cluster_pool_option options[] = {{TEXT("restart"), TEXT("permanent"), 0},
                                                     {TEXT("memory_max"), {"", 0}, 1 << 30}};

static const struct cluster_pool_spec spec = {
    .name = TEXT("counter"),
    .module = TEXT("counter"),
    .version = TEXT("1.0"),
    .digest = TEXT("0123456789abcdef0123456789abcdef"),
    .containers = 4,
    .own_guests = true,
    .durability = CLUSTER_DURABILITY_ACKED,
    .on_daemon_death = CLUSTER_DAEMON_RECOVER,
    .on_fence = CLUSTER_FENCE_KILL,
    .copies = 2,
    .min_copies = 1,
    .repeat_all = true,
    .idle_to_zero_ns = 5,
    .spread_zones = true,
    .trust = TEXT("standard"),
    .params = TEXT("--folder {folder}"),
    .methods = {.of = methods, .count = 2},
    .nodes = {.of = nodes, .count = 2},
    .not_on = {.of = &nodes[2], .count = 1},
    .options = {.of = options, .count = 2},
};

static struct written write_spec(const struct cluster_pool_spec *from)
{
    static uint8_t to[WRITTEN_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_pool_spec_put(&writer, from), 0);
    return written_by(&writer);
}

static int put(struct cluster_pool_spec from)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_pool_spec_put(&writer, &from);
}

/* r[verify cluster.pool.spec] */
static void a_spec_is_read_as_it_was_written(void **state)
{
    struct written first = write_spec(&spec), second;
    struct cluster_pool_method method;
    struct cluster_pool_option option;
    struct cluster_pool_spec out;
    uint32_t node;

    (void)state;
    assert_int_equal(cluster_pool_spec_read(written_bytes(&first), &out), 0);
    second = write_spec(&out);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    assert_memory_equal(out.name.data, "counter", 7);
    assert_true(out.own_guests && out.repeat_all && out.spread_zones);
    assert_int_equal(out.durability, CLUSTER_DURABILITY_ACKED);
    assert_true(cluster_pool_spec_next_method(&out.methods, &method));
    assert_true(method.id == 5 && method.repeat && !method.outside);
    assert_true(cluster_pool_spec_next_node(&out.not_on, &node));
    assert_int_equal(node, 3);
    assert_true(cluster_pool_spec_next_option(&out.options, &option));
    assert_true(cluster_pool_spec_next_option(&out.options, &option));
    assert_int_equal(option.number, 1 << 30);
    assert_false(cluster_pool_spec_next_option(&out.options, &option));
    written_release(&first);
    written_release(&second);
}

/* r[verify cluster.wire.strict] */
static void a_spec_that_is_cut_is_refused(void **state)
{
    struct written all = write_spec(&spec);
    struct cluster_pool_spec out;

    (void)state;
    for (size_t size = 0; size < all.size; size++) {
        struct written cut = written_cut(&all, size);

        assert_int_equal(cluster_pool_spec_read(written_bytes(&cut), &out), RAPAHUB_EFORMAT);
        assert_memory_equal(rapahub_last_error()->text, "the spec of a pool: ", 20);
        written_release(&cut);
    }
    written_release(&all);
}

#define RESULT(code, ...)                        \
    do {                                         \
        struct cluster_pool_spec changed = spec; \
        changed.__VA_ARGS__;                     \
        assert_int_equal(put(changed), code);    \
    } while (0)
#define REFUSES(...) RESULT(RAPAHUB_EINVAL, __VA_ARGS__)
#define TAKES(...)   RESULT(0, __VA_ARGS__)

/* r[verify cluster.pool.spec] */
static void copies_are_kept_where_a_pool_is_durable_by_them(void **state)
{
    (void)state;
    REFUSES(durability = CLUSTER_DURABILITIES);
    REFUSES(durability = CLUSTER_DURABILITY_NONE);
    REFUSES(durability = CLUSTER_DURABILITY_LOCAL);
    TAKES(durability = CLUSTER_DURABILITY_LOCAL, changed.copies = changed.min_copies = 0);
    REFUSES(durability = CLUSTER_DURABILITY_NONE, changed.copies = 0);
    TAKES(durability = CLUSTER_DURABILITY_CHECKPOINT);
    REFUSES(copies = 0);
    REFUSES(copies = 0, changed.min_copies = 0);
    REFUSES(copies = 17);
    TAKES(copies = 16);
    REFUSES(min_copies = 0);
    TAKES(min_copies = 2);
    REFUSES(min_copies = 3);
}

/* r[verify cluster.pool.spec] */
static void what_no_pool_can_be_is_refused(void **state)
{
    static const char big[CLUSTER_POOL_SPEC_PARAMS_MAX + 1];
    const struct cluster_pool_method nothing = {5, false, false};
    const struct cluster_pool_option bad[] = {
        {{"", 0}, TEXT("w"), 0}, {TEXT("k"), TEXT("w"), 1}, {TEXT("k"), {big, 64}, 0}};
    const uint32_t none = 0;

    (void)state;
    REFUSES(name.size = 0);
    REFUSES(name = (struct rapahub_string)TEXT("a/b"));
    REFUSES(module.size = 0);
    REFUSES(version.size = 0);
    REFUSES(digest.size = 31);
    TAKES(containers = 0);
    TAKES(containers = 4096);
    REFUSES(containers = 4097);
    REFUSES(on_daemon_death = CLUSTER_DAEMON_CHOICES);
    REFUSES(on_fence = CLUSTER_FENCE_CHOICES);
    TAKES(params = (struct rapahub_string){big, sizeof big - 1});
    REFUSES(params = (struct rapahub_string){big, sizeof big});
    TAKES(trust = (struct rapahub_string){big, 63});
    REFUSES(trust = (struct rapahub_string){big, 64});
    REFUSES(methods = (struct cluster_list){.of = &nothing, .count = 1});
    REFUSES(nodes = (struct cluster_list){.of = &none, .count = 1});
    REFUSES(not_on = (struct cluster_list){.of = &none, .count = 1});
    for (int i = 0; i < 3; i++)
        REFUSES(options = (struct cluster_list){.of = &bad[i], .count = 1});
    REFUSES(methods.count = CLUSTER_POOL_SPEC_METHODS_MAX + 1);
    REFUSES(nodes.count = CLUSTER_POOL_SPEC_NODES_MAX + 1);
    REFUSES(not_on.count = CLUSTER_POOL_SPEC_NODES_MAX + 1);
    REFUSES(options.count = CLUSTER_POOL_SPEC_OPTIONS_MAX + 1);
}

/* The keys in which the spec of the test differs from another, each followed by a space. */
static const char *differ(struct cluster_pool_spec other)
{
    static char text[256];
    struct written written[2] = {write_spec(&spec), write_spec(&other)};
    const char *keys[CLUSTER_POOL_SPEC_KEYS];
    struct cluster_pool_spec read[2];
    uint32_t count;

    for (int i = 0; i < 2; i++)
        assert_int_equal(cluster_pool_spec_read(written_bytes(&written[i]), &read[i]), 0);
    count = cluster_pool_spec_differ(&read[0], &read[1], keys);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(text);

        snprintf(text + length, sizeof text - length, "%s ", keys[i]);
    }
    for (int i = 0; i < 2; i++)
        written_release(&written[i]);
    return text;
}

#define DIFFER(keys, ...)                           \
    do {                                            \
        struct cluster_pool_spec changed = spec;    \
        changed.__VA_ARGS__;                        \
        assert_string_equal(differ(changed), keys); \
    } while (0)

/* r[verify cluster.pool.differ] */
static void the_keys_in_which_two_specs_differ_are_said_once(void **state)
{
    (void)state;
    DIFFER("", name.size = 7);
    DIFFER("pool_name ", name.size = 6);
    DIFFER("module ", module.size = 3, changed.version.size = 1);
    DIFFER("containers ", containers = 5);
    DIFFER("guests ", own_guests = false);
    DIFFER("durability ", durability = CLUSTER_DURABILITY_CHECKPOINT);
    DIFFER("on_daemon_death on_fence ", on_daemon_death = 0, changed.on_fence = 0);
    DIFFER("copies min_copies ", copies = 3, changed.min_copies = 3);
    DIFFER("pool_name ", name.data = "another");
    DIFFER("repeat ", methods.count = 1);
    DIFFER("repeat ", repeat_all = false, changed.methods.count = 1);
    DIFFER("idle_to_zero ", idle_to_zero_ns = 6);
    DIFFER("placement ", spread_zones = false, changed.nodes.count = 1, changed.not_on.count = 0);
    DIFFER("trust params ", trust.size = 1, changed.params.size = 0);
    DIFFER("supervise ", options.of = &options[1], changed.options.count = 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_is_read_as_it_was_written),
        cmocka_unit_test(a_spec_that_is_cut_is_refused),
        cmocka_unit_test(copies_are_kept_where_a_pool_is_durable_by_them),
        cmocka_unit_test(what_no_pool_can_be_is_refused),
        cmocka_unit_test(the_keys_in_which_two_specs_differ_are_said_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
