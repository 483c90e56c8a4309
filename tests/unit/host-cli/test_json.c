/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/text/json.h"
#include "tests/support/testing.h"

static void a_document_is_what_a_reader_takes(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct cli_json json;
    json_t *read;

    (void)state;
    cli_json_begin(&json, to, "rapahub.test/1");
    cli_json_put(&json, MEMBER("text", "a \"b\" \\ \n\t\x01 ü"));
    cli_json_put(&json, cli_json_raw("raw", "[0.1]"));
    cli_json_put(&json, MEMBER("bad", rapahub_string_of("\xff!")),
                 MEMBER("most", UINT64_C(9223372036854775807)), MEMBER("least", INT64_MIN),
                 MEMBER("yes", (bool)true), MEMBER_TIME("time", 1));
    cli_json_open(&json, "list", CLI_JSON_LIST);
    cli_json_put(&json, MEMBER(NULL, "x"));
    cli_json_open(&json, NULL, CLI_JSON_OBJECT);
    cli_json_close(&json);
    cli_json_close(&json);
    cli_json_open(&json, "object", CLI_JSON_OBJECT);
    cli_json_put(&json, MEMBER("one", 1));
    cli_json_close(&json);
    assert_int_equal(cli_json_end(&json), 0);
    fclose(to);

    read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(read);
    assert_int_equal(text[size - 1], '\n');
    assert_string_equal(json_string_value(json_object_get(read, "schema")), "rapahub.test/1");
    assert_string_equal(json_string_value(json_object_get(read, "text")), "a \"b\" \\ \n\t\x01 ü");
    assert_string_equal(json_string_value(json_object_get(read, "bad")), "\xef\xbf\xbd!");
    assert_int_equal(json_integer_value(json_object_get(read, "most")), INT64_MAX);
    assert_int_equal(json_integer_value(json_object_get(read, "least")), INT64_MIN);
    assert_true(json_is_true(json_object_get(read, "yes")));
    assert_int_equal(json_array_size(json_object_get(read, "raw")), 1);
    assert_string_equal(json_string_value(json_object_get(read, "time")),
                        "1970-01-01T00:00:00.000000001Z");
    assert_int_equal(json_array_size(json_object_get(read, "list")), 2);
    assert_int_equal(json_object_size(json_object_get(read, "object")), 1);
    json_decref(read);
    free(text);
}

/* No terminal is driven by it, whoever wrote the text. r[verify exp.terminal] */
static void each_text_has_one_form(void **state)
{
    static const char expected[] = "{\"schema\": \"rapahub.test/1\", \"text\": "
                                   "\"\\u0008\\u000c\\u000a\\u000d\\u0009\\u001f\\u007f\\u0085\\u06"
                                   "1c\\u202e / \\\" \\\\ \\\\u00AB "
                                   "\xc3\xbc \xf0\x9f\x98\x80 \\ufffd\\ufffd\\ufffdx\"}\n";
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct cli_json json;

    (void)state;
    cli_json_begin(&json, to, "rapahub.test/1");
    cli_json_put(&json,
                 MEMBER("text",
                        "\b\f\n\r\t\x1f\x7f\xc2\x85\xd8\x9c\xe2\x80\xae / \" \\ \\u00AB \xc3\xbc "
                        "\xf0\x9f\x98\x80 \xc3\xe2\x80x"));
    cli_json_end(&json);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

/* As jansson would not print it. */
static void a_raw_member_stays_as_it_is(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct cli_json json;

    (void)state;
    cli_json_begin(&json, to, "s");
    cli_json_put(&json, cli_json_raw("result", "[18446744073709551615, 0.1]"));
    cli_json_put(&json, MEMBER("last", 1));
    assert_int_equal(cli_json_end(&json), 0);
    fclose(to);
    assert_string_equal(
        text, "{\"schema\": \"s\", \"result\": [18446744073709551615, 0.1], \"last\": 1}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_what_a_reader_takes),
        cmocka_unit_test(each_text_has_one_form),
        cmocka_unit_test(a_raw_member_stays_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
