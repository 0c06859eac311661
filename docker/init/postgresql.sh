# Run by the image when its data directory is new: a table, and a role that may read it and has a schema for mds.
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set password="$(cat /run/secrets/shop_reader)" <<'SQL'
CREATE ROLE reader LOGIN PASSWORD :'password';
CREATE TABLE public.orders (
    order_id integer PRIMARY KEY, customer text NOT NULL, status text NOT NULL, amount numeric(12, 2)
);
INSERT INTO public.orders VALUES (1, 'Ada', 'new', 12.50), (2, 'Edgar', 'paid', 99.00), (3, 'Grace', 'new', 7.25);
GRANT SELECT ON public.orders TO reader;
CREATE SCHEMA qbcd AUTHORIZATION reader;
SQL
