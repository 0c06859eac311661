-- The tables that qbcd.yaml captures, with a few values that only MariaDB has.
SET sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
CREATE TABLE orders (
  order_id bigint unsigned PRIMARY KEY,
  status   enum('new', 'paid', 'sent') NOT NULL,
  amount   decimal(10, 2),
  due      date NOT NULL,
  region   varchar(2) NOT NULL
);
CREATE TABLE customers (
  email varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY,
  name  varchar(100) NOT NULL
);
INSERT INTO orders VALUES
  (1,                    'new',  12.50, '2026-12-24', 'EU'),
  (2,                    'paid', 99.00, '0000-00-00', 'EU'),
  (18446744073709551615, 'new',   7.25, '0000-00-00', 'US');
INSERT INTO customers VALUES
  ('ada@example.com',   'Ada'),
  ('edgar@example.com', 'Edgar');
