/* SPDX-License-Identifier: Apache-2.0 */
/* Any lines as the arguments of a program: a ticket that is read prints as one that reads the
 * same. */
#include <string.h>

#include "hub/wire/ticket.h"
#include "tests/fuzz/fuzz.h"

#define ARGUMENTS_MAX 64

static void check(const struct hub_ticket *ticket)
{
    char *arguments[HUB_TICKET_ARGUMENTS + 1];
    struct hub_ticket again;
    int count = 0;

    FUZZ_HOLDS(ticket->peer >= 1 && ticket->peer <= 255 && ticket->doorbell >= 0);
    if (hub_ticket_print(ticket, arguments) < 0)
        return;
    while (arguments[count]) {
        FUZZ_HOLDS(ticket->name || strlen(arguments[count]) < HUB_TICKET_ARGUMENT_SIZE);
        count++;
    }
    FUZZ_HOLDS(hub_ticket_parse(count, arguments, &again) == 0);
    FUZZ_HOLDS(again.peer == ticket->peer && again.doorbell == ticket->doorbell &&
               again.module == ticket->module && !strcmp(again.hub_path, ticket->hub_path));
    FUZZ_HOLDS(!ticket->name == !again.name);
    FUZZ_HOLDS(!ticket->name || !strcmp(ticket->name, again.name));
    for (int i = 0; i < count; i++)
        free(arguments[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *arguments[ARGUMENTS_MAX], *text = malloc(size + 1), *rest = text;
    struct hub_ticket ticket;
    int count = 0;

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    while (count < ARGUMENTS_MAX && rest)
        arguments[count++] = strsep(&rest, "\n");
    if (hub_ticket_parse(count, arguments, &ticket) == 0)
        check(&ticket);
    free(text);
    return 0;
}
