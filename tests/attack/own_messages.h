/* SPDX-License-Identifier: Apache-2.0 */
/* own messages: what host and guest say to each other beside the calls of programs, as numbers: id,
 * and arguments that could be decoded, for the first container of the guest that gets it. */
#ifndef TESTS_ATTACK_OWN_MESSAGES_H
#define TESTS_ATTACK_OWN_MESSAGES_H

#include <stdint.h>

struct own_message {
    const char *name;
    uint64_t id;
    uint32_t size; /* bytes of the arguments */
    uint8_t arguments[16];
};

/* Nineteen that a host sends to its guests, then one that a guest sends to its host. */
static const struct own_message own_messages[] = {
    {"methods", 0x3077c6a4754718a3, 1, {0}},
    {"begin", 0xc2f3263543e66dd2, 8, {1, 1, 0, 0, 0, 0, 0, 0}},
    {"write", 0x9fca4a953b6ad477, 3, {1, 1, 'x'}},
    {"load", 0xda4e39e17346dc4b, 2, {1, 1}},
    {"save", 0x5f0b47e6e450989d, 1, {1}},
    {"read", 0x2634c9314819988f, 2, {1, 0}},
    {"plug", 0xe75c9e15b165c817, 2, {1, 1}},
    {"work", 0x1002950aa418d8b3, 1, {1}},
    {"migrate", 0x997987006e956037, 2, {1, 5}},
    {"expand", 0x5894d6d30dc180f2, 2, {1, 5}},
    {"recover", 0x6497e2cac51c81b1, 4, {1, 1, 0, 0}},
    {"health", 0xb1f52fcf235a7422, 1, {1}},
    {"fini", 0x33fbbcc189c3517b, 1, {1}},
    {"ping", 0x3c1c9dedf768d9f7, 0, {0}},
    {"down", 0xf682440bcd99842e, 6, {1, 0, 0, 0, 0, 0}},
    {"begin_token", 0xa3cb97d305ceb66b, 9, {1, 1, 0, 0, 0, 0, 0, 0, 7}},
    {"route", 0x10c2901dfaf576ab, 5, {1, 7, 1, 1, 4}},
    {"role", 0xc1a5e95c61bddd32, 8, {1, 0, 0, 1, 0, 0, 0, 0}},
    {"roles", 0x34e428c971ea7023, 2, {1, 1}},
    {"ready", 0x4ccf8d3753c87616, 7, {1, 0, 0, 0, 0, 0, 0}},
};
#define OWN_MESSAGES    (sizeof(own_messages) / sizeof(*own_messages))
#define OWN_TO_GUESTS   19
#define OWN_TO_THE_HOST (OWN_MESSAGES - OWN_TO_GUESTS)

#endif
