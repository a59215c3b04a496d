#!/bin/bash
# The part device of ../guests.sh alone.
exec "$(dirname "$0")/../guests.sh" device
