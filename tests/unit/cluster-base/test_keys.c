/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"
#include "tests/support/testing.h"

#define POOL   (UINT64_C(0x100) << 32 | 2)
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* One key of each kind, in the order of the kinds. */
static const struct {
    const char *text;
    struct cluster_key key;
} keys[] = {
    {"/c/meta", {.kind = CLUSTER_KEY_META}},
    {"/c/next_node", {.kind = CLUSTER_KEY_NEXT_NODE}},
    {"/c/next_pool", {.kind = CLUSTER_KEY_NEXT_POOL}},
    {"/c/node/0000000a", {.kind = CLUSTER_KEY_NODE, .node = 10}},
    {"/c/sess/ffffffff", {.kind = CLUSTER_KEY_SESSION, .node = UINT32_MAX}},
    {"/c/lead", {.kind = CLUSTER_KEY_LEAD}},
    {"/c/pool/0000010000000002", {.kind = CLUSTER_KEY_POOL, .pool = POOL}},
    {"/c/name/kv-1.main", {.kind = CLUSTER_KEY_NAME, .text = TEXT("kv-1.main")}},
    {"/c/addr/0000010000000002/00000fff",
     {.kind = CLUSTER_KEY_ENTRY, .pool = POOL, .container = 4095}},
    {"/c/log", {.kind = CLUSTER_KEY_LOG}},
    {"/c/hold/0000010000000002/00000000", {.kind = CLUSTER_KEY_HOLD, .pool = POOL}},
    {"/c/op/00000000000000ff", {.kind = CLUSTER_KEY_OPERATION, .number = 255}},
    {"/c/op/recover-00000003-0050000000000001",
     {.kind = CLUSTER_KEY_RECOVERY, .node = 3, .revision = UINT64_C(0x0050000000000001)}},
    {"/c/mod/kv/1.2.3+git",
     {.kind = CLUSTER_KEY_MODULE, .text = TEXT("kv"), .version = TEXT("1.2.3+git")}},
    {"/c/mod/kv/1.2/have/00000001",
     {.kind = CLUSTER_KEY_MODULE_HAVE, .node = 1, .text = TEXT("kv"), .version = TEXT("1.2")}},
    {"/c/token/0123456789abcdef",
     {.kind = CLUSTER_KEY_TOKEN, .number = UINT64_C(0x0123456789abcdef)}},
    {"/c/revoked/1f", {.kind = CLUSTER_KEY_REVOKED, .text = TEXT("1f")}},
    {"/c/import/" DIGEST, {.kind = CLUSTER_KEY_IMPORT, .text = TEXT(DIGEST)}},
    {"/w/0000000100000002/3f",
     {.kind = CLUSTER_KEY_MARKER, .number = UINT64_C(0x100000002), .slot = 63}},
};
#define KEYS (sizeof keys / sizeof *keys)

static struct rapahub_bytes bytes(const char *text)
{
    return (struct rapahub_bytes){text, strlen(text)};
}

static int parse(const char *text)
{
    struct cluster_key key;

    return cluster_keys_parse(bytes(text), &key);
}

static bool is_same_text(struct rapahub_string a, struct rapahub_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* r[verify cluster.keys.form] */
static void a_key_of_each_kind_is_written_and_read(void **state)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_key read;

    (void)state;
    assert_int_equal(KEYS, CLUSTER_KEY_KINDS);
    for (size_t i = 0; i < KEYS; i++) {
        const struct cluster_key *key = &keys[i].key;

        assert_int_equal(key->kind, i);
        assert_int_equal(cluster_keys_build(key, text), strlen(keys[i].text));
        assert_memory_equal(text, keys[i].text, strlen(keys[i].text));
        assert_int_equal(cluster_keys_parse(bytes(keys[i].text), &read), 0);
        assert_int_equal(read.kind, key->kind);
        assert_int_equal(read.node, key->node);
        assert_int_equal(read.container, key->container);
        assert_int_equal(read.slot, key->slot);
        assert_int_equal(read.pool, key->pool);
        assert_int_equal(read.number, key->number);
        assert_int_equal(read.revision, key->revision);
        assert_true(is_same_text(read.text, key->text));
        assert_true(is_same_text(read.version, key->version));
    }
}

