/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's hash is played by a pipe, for not every machine has it: its digest is 0, 1, … 31. */
#include <fcntl.h>
#include <linux/if_alg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/cli/text/sha256.h"
#include "tests/support/testing.h"

#define PIECE ((size_t)65536)

static struct {
    unsigned sent;
    size_t bytes;
    bool ended, ended_early; /* a piece came without MSG_MORE; and another one after it */
} hash;

int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
    (void)type;
    (void)protocol;
    assert_int_equal(domain, AF_ALG);
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    const struct sockaddr_alg *hashes = (const void *)address;

    assert_int_equal(size, sizeof *hashes);
    assert_int_equal(hashes->salg_family, AF_ALG);
    assert_string_equal((const char *)hashes->salg_type, "hash");
    assert_string_equal((const char *)hashes->salg_name, "sha256");
    return fd >= 0 ? 0 : -1;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    unsigned char digest[32];
    int ends[2];

    (void)fd;
    (void)address;
    (void)size;
    (void)flags;
    for (unsigned i = 0; i < sizeof digest; i++)
        digest[i] = (unsigned char)i;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], digest, sizeof digest), sizeof digest);
    close(ends[1]);
    return ends[0];
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    const unsigned char *bytes = data;

    (void)fd;
    assert_in_range(size, 1, PIECE);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], (hash.bytes + i) % 251);
    hash.sent++;
    hash.bytes += size;
    hash.ended_early = hash.ended_early || hash.ended;
    hash.ended = !(flags & MSG_MORE);
    return (ssize_t)size;
}

/* The kernel makes the digest when a piece comes after which there is no more. */
static void all_pieces_but_the_last_say_that_more_come(void **state)
{
    static const size_t sizes[] = {1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 500};
    static unsigned char data[3 * PIECE];
    char text[65];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i % 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(&hash, 0, sizeof hash);
        assert_true(cli_sha256(data, sizes[i], text));
        assert_string_equal(text,
                            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        assert_int_equal(hash.bytes, sizes[i]);
        assert_int_equal(hash.sent, (sizes[i] + PIECE - 1) / PIECE);
        assert_true(hash.ended && !hash.ended_early);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pieces_but_the_last_say_that_more_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
