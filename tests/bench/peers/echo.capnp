# SPDX-License-Identifier: Apache-2.0
@0xb7f1a3c2d4e59687;

interface Echo {
  echo @0 (data :Data) -> (data :Data);
}
