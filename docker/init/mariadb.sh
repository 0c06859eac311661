# Run by the image when its data directory is new: a table, and a user who may read it. The password is of hex digits.
docker_process_sql <<SQL
CREATE USER reader@'%' IDENTIFIED BY '$(cat /run/secrets/stock_reader)';
CREATE TABLE stock.items (
    item_id integer PRIMARY KEY, name varchar(100) NOT NULL, quantity integer NOT NULL, checked datetime(6)
);
INSERT INTO stock.items VALUES (1, 'bolt', 1200, NULL), (2, 'nut', 800, '2026-01-02 03:04:05.6'), (3, 'washer', 0, NULL);
GRANT SELECT ON stock.items TO reader@'%';
SQL
