/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/ticket.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define PEER_MAX 255

static const char *const manners[] = {"", "poll", "sleep", "bell"}; /* hub_ticket.waiting */
#define MANNERS (sizeof manners / sizeof manners[0])

/* Returns the rest of the last argument that begins with `name`, or NULL if there is none. */
static const char *find_last(int count, char *const *arguments, const char *name)
{
    size_t size = strlen(name);

    for (int i = count; i-- > 0;)
        if (arguments[i] && !strncmp(arguments[i], name, size))
            return arguments[i] + size;
    return NULL;
}

/* Parses digits only, without a leading zero. Returns 0 or -1. */
static int parse_decimal(const char *text, long most, long *out)
{
    long value = 0;

    if (!*text || (*text == '0' && text[1]))
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (*text - '0');
        if (value > most)
            return -1;
    }
    *out = value;
    return 0;
}

static int refuse(const char *name, const char *value, const char *what)
{
    if (!value)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", "the argument %s is missing", name);
    return rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", "%s'%.80s' is no %s", name, value, what);
}

static int parse_path(int count, char *const *arguments, struct hub_ticket *out)
{
    const char *path = find_last(count, arguments, "--hub-path=");
    size_t size = path ? strnlen(path, HUB_TICKET_PATH_MAX) : 0;

    if (size == 0 || size == HUB_TICKET_PATH_MAX)
        return refuse("--hub-path=", path, "path");
    out->hub_path = path;
    return 0;
}

static int parse_peer(int count, char *const *arguments, struct hub_ticket *out)
{
    const char *text = find_last(count, arguments, "--peer-id=");
    long peer;

    if (!text || parse_decimal(text, PEER_MAX, &peer) < 0 || peer == 0)
        return refuse("--peer-id=", text, "number from 1 to 255");
    out->peer = (uint32_t)peer;
    return 0;
}

static int parse_descriptor(const char *name, const char *text, int *out)
{
    long number;

    if (!text || parse_decimal(text, INT_MAX, &number) < 0)
        return refuse(name, text, "descriptor");
    *out = (int)number;
    return 0;
}

/* r[impl hub.wait.manner] */
static int parse_waiting(int count, char *const *arguments, struct hub_ticket *out)
{
    const char *text = find_last(count, arguments, "--waiting=");

    if (!text)
        return 0;
    for (uint32_t i = 1; i < MANNERS; i++)
        if (strcmp(text, manners[i]) == 0)
            out->waiting = i;
    return out->waiting ? 0 : refuse("--waiting=", text, "way to wait: poll, sleep or bell");
}

/* r[impl shm.spawn.args] */
int hub_ticket_parse(int count, char *const *arguments, struct hub_ticket *out)
{
    struct hub_ticket ticket = {.module = -1};
    const char *module = find_last(count, arguments, "--module-fd=");
    int r = parse_path(count, arguments, &ticket);

    if (r == 0)
        r = parse_peer(count, arguments, &ticket);
    if (r == 0)
        r = parse_descriptor("--doorbell-fd=", find_last(count, arguments, "--doorbell-fd="),
                             &ticket.doorbell);
    if (r == 0 && module)
        r = parse_descriptor("--module-fd=", module, &ticket.module);
    if (r == 0)
        r = parse_waiting(count, arguments, &ticket);
    if (r < 0)
        return r;
    ticket.name = find_last(count, arguments, "--module-name=");
    *out = ticket;
    return 0;
}

int hub_ticket_parse_path(int count, char *const *arguments, struct hub_ticket *out)
{
    struct hub_ticket ticket = {.doorbell = -1, .module = -1};
    int r;

    if (find_last(count, arguments, "--peer-id=") || find_last(count, arguments, "--doorbell-fd="))
        return hub_ticket_parse(count, arguments, out);
    r = parse_path(count, arguments, &ticket);
    if (r == 0)
        r = parse_waiting(count, arguments, &ticket);
    if (r == 0)
        *out = ticket;
    return r;
}

/* Writes the joined text to the next free element of `out`. */
static bool add(char **out, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 1;

    while (*out)
        out++;
    *out = malloc(size);
    if (*out)
        snprintf(*out, size, "%s%s", name, value);
    return *out;
}

static bool add_number(char **out, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return add(out, name, text);
}

int hub_ticket_print(const struct hub_ticket *ticket, char **out)
{
    bool done;

    memset(out, 0, (HUB_TICKET_ARGUMENTS + 1) * sizeof(*out));
    done = add(out, "--hub-path=", ticket->hub_path) &&
           add_number(out, "--peer-id=", ticket->peer) &&
           add_number(out, "--doorbell-fd=", ticket->doorbell) &&
           (ticket->module < 0 || add_number(out, "--module-fd=", ticket->module)) &&
           (!ticket->name || add(out, "--module-name=", ticket->name)) &&
           (ticket->waiting == 0 || add(out, "--waiting=", manners[ticket->waiting % MANNERS]));
    if (done)
        return 0;
    for (size_t i = 0; out[i]; i++) {
        free(out[i]);
        out[i] = NULL;
    }
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a ticket");
}
