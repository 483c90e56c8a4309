/* SPDX-License-Identifier: Apache-2.0 */
/* no_symbol: a library that is no chimod, and no function in it. */

__attribute__((used)) static const int nothing;
