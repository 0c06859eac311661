-- Apply a file of the jsonl sink, one batch or several: psql URL -v ON_ERROR_STOP=1 -f apply.sql < FILE
BEGIN;
CREATE TEMP TABLE batch (
    event jsonb,
    epoch bigint GENERATED ALWAYS AS ((event->'source'->>'epoch')::bigint) STORED,
    batch_seq bigint GENERATED ALWAYS AS ((event->'source'->>'batch_seq')::bigint) STORED
) ON COMMIT DROP;
\copy batch (event) FROM pstdin WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')

-- Ignore a batch that was applied before.
LOCK TABLE qbcd_applied IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM batch USING qbcd_applied a
WHERE a.stream = 'orders' AND (batch.epoch, batch.batch_seq) <= (a.epoch, a.batch_seq);

-- A new epoch starts again with all rows, as `baseline: events` delivers them.
DELETE FROM orders WHERE EXISTS (SELECT FROM batch b JOIN qbcd_applied a ON a.stream = 'orders' AND b.epoch > a.epoch);

-- Delete first, then insert the last state of each key: a file may have several batches.
DELETE FROM orders WHERE order_id IN (
    SELECT (event->image->>'order_id')::bigint FROM batch, (VALUES ('key'), ('before')) AS images (image));
INSERT INTO orders
SELECT r.* FROM (
    SELECT DISTINCT ON (event->'key') event FROM batch ORDER BY event->'key', batch_seq DESC, event->>'op' = 'd') AS last,
    jsonb_populate_record(NULL::orders, event->'after') AS r
WHERE event->>'op' <> 'd';

INSERT INTO qbcd_applied SELECT 'orders', epoch, max(batch_seq) FROM batch GROUP BY epoch
ON CONFLICT (stream) DO UPDATE SET epoch = excluded.epoch, batch_seq = excluded.batch_seq;
COMMIT;
