/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/revocation.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define RULE "cluster.identity.revoked"

void cluster_revocation_fini(struct cluster_revocation *revocation)
{
    free(revocation->of);
    *revocation = (struct cluster_revocation){NULL, 0, 0};
}

/* A number is greater than a shorter one, as it has no byte 0 at its beginning. */
static int compare(const struct cluster_revocation_serial *serial, const uint8_t *bytes,
                   size_t size)
{
    if (serial->size != size)
        return serial->size < size ? -1 : 1;
    return memcmp(serial->bytes, bytes, size);
}

/* Returns the place of the first number that is not less. */
static size_t find(const struct cluster_revocation *revocation, const uint8_t *bytes, size_t size)
{
    size_t from = 0, to = revocation->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (compare(&revocation->of[middle], bytes, size) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool cluster_revocation_has(const struct cluster_revocation *revocation, const uint8_t *serial,
                            size_t size)
{
    size_t at = find(revocation, serial, size);

    return at < revocation->count && compare(&revocation->of[at], serial, size) == 0;
}

static int grow(struct cluster_revocation *revocation)
{
    size_t room = revocation->room > 0 ? 2 * revocation->room : 16;
    struct cluster_revocation_serial *of;

    if (revocation->count < revocation->room)
        return 0;
    if (revocation->count >= CLUSTER_REVOCATION_MAX)
        return rapahub_fail(RAPAHUB_EFULL, RULE, "more than %d certificates are revoked",
                            CLUSTER_REVOCATION_MAX);
    of = realloc(revocation->of, room * sizeof *of);
    if (!of)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a revoked certificate");
    revocation->of = of;
    revocation->room = room;
    return 0;
}

int cluster_revocation_add(struct cluster_revocation *revocation,
                           const struct cluster_revocation_serial *serial)
{
    size_t at = find(revocation, serial->bytes, serial->size);
    int r;

    if (cluster_revocation_has(revocation, serial->bytes, serial->size))
        return 0;
    r = grow(revocation);
    if (r < 0)
        return r;
    memmove(&revocation->of[at + 1], &revocation->of[at],
            (revocation->count - at) * sizeof *revocation->of);
    revocation->of[at] = *serial;
    revocation->count++;
    return 0;
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

int cluster_revocation_parse(struct rapahub_string text, struct cluster_revocation_serial *out)
{
    struct cluster_revocation_serial serial = {.size = text.size / 2};
    bool sound =
        serial.size > 0 && text.size % 2 == 0 && serial.size <= CLUSTER_CERTIFICATE_SERIAL_MAX;

    for (size_t i = 0; sound && i < serial.size; i++) {
        int high = digit_of(text.data[2 * i]), low = digit_of(text.data[2 * i + 1]);

        sound = high >= 0 && low >= 0;
        serial.bytes[i] = (uint8_t)(sound ? high << 4 | low : 0);
    }
    if (!sound || serial.bytes[0] == 0)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "it is no serial number of a certificate: up to 40 hexadecimal digits, "
                            "two a byte, as openssl x509 -serial prints it");
    *out = serial;
    return 0;
}
