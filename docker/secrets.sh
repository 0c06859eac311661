#!/bin/sh
# Makes the passwords that compose.yaml names, each at random; one that is there is left as it is.
# The folder is for its owner only. The files are readable, as accounts in containers have other numbers than here.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 0700 secrets
for name in postgresql_root mariadb_root shop_reader stock_reader; do
    [ -s "secrets/$name" ] && continue
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"secrets/$name"
    chmod 0644 "secrets/$name"
done