/* r[verify cluster.keys.form] */
static void a_key_that_is_cut_or_longer_is_none(void **state)
{
    char longer[CLUSTER_KEYS_SIZE_MAX + 1];

    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        size_t size = strlen(keys[i].text);
        struct cluster_key read;
        bool has_text = keys[i].key.text.size > 0;

        for (size_t cut = 0; cut < size; cut++)
            if (cluster_keys_parse((struct rapahub_bytes){keys[i].text, cut}, &read) == 0)
                assert_true(has_text); /* the rest of it is one, too */
        memcpy(longer, keys[i].text, size);
        longer[size] = '/';
        assert_int_equal(cluster_keys_parse((struct rapahub_bytes){longer, size + 1}, &read),
                         RAPAHUB_EFORMAT);
        assert_string_equal(rapahub_last_error()->rule, "cluster.keys.form");
    }
}

/* r[verify cluster.keys.form] */
static void a_number_has_its_digits_and_no_others(void **state)
{
    (void)state;
    assert_int_equal(parse("/c/node/0000000A"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/node/a"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/node/00000000a"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/node/0x00000a"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/node/ 000000a"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/node/00000000"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/pool/000000ff00000002"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/pool/ffffffff00000010"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/addr/0000010000000002/00001000"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/op/0000000000000000"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/op/recover-00000003-8050000000000001"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/op/recover-00000003-0050000000000000"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/w/0000000100000002/40"), RAPAHUB_EFORMAT);
}

/* r[verify cluster.keys.form] */
static void a_digest_and_a_serial_number_have_their_digits(void **state)
{
    (void)state;
    assert_int_equal(parse("/c/revoked/f"), 0);
    assert_int_equal(parse("/c/revoked/0123456789012345678901234567890123456789"), 0);
    assert_int_equal(parse("/c/revoked/01234567890123456789012345678901234567890"),
                     RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/revoked/"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/revoked/gf"), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/import/0" DIGEST), RAPAHUB_EFORMAT);
    assert_int_equal(parse("/c/import/0123"), RAPAHUB_EFORMAT);
}

/* r[verify cluster.keys.form] */
static void what_is_no_key_is_refused_with_its_text(void **state)
{
    char many[4 * CLUSTER_KEYS_SIZE_MAX];
    struct cluster_key key;

    (void)state;
    assert_int_equal(parse("/d/meta"), RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->text, "'/d/meta' is no key of a cluster");
    assert_int_equal(parse(""), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_keys_parse((struct rapahub_bytes){NULL, 0}, &key), RAPAHUB_EFORMAT);
    memset(many, 'a', sizeof many);
    memcpy(many, "/c/name/", 8);
    assert_int_equal(cluster_keys_parse((struct rapahub_bytes){many, sizeof many}, &key),
                     RAPAHUB_EFORMAT);
    assert_true(strlen(rapahub_last_error()->text) < CLUSTER_KEYS_SIZE_MAX + 32);
    assert_int_equal(key.text.size, 0);
}

static struct rapahub_string string(const char *text)
{
    return (struct rapahub_string){text, strlen(text)};
}

static bool is_name(const char *text)
{
    return cluster_keys_is_name(string(text));
}

/* r[verify cluster.keys.name] */
static void a_name_is_no_path_and_no_option(void **state)
{
    char most[CLUSTER_KEYS_NAME_MAX + 2];

    (void)state;
    assert_true(is_name("kv"));
    assert_true(is_name("_a-b.c9Z"));
    assert_true(is_name("zA0"));
    assert_false(is_name("/a"));
    assert_false(is_name(""));
    assert_false(is_name("."));
    assert_false(is_name("..")); /* a name is a folder, too */
    assert_false(is_name("-n"));
    assert_false(is_name("a/b"));
    assert_false(is_name("a b"));
    assert_false(is_name("a\n"));
    assert_false(is_name("\xc3\xa4"));
    assert_false(cluster_keys_is_name((struct rapahub_string){"a\0b", 3}));
    assert_false(cluster_keys_is_name((struct rapahub_string){"\0", 1}));
    memset(most, 'a', sizeof most);
    assert_true(cluster_keys_is_name((struct rapahub_string){most, CLUSTER_KEYS_NAME_MAX}));
    assert_false(cluster_keys_is_name((struct rapahub_string){most, CLUSTER_KEYS_NAME_MAX + 1}));
    assert_true(cluster_keys_is_version((struct rapahub_string){most, CLUSTER_KEYS_VERSION_MAX}));
    assert_false(
        cluster_keys_is_version((struct rapahub_string){most, CLUSTER_KEYS_VERSION_MAX + 1}));
    assert_true(cluster_keys_is_version(string("1.0~rc1+2")));
    assert_false(cluster_keys_is_version(string("+1")));
    assert_false(is_name("1.0~rc1"));
}

