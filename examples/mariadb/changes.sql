-- Changes between two polls: an order is paid, one is deleted, one moves into the EU. The case of a customer's key
-- changes, which the key ignores, and one customer is new.
UPDATE orders SET status = 'paid', amount = 14.00 WHERE order_id = 1;
DELETE FROM orders WHERE order_id = 2;
UPDATE orders SET region = 'EU' WHERE order_id = 18446744073709551615;
UPDATE customers SET email = 'Ada@example.com' WHERE email = 'ada@example.com';
INSERT INTO customers VALUES ('grace@example.com', 'Grace');
