/* SPDX-License-Identifier: Apache-2.0 */
/* raw module: a guest that serves methods. The messages of host and guest before the first call are
 * ordinary calls, with names that begin with "rapahub.". */
#ifndef TESTS_RAW_RAW_MODULE_H
#define TESTS_RAW_RAW_MODULE_H

#include <stdint.h>

#include "tests/raw/raw_link.h"
#include "tests/raw/raw_postcard.h"

/* Answers the request, or never returns; 0 or what the link said. */
typedef int raw_handler(struct raw_link *link, const struct raw_message *request, void *user);

struct raw_method {
    const char *signature; /* canonical; NULL ends the list */
    raw_handler *run;
};

struct raw_module {
    const char *name;
    const struct raw_method *methods;
    void *user;                      /* for the handlers */
    const struct raw_method *orders; /* the host's, which it takes and does not announce; or NULL */
    bool bare; /* it has its own methods only, and none that let containers begin */
};

/* Tells the host that the module is there, and waits for its answer: 0, 1 + the failure, or what
 * the link said. */
int raw_module_announce(struct raw_link *link, const struct raw_module *module, int timeout_ms);

/* Answers one Request: lists its methods, lets containers begin and end, runs a method, or refuses.
 */
int raw_module_answer(struct raw_link *link, const struct raw_module *module,
                      const struct raw_message *request);

/* Answers all Requests until the host leaves (0) or a rule is broken. Other messages are dropped.
 */
int raw_module_serve(struct raw_link *link, const struct raw_module *module);

/* For a host: lets the first container of a guest begin, under handle 1. Result as for
 * raw_call_await. */
int raw_module_begin(struct raw_link *link, uint32_t id, int timeout_ms);

/* For a host: receives the guest's announcement and answers it. 0, or the error of the link. */
int raw_module_await_ready(struct raw_link *link, int timeout_ms);

#endif
