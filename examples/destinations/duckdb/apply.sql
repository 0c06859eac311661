-- Apply all new batches of the parquet sink.
BEGIN;
CREATE OR REPLACE TEMP TABLE batch AS
SELECT e.* FROM read_parquet('out/lake/orders/epoch=*/batch_seq=*/*.parquet', union_by_name = true) e
LEFT JOIN qbcd_applied a ON a.stream = 'orders'
WHERE a.stream IS NULL OR e.epoch > a.epoch OR (e.epoch = a.epoch AND e.batch_seq > a.batch_seq);

-- A new epoch starts again with all rows, as `baseline: events` delivers them.
DELETE FROM batch WHERE epoch < (SELECT max(epoch) FROM batch);
DELETE FROM orders WHERE EXISTS (FROM batch b JOIN qbcd_applied a ON a.stream = 'orders' AND b.epoch > a.epoch);

-- Delete first, then insert the last state of each key.
DELETE FROM orders WHERE order_id IN (SELECT key.order_id FROM batch UNION ALL SELECT before.order_id FROM batch);
INSERT INTO orders BY NAME
SELECT after.* FROM batch
QUALIFY row_number() OVER (PARTITION BY key.order_id ORDER BY source.batch_seq DESC, op = 'd') = 1 AND op <> 'd';

INSERT OR REPLACE INTO qbcd_applied SELECT 'orders', epoch, max(batch_seq) FROM batch GROUP BY epoch;
COMMIT;
