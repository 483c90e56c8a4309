/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/answer.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

int cli_answer_keep(struct cli_answer *answer, struct rapahub_bytes payload)
{
    void *data = malloc(payload.size + 1);

    if (!data)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a result");
    if (payload.size > 0)
        memcpy(data, payload.data, payload.size);
    cli_answer_fini(answer);
    answer->payload = (struct rapahub_bytes){data, payload.size};
    return 0;
}

void cli_answer_fini(struct cli_answer *answer)
{
    union {
        const void *shown;
        void *owned;
    } data = {answer->payload.data};

    free(data.owned);
    answer->payload = (struct rapahub_bytes){NULL, 0};
}
