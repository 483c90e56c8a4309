/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/services/document.h"
#include "tests/support/testing.h"

/* r[verify cluster.node.services] */
static void a_document_has_its_schema_and_its_values(void **state)
{
    struct cluster_document document;
    struct json_t *item;
    char *text;

    (void)state;
    cluster_document_begin(&document, "test/1");
    cluster_document_count(document.root, "count", 7);
    cluster_document_number(document.root, "number", UINT64_MAX);
    cluster_document_status(document.root, "status", -5);
    item = cluster_document_item(cluster_document_list(document.root, "list"));
    cluster_document_text(item, "text", (struct rapahub_string){"a\"b", 3});
    cluster_document_text(item, "empty", (struct rapahub_string){NULL, 0});
    text = cluster_document_end(&document);
    if (!text && rapahub_last_error()->code == RAPAHUB_ENOTSUP)
        skip(); /* built without jansson */
    assert_string_equal(text,
                        "{\"schema\":\"test/1\",\"count\":7,\"number\":\"18446744073709551615\","
                        "\"status\":-5,\"list\":[{\"text\":\"a\\\"b\","
                        "\"empty\":\"\"}]}");
    free(text);
}

/* r[verify cluster.node.services] */
static void bytes_that_are_no_text_are_question_marks(void **state)
{
    struct cluster_document document;
    char *text;

    (void)state;
    cluster_document_begin(&document, "test/1");
    cluster_document_text(document.root, "text", (struct rapahub_string){"a\xff\xc3z", 4});
    text = cluster_document_end(&document);
    if (!text && rapahub_last_error()->code == RAPAHUB_ENOTSUP)
        skip();
    assert_non_null(strstr(text, "\"a??z\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_document_has_its_schema_and_its_values),
                                       cmocka_unit_test(bytes_that_are_no_text_are_question_marks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
