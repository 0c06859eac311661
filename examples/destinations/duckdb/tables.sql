-- The table that stream `orders` of first-stream fills, and the last batch that was applied.
CREATE TABLE orders (order_id BIGINT, customer VARCHAR, status VARCHAR, amount DECIMAL(10, 2));
CREATE TABLE qbcd_applied (stream VARCHAR PRIMARY KEY, epoch BIGINT, batch_seq BIGINT);
