/* SPDX-License-Identifier: Apache-2.0 */
/* no_symbol: a shared object that is no chimod. */
extern const int no_symbol;
const int no_symbol = 1;