/* r[verify cluster.keys.form] */
static void a_key_that_could_not_be_read_is_not_written(void **state)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_key key = {.kind = CLUSTER_KEY_KINDS};

    (void)state;
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
    key.kind = CLUSTER_KEY_NODE;
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
    key = (struct cluster_key){.kind = CLUSTER_KEY_NAME, .text = TEXT("a/b")};
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
    key = (struct cluster_key){.kind = CLUSTER_KEY_ENTRY, .pool = POOL, .container = 4096};
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
    key = (struct cluster_key){.kind = CLUSTER_KEY_REVOKED, .text = TEXT("1F")};
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
    key = (struct cluster_key){.kind = CLUSTER_KEY_MARKER, .number = 1, .slot = 64};
    assert_int_equal(cluster_keys_build(&key, text), RAPAHUB_EINVAL);
}

static bool is_within(const char *text, const char *from, const char *past, int size)
{
    return strncmp(text, from, (size_t)size) >= 0 && strncmp(text, past, (size_t)size) < 0;
}

/* r[verify cluster.keys.order] */
static void the_keys_of_a_kind_and_of_a_pool_lie_together(void **state)
{
    char from[CLUSTER_KEYS_SIZE_MAX], past[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_prefix(CLUSTER_KEY_ENTRY, 0, from, past);

    (void)state;
    assert_int_equal(size, 8);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(is_within(keys[i].text, from, past, size),
                         keys[i].key.kind == CLUSTER_KEY_ENTRY);
    size = cluster_keys_prefix(CLUSTER_KEY_ENTRY, POOL, from, past);
    assert_int_equal(size, 25);
    assert_memory_equal(from, "/c/addr/0000010000000002/", 25);
    assert_memory_equal(past, "/c/addr/00000100000000020", 25);
    assert_true(is_within("/c/addr/0000010000000002/00000fff", from, past, size));
    assert_false(is_within("/c/addr/0000010000000003/00000000", from, past, size));
    assert_int_equal(cluster_keys_prefix(CLUSTER_KEY_META, POOL, from, past), 7);
    assert_int_equal(cluster_keys_prefix(CLUSTER_KEY_HOLD, 1, from, past), RAPAHUB_EINVAL);
    assert_int_equal(cluster_keys_prefix(CLUSTER_KEY_KINDS, 0, from, past), RAPAHUB_EINVAL);
}

/* r[verify cluster.keys.order] */
static void keys_are_ordered_as_their_numbers_are(void **state)
{
    char one[CLUSTER_KEYS_SIZE_MAX], other[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_key key = {.kind = CLUSTER_KEY_SESSION, .node = 9};
    int size = cluster_keys_build(&key, one);

    (void)state;
    key.node = 10;
    assert_int_equal(cluster_keys_build(&key, other), size);
    assert_true(memcmp(one, other, (size_t)size) < 0);
    key.node = 256;
    assert_int_equal(cluster_keys_build(&key, one), size);
    assert_true(memcmp(other, one, (size_t)size) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_of_each_kind_is_written_and_read),
        cmocka_unit_test(a_key_that_is_cut_or_longer_is_none),
        cmocka_unit_test(a_number_has_its_digits_and_no_others),
        cmocka_unit_test(a_digest_and_a_serial_number_have_their_digits),
        cmocka_unit_test(what_is_no_key_is_refused_with_its_text),
        cmocka_unit_test(a_name_is_no_path_and_no_option),
        cmocka_unit_test(a_key_that_could_not_be_read_is_not_written),
        cmocka_unit_test(the_keys_of_a_kind_and_of_a_pool_lie_together),
        cmocka_unit_test(keys_are_ordered_as_their_numbers_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
