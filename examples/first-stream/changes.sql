-- Changes between two polls: an update, a delete, an insert, and an order that moves into the EU.
UPDATE orders SET status = 'paid', amount = 14.00 WHERE order_id = 1;
DELETE FROM orders WHERE order_id = 2;
INSERT INTO orders VALUES (4, 'Barbara', 'new', NULL, 'EU');
UPDATE orders SET region = 'EU' WHERE order_id = 3;
