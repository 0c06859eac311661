-- tlcs, replica: source: ddl of the copy
CREATE TABLE IF NOT EXISTS "qbcd"."copy_simple_a7a39b72" (
  "order_id" bigint,
  "status" text,
  "amount" numeric(10,2),
  "placed" timestamp with time zone,
  PRIMARY KEY ("order_id")
)

-- tlcs, replica: source: baseline, events=False, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "a_order_id",
  "a_status",
  "a_amount",
  "a_placed"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        NUMERIC_SEND("amount"),
        TIMESTAMPTZ_SEND("placed")
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ),
  "order_id",
  "status",
  "amount",
  "placed"
FROM "public"."orders"
WHERE
  TRUE

-- tlcs, replica: source: baseline, events=False, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
  "order_id",
  qbcd_digest
)
SELECT
  o."a_order_id",
  o.digest
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs, replica: source: baseline, events=False, 3
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."copy_simple_a7a39b72" (
  "order_id",
  "status",
  "amount",
  "placed"
)
SELECT
  o."a_order_id",
  o."a_status",
  o."a_amount",
  o."a_placed"
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs, replica: source: baseline, events=False, 4
--   batch_seq = 1
--   epoch = 5
DELETE FROM "qbcd"."outbox_simple_a7a39b72"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- tlcs, replica: source: baseline, events=True, 1
-- the text of: tlcs, replica: source: baseline, events=False, 1

-- tlcs, replica: source: baseline, events=True, 2
-- the text of: tlcs, replica: source: baseline, events=False, 2

-- tlcs, replica: source: baseline, events=True, 3
-- the text of: tlcs, replica: source: baseline, events=False, 3

-- tlcs, replica: source: old values, and the copy, 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_simple_a7a39b72" AS o SET changed = CASE
  WHEN o.op = 'd'
  THEN NULL
  ELSE TRIM(BOTH ',' FROM CASE
    WHEN o."a_status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    THEN '1,'
    ELSE ''
  END || CASE WHEN o."a_amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN o."a_placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
END, "b_order_id" = r."order_id", "b_status" = r."status", "b_amount" = r."amount", "b_placed" = r."placed"
FROM "qbcd"."copy_simple_a7a39b72" AS r
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"

-- tlcs, replica: source: old values, and the copy, 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM "qbcd"."copy_simple_a7a39b72" AS r USING   "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"

-- tlcs, replica: source: old values, and the copy, 3
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."copy_simple_a7a39b72" (
  "order_id",
  "status",
  "amount",
  "placed"
)
SELECT
  o."a_order_id",
  o."a_status",
  o."a_amount",
  o."a_placed"
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs, replica: source: old values, and the copy in a range, 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_simple_a7a39b72" AS o SET changed = CASE
  WHEN o.op = 'd'
  THEN NULL
  ELSE TRIM(BOTH ',' FROM CASE
    WHEN o."a_status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    THEN '1,'
    ELSE ''
  END || CASE WHEN o."a_amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN o."a_placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
END, "b_order_id" = r."order_id", "b_status" = r."status", "b_amount" = r."amount", "b_placed" = r."placed"
FROM "qbcd"."copy_simple_a7a39b72" AS r
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"
  AND (r."order_id" >= CAST('10' AS bigint) AND r."order_id" < CAST('20' AS bigint))

-- tlcs, replica: source: old values, and the copy in a range, 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM "qbcd"."copy_simple_a7a39b72" AS r USING   "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"
  AND (r."order_id" >= CAST('10' AS bigint) AND r."order_id" < CAST('20' AS bigint))

-- tlcs, replica: source: old values, and the copy in a range, 3
-- the text of: tlcs, replica: source: old values, and the copy, 3

-- tlcs, replica: lake: ddl of the position
CREATE TABLE IF NOT EXISTS "qbcd"."queue_simple_a7a39b72" (
  "project" varchar(64),
  "applied" varchar(64),
  "queued" varchar(64),
  PRIMARY KEY ("project")
) WITH (fillfactor = 90)

-- tlcs, replica: lake: rows of the queue
SELECT CASE WHEN t."qbcd_v0" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."qbcd_v0" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_untravelled AS untravelled
FROM (
SELECT
  qbcd_v0,
  INT8SEND("qbcd_v0") AS qbcd_key_id,
  qbcd_digest,
  qbcd_v0 AS qbcd_0,
  CAST(qbcd_v1 AS text) AS qbcd_1,
  CAST(qbcd_v2 AS text) AS qbcd_2,
  CASE
    WHEN qbcd_v3 BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(qbcd_v3 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(qbcd_v3 AS TEXT)
  END AS qbcd_3,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE WHEN COALESCE(qbcd_v2 <> CAST('NaN' AS DECIMAL), TRUE) THEN '' ELSE '2,' END || CASE
    WHEN COALESCE(
      qbcd_v3 BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END AS qbcd_untravelled
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o."a_order_id" AS qbcd_v0,
    o."a_status" AS qbcd_v1,
    o."a_amount" AS qbcd_v2,
    o."a_placed" AS qbcd_v3
  FROM "qbcd"."outbox_simple_a7a39b72" AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op <> 'd'
) AS q
) AS t

-- tlcs, replica: lake: keys of the queue
SELECT CASE WHEN t."qbcd_v0" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."qbcd_v0" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest
FROM (
SELECT
  qbcd_v0,
  INT8SEND("qbcd_v0") AS qbcd_key_id,
  qbcd_digest
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o."a_order_id" AS qbcd_v0
  FROM "qbcd"."outbox_simple_a7a39b72" AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op <> 'd'
) AS q
) AS t
UNION ALL
SELECT CASE WHEN t."qbcd_v0" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."qbcd_v0" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest
FROM (
SELECT
  qbcd_v0,
  INT8SEND("qbcd_v0") AS qbcd_key_id,
  qbcd_digest
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o."b_order_id" AS qbcd_v0
  FROM "qbcd"."outbox_simple_a7a39b72" AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op = 'd'
) AS q
) AS t

-- mds without updates: ddl
CREATE TABLE IF NOT EXISTS "qbcd"."replica_simple_a7a39b72" (
  "order_id" bigint,
  PRIMARY KEY ("order_id")
)

-- mds without updates: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_amount",
  "a_placed"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."amount" AS "a_amount",
    t."placed" AS "a_placed"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "amount",
      "placed"
    FROM "public"."orders"
    WHERE
      TRUE
  ) AS t
  FULL JOIN "qbcd"."replica_simple_a7a39b72" AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL
) AS d

-- mds without updates: apply 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM "qbcd"."replica_simple_a7a39b72" AS r USING   "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"

-- mds without updates: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
  "order_id"
)
SELECT
  o."a_order_id"
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- vbd, compare by digests: baseline 1
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
  "order_id"
)
SELECT
  "order_id"
FROM (
SELECT * FROM "public"."orders" AS q
) AS qbcd_query
WHERE
  TRUE

-- vbd, compare by digests: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_amount",
  "a_placed"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_order_id",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."amount" AS "a_amount",
    t."placed" AS "a_placed"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "amount",
      "placed",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            NUMERIC_SEND("amount"),
            TIMESTAMPTZ_SEND("placed")
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM (
SELECT * FROM "public"."orders" AS q
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  FULL JOIN "qbcd"."replica_simple_a7a39b72" AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL
) AS d

-- id without updates: changes of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_amount",
  "a_placed"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."amount" AS "a_amount",
    t."placed" AS "a_placed"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "amount",
      "placed"
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id"
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL
) AS d
