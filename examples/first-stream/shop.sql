-- The table that qbcd.yaml captures, and three rows of it.
CREATE TABLE orders (
  order_id bigint PRIMARY KEY,
  customer text NOT NULL,
  status   text NOT NULL,
  amount   numeric(10, 2),
  region   text NOT NULL
);
INSERT INTO orders VALUES
  (1, 'Ada',    'new',  12.50, 'EU'),
  (2, 'Edgar',  'paid', 99.00, 'EU'),
  (3, 'Grace',  'new',   7.25, 'US');
