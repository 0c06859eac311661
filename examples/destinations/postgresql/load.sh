#!/usr/bin/env bash
# Apply all new batches of stream `orders`: load.sh postgresql://writer@warehouse.example/dwh out/changes
set -euo pipefail
export LC_ALL=C
shopt -s nullglob
here=$(dirname "$0")
last=$(psql "$1" -XAtc "SELECT epoch || '-' || lpad(batch_seq::text, 12, '0') FROM qbcd_applied WHERE stream = 'orders'")
for file in "$2"/orders/*.jsonl; do
    [[ $(basename "$file" .jsonl) > $last ]] || continue
    psql "$1" -Xq -v ON_ERROR_STOP=1 -f "$here/apply.sql" < "$file"
done
