/* SPDX-License-Identifier: Apache-2.0 */
/* names: what names are made of that become a part of a path, a label or a message. */
#ifndef HUB_BASE_NAMES_H
#define HUB_BASE_NAMES_H

/* For strspn. How long a name may be, and with what it begins, is the user's to say. */
#define HUB_NAMES_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

#endif
