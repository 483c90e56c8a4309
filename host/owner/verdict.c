/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/verdict.h"

#include <stdio.h>

#include <rapahub/error.h>

void host_verdict_take(struct host_verdict *verdict, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();

    verdict->code = code;
    verdict->application = last->application;
    verdict->rule = last->rule;
    snprintf(verdict->text, sizeof verdict->text, "%s",
             last->code == code ? last->text : rapahub_error_text(code));
}

int host_verdict_give(const struct host_verdict *verdict)
{
    if (verdict->code >= 0)
        return verdict->code;
    if (verdict->code == RAPAHUB_EAPPLICATION)
        return rapahub_fail_application(verdict->application, verdict->text);
    return rapahub_fail(verdict->code, verdict->rule, "%s", verdict->text);
}
