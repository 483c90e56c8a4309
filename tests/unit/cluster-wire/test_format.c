/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/format.h"
#include "tests/unit/cluster-wire/written.h"

struct point {
    uint32_t x;
    struct rapahub_string name;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, u32), RAPAHUB_MEMBER(point, name, string));

struct path {
    uint64_t number;
    struct cluster_list points;
    struct cluster_list numbers;
};
RAPAHUB_RECORD(path, RAPAHUB_MEMBER(path, number, u64));

static const char *why_not_path(const void *value)
{
    return ((const struct path *)value)->number == 13 ? "its number is 13" : NULL;
}

static const char *why_not_point(const void *value)
{
    return ((const struct point *)value)->x == 13 ? "its x is 13" : NULL;
}

static const struct cluster_format format = {
    "a path",
    &rapahub_type_path,
    {{&rapahub_type_point, offsetof(struct path, points), 3, why_not_point},
     {&rapahub_type_u32, offsetof(struct path, numbers), 2, NULL}},
    why_not_path};

static const struct point points[] = {{300, {"a", 1}}, {1, {"", 0}}, {2, {"xyz", 3}}, {3, {"", 0}}};
static const uint32_t numbers[] = {7, 8, 9};
static const uint8_t bytes[] = {1, 5, 2, 0xac, 2, 1, 'a', 1, 0, 1, 7};

static int read(const void *data, size_t size, struct path *out)
{
    struct written exact = written_cut(&(struct written){(uint8_t *)(uintptr_t)data, size}, size);
    int r = cluster_format_read(&format, (struct rapahub_bytes){exact.data, size}, out);

    written_release(&exact);
    return r;
}

/* r[verify cluster.wire.strict] */
static void a_value_is_a_format_byte_members_and_lists(void **state)
{
    const struct path path = {5, {.of = points, .count = 2}, {.of = numbers, .count = 1}};
    uint8_t to[64];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_format_put(&writer, &format, &path), 0);
    assert_int_equal(writer.size, sizeof bytes);
    assert_memory_equal(to, bytes, sizeof bytes);
    hub_writer_count(&writer);
    assert_int_equal(cluster_format_put(&writer, &format, &path), 0);
    assert_int_equal(writer.size, sizeof bytes);
}

/* r[verify cluster.wire.strict] */
static void what_was_read_can_be_walked_and_written_again(void **state)
{
    struct rapahub_bytes from = {bytes, sizeof bytes};
    uint8_t to[64];
    struct hub_writer writer;
    struct point point;
    struct path path;
    uint32_t number;

    (void)state;
    assert_int_equal(cluster_format_read(&format, from, &path), 0);
    assert_int_equal(path.number, 5);
    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_format_put(&writer, &format, &path), 0);
    assert_int_equal(writer.size, sizeof bytes);
    assert_memory_equal(to, bytes, sizeof bytes);
    assert_true(cluster_format_next(&path.points, &rapahub_type_point, &point));
    assert_int_equal(point.x, 300);
    assert_int_equal(point.name.size, 1);
    assert_true(cluster_format_next(&path.points, &rapahub_type_point, &point));
    assert_int_equal(point.x, 1);
    assert_false(cluster_format_next(&path.points, &rapahub_type_point, &point));
    assert_true(cluster_format_next(&path.numbers, &rapahub_type_u32, &number));
    assert_int_equal(number, 7);
    assert_int_equal(path.numbers.encoded.size, 0);
    assert_false(cluster_format_next(&path.numbers, &rapahub_type_u32, &number));
}

/* r[verify cluster.wire.strict] */
static void a_value_that_is_cut_or_longer_is_refused(void **state)
{
    uint8_t longer[sizeof bytes + 1] = {0};
    struct path path;

    (void)state;
    for (size_t cut = 0; cut < sizeof bytes; cut++) {
        assert_int_equal(read(bytes, cut, &path), RAPAHUB_EFORMAT);
        assert_string_equal(rapahub_last_error()->rule, "cluster.wire.strict");
        assert_memory_equal(rapahub_last_error()->text, "a path: ", 8);
    }
    memcpy(longer, bytes, sizeof bytes);
    assert_int_equal(read(longer, sizeof bytes, &path), 0);
    assert_int_equal(read(longer, sizeof longer, &path), RAPAHUB_EFORMAT);
}

static void refuses(const uint8_t *data, size_t size, const char *text)
{
    struct path path;

    assert_int_equal(read(data, size, &path), RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->text, text);
}

/* r[verify cluster.wire.strict] */
static void what_is_not_sound_is_refused_by_its_reason(void **state)
{
    const uint8_t unknown[] = {2, 5, 0, 0}, thirteen[] = {1, 13, 0, 0},
                  element[] = {1, 5, 2, 1, 0, 13, 0, 0}, many[] = {1, 5, 0, 3, 1, 2, 3},
                  all[] = {1, 5, 0, 2, 1, 2};
    struct path path;

    (void)state;
    refuses(unknown, sizeof unknown, "a path: of a format that this release does not know");
    refuses(thirteen, sizeof thirteen, "a path: its number is 13");
    refuses(element, sizeof element, "a path: its x is 13");
    refuses(many, sizeof many, "a path: a list is longer than its limit");
    assert_int_equal(read(all, sizeof all, &path), 0);
}

/* r[verify cluster.wire.strict] */
static void what_a_reader_would_refuse_is_not_written(void **state)
{
    const struct point thirteen[] = {{1, {"", 0}}, {13, {"", 0}}};
    struct path path = {13, {.of = points, .count = 3}, {.of = numbers, .count = 2}};
    uint8_t to[64];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_format_put(&writer, &format, &path), RAPAHUB_EINVAL);
    path.number = 5;
    path.points.count = 4;
    assert_int_equal(cluster_format_put(&writer, &format, &path), RAPAHUB_EINVAL);
    path.points = (struct cluster_list){.of = thirteen, .count = 2};
    assert_int_equal(cluster_format_put(&writer, &format, &path), RAPAHUB_EINVAL);
    path.points.count = 1;
    path.numbers.count = 3;
    assert_int_equal(cluster_format_put(&writer, &format, &path), RAPAHUB_EINVAL);
    assert_int_equal(writer.size, 0);
    path.numbers.count = 2;
    assert_int_equal(cluster_format_put(&writer, &format, &path), 0);
    hub_writer_init(&writer, to, 3);
    assert_int_equal(cluster_format_put(&writer, &format, &path), RAPAHUB_EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_a_format_byte_members_and_lists),
        cmocka_unit_test(what_was_read_can_be_walked_and_written_again),
        cmocka_unit_test(a_value_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(what_is_not_sound_is_refused_by_its_reason),
        cmocka_unit_test(what_a_reader_would_refuse_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
