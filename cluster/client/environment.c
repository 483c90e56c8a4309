/* SPDX-License-Identifier: Apache-2.0 */
/* environment: the variables that say how long a client waits, and how it calls. The names with
 * CHI_ are those of Chimaera, so that a script which sets them goes on working. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "hub/base/clock.h"

#define MOST_S 86400.0 /* a day */

static int read_seconds(const char *name, const char *value, uint64_t *out)
{
    char *end = NULL;
    double seconds;

    errno = 0;
    seconds = strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 || !(seconds > 0.0) || seconds > MOST_S)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "%s is '%s'; it takes seconds above 0, such as 0.5, at most a day",
                            name, value);
    *out = (uint64_t)(seconds * (double)HUB_SECOND);
    if (*out == 0)
        *out = 1; /* 0 would be the default */
    return 0;
}

/* Sets what is 0 from the first of the variables that is there. */
static int read_variable(const char *const names[], uint64_t *out)
{
    for (; *names && *out == 0; names++) {
        const char *value = getenv(*names);

        if (value && value[0])
            return read_seconds(*names, value, out);
    }
    return 0;
}

static int read_transport(enum rapahub_client_transport *out)
{
    static const char name[] = "RAPAHUB_CLIENT_TRANSPORT";
    static const char *const words[] = {[RAPAHUB_CLIENT_AUTOMATIC] = "automatic",
                                        [RAPAHUB_CLIENT_SOCKET] = "socket",
                                        [RAPAHUB_CLIENT_SHARED_MEMORY] = "shared-memory"};
    const char *value = getenv(name);

    if (*out != RAPAHUB_CLIENT_AUTOMATIC || !value || !value[0])
        return 0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0) {
            *out = (enum rapahub_client_transport)i;
            return 0;
        }
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "%s is '%s'; it takes automatic, socket or shared-memory", name, value);
}

static const char *read_text(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

/* r[impl cluster.client.variables] */
int rapahub_client_environment(struct rapahub_client_options *options)
{
    static const char *const wait[] = {"RAPAHUB_WAIT_SERVER", "CHI_WAIT_SERVER", NULL},
                             *const retry[] = {"RAPAHUB_CLIENT_RETRY_TIMEOUT",
                                               "CHI_CLIENT_RETRY_TIMEOUT", NULL};
    int r = read_variable(wait, &options->wait_ns);

    if (r == 0)
        r = read_variable(retry, &options->retry_ns);
    if (!options->tls)
        options->tls = read_text("RAPAHUB_CLIENT_TLS");
    return r < 0 ? r : read_transport(&options->transport);
}
