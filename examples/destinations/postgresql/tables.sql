-- The table that stream `orders` of first-stream fills, and the last batch that was applied.
CREATE TABLE orders (order_id bigint PRIMARY KEY, customer text, status text, amount numeric(10, 2));
CREATE TABLE qbcd_applied (stream text PRIMARY KEY, epoch bigint NOT NULL, batch_seq bigint NOT NULL);
