#!/bin/bash
# The part dm-zoned of ../guests.sh alone. Arguments go to `imbrex replay`.
REPLAYED="$*" exec "$(dirname "$0")/../guests.sh" dm-zoned
