-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_simple_a7a39b72" (
  "order_id" bigint,
  "status" text,
  "amount" numeric(10,2),
  "placed" timestamp with time zone,
  PRIMARY KEY ("order_id")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_simple_a7a39b72" (
  "epoch" bigint,
  "batch_seq" bigint,
  "ordinal" bigint,
  "op" varchar(1),
  "reason" varchar(40),
  "pair_id" varchar(64),
  "changed" text,
  "digest" bigint,
  "b_order_id" bigint,
  "a_order_id" bigint,
  "b_status" text,
  "a_status" text,
  "b_amount" numeric(10,2),
  "a_amount" numeric(10,2),
  "b_placed" timestamp with time zone,
  "a_placed" timestamp with time zone,
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: baseline, events=False, 1
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
  "order_id",
  "status",
  "amount",
  "placed"
)
SELECT
  "order_id",
  "status",
  "amount",
  "placed"
FROM "public"."orders"
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
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
  "order_id",
  "status",
  "amount",
  "placed"
FROM "public"."orders"
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
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

-- mds: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "order_id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."orders"
  WHERE
    TRUE
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE "qbcd"."replica_simple_a7a39b72" AS r SET "amount" = t.qbcd_0, "placed" = t.qbcd_1
FROM (
  SELECT
    "order_id",
    "amount" AS qbcd_0,
    "placed" AS qbcd_1
  FROM "public"."orders"
  WHERE
    TRUE
) AS t
WHERE
  t."order_id" = r."order_id"

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_simple_a7a39b72" SET "b_amount" = NULL, "b_placed" = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_amount",
  "b_placed",
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
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_amount",
  d."b_placed",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."order_id" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN t."placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    r."placed" AS "b_placed",
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
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
    OR t."placed" IS DISTINCT FROM r."placed"
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
GROUP BY
  o.op

-- mds: values no type can hold
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c0,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c1,
  MAX(
    CASE
      WHEN (
        o.op = 'd' OR COALESCE(o."a_amount" <> CAST('NaN' AS DECIMAL), TRUE)
      )
      AND COALESCE(o."b_amount" <> CAST('NaN' AS DECIMAL), TRUE)
      THEN 0
      ELSE 1
    END
  ) AS c2,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          o."a_placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
          TRUE
        )
      )
      AND COALESCE(
        o."b_placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c3
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s

-- mds: keys of the batch
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  CAST(COALESCE(o."a_order_id", o."b_order_id") AS text) AS k0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
ORDER BY
  o.ordinal NULLS FIRST
LIMIT 1000

-- mds: apply 1
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

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
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

-- mds: rows of the batch, by Spark
SELECT
  o.op,
  o.reason,
  o.pair_id,
  o.ordinal,
  o.changed,
  o."b_order_id" AS b_0,
  CAST(o."b_status" AS text) AS b_1,
  CAST(o."b_amount" AS text) AS b_2,
  CASE
    WHEN o."b_placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."b_placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."b_placed" AS TEXT)
  END AS b_3,
  o."a_order_id" AS a_0,
  CAST(o."a_status" AS text) AS a_1,
  CAST(o."a_amount" AS text) AS a_2,
  CASE
    WHEN o."a_placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."a_placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."a_placed" AS TEXT)
  END AS a_3
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  "b_order_id",
  "a_order_id",
  "b_status",
  "a_status",
  "b_amount",
  "a_amount",
  "b_placed",
  "a_placed"
)
SELECT
  o.epoch,
  %(batch_seq)s,
  ROW_NUMBER() OVER (
    ORDER BY CASE o.op WHEN 'd' THEN 1 WHEN 'u' THEN 2 ELSE 3 END NULLS FIRST, o.ordinal NULLS FIRST
  ) - 1,
  o.op,
  o.reason,
  o.pair_id,
  o.changed,
  o.digest,
  o."b_order_id",
  o."a_order_id",
  o."b_status",
  o."a_status",
  o."b_amount",
  o."a_amount",
  o."b_placed",
  o."a_placed"
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM "qbcd"."outbox_simple_a7a39b72"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE "qbcd"."outbox_simple_a7a39b72" AS o SET reason = 'key_change', pair_id = p.pair_id
FROM (
  SELECT
    MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS gone,
    MIN(CASE WHEN e.op = 'c' THEN e.ordinal END) AS come,
    %(pair)s || MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS pair_id
  FROM (
    SELECT
      d.op,
      d.ordinal,
      CASE
        WHEN d.op = 'd'
        THEN HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(d."b_status" COLLATE "C", NUMERIC_SEND(d."b_amount"), TIMESTAMPTZ_SEND(d."b_placed")),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(d."a_status" COLLATE "C", NUMERIC_SEND(d."a_amount"), TIMESTAMPTZ_SEND(d."a_placed")),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_simple_a7a39b72" AS d
    WHERE
      d.epoch = %(epoch)s
      AND d.batch_seq = %(batch_seq)s
      AND d.op IN ('d', 'c')
      AND COALESCE(d.reason, 'key_change') = 'key_change'
  ) AS e
  GROUP BY
    e.content
  HAVING
    COUNT(*) = 2 AND COUNT(CASE WHEN e.op = 'd' THEN 1 END) = 1
) AS p
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal = p.gone

-- mds: batch 4
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE "qbcd"."outbox_simple_a7a39b72" AS o SET reason = 'key_change', pair_id = p.pair_id
FROM (
  SELECT
    MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS gone,
    MIN(CASE WHEN e.op = 'c' THEN e.ordinal END) AS come,
    %(pair)s || MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS pair_id
  FROM (
    SELECT
      d.op,
      d.ordinal,
      CASE
        WHEN d.op = 'd'
        THEN HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(d."b_status" COLLATE "C", NUMERIC_SEND(d."b_amount"), TIMESTAMPTZ_SEND(d."b_placed")),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(d."a_status" COLLATE "C", NUMERIC_SEND(d."a_amount"), TIMESTAMPTZ_SEND(d."a_placed")),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_simple_a7a39b72" AS d
    WHERE
      d.epoch = %(epoch)s
      AND d.batch_seq = %(batch_seq)s
      AND d.op IN ('d', 'c')
      AND COALESCE(d.reason, 'key_change') = 'key_change'
  ) AS e
  GROUP BY
    e.content
  HAVING
    COUNT(*) = 2 AND COUNT(CASE WHEN e.op = 'd' THEN 1 END) = 1
) AS p
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal = p.come

-- id: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_amount",
  "b_placed",
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
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_amount",
  d."b_placed",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."order_id" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN t."placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    r."placed" AS "b_placed",
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
      TRUE AND ("order_id" < CAST('10' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      "status",
      "amount",
      "placed"
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" < CAST('10' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
    OR t."placed" IS DISTINCT FROM r."placed"
) AS d

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_amount",
  "b_placed",
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
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_amount",
  d."b_placed",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."order_id" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN t."placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    r."placed" AS "b_placed",
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
      "order_id",
      "status",
      "amount",
      "placed"
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
    OR t."placed" IS DISTINCT FROM r."placed"
) AS d

-- id: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_amount",
  "b_placed",
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
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_amount",
  d."b_placed",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."order_id" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN t."placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    r."placed" AS "b_placed",
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
      TRUE AND ("order_id" >= CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      "status",
      "amount",
      "placed"
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" >= CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
    OR t."placed" IS DISTINCT FROM r."placed"
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_simple_a7a39b72" AS r USING   "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"
  AND (r."order_id" >= CAST('10' AS bigint) AND r."order_id" < CAST('20' AS bigint))

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
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

-- id: key problems of a range
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "order_id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."orders"
  WHERE
    TRUE AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id: rows
SELECT
  COUNT(*) AS n
FROM "public"."orders"
WHERE
  TRUE

-- id: bounds
SELECT CAST(o."order_id" AS text) AS k0
FROM (SELECT t."order_id", row_number() OVER (ORDER BY t."order_id") AS qbcd_row
FROM (SELECT
  "order_id"
FROM "public"."orders"
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: bounds in a range
SELECT CAST(o."qbcd_0" AS text) AS k0
FROM (SELECT t."qbcd_0", row_number() OVER (ORDER BY t."qbcd_0") AS qbcd_row
FROM (SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t."order_id" AS qbcd_0 FROM (SELECT
  "order_id"
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_simple_a7a39b72") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_simple_a7a39b72") AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_simple_a7a39b72") AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id: events of the ranges 1
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" >= r.lo0 AND t."qbcd_0" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id: events of the ranges 2
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" >= r.lo0 AND t."qbcd_0" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- tlcs: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" < CAST('10' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" < CAST('10' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" >= CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_simple_a7a39b72"
    WHERE
      ("order_id" >= CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: apply 1
-- the text of: id: apply 1

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
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

-- tlcs: key problems of a range
-- the text of: id: key problems of a range

-- tlcs: rows
-- the text of: id: rows

-- tlcs in a column: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
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
      ) AS qbcd_digest,
      "qbcd chk" AS qbcd_stored
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" < CAST('10' AS bigint))
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
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
      ) AS qbcd_digest,
      "qbcd chk" AS qbcd_stored
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
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
      ) AS qbcd_digest,
      "qbcd chk" AS qbcd_stored
    FROM "public"."orders"
    WHERE
      TRUE AND ("order_id" >= CAST('20' AS bigint))
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
UPDATE "public"."orders" AS t SET "qbcd chk" = o.digest
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'
  AND o."a_order_id" = t."order_id"
  AND (t."order_id" >= CAST('10' AS bigint) AND t."order_id" < CAST('20' AS bigint))

-- tlcs in a column: key problems of a range
-- the text of: id: key problems of a range

-- tlcs in a column: rows
-- the text of: id: rows

-- id_rcs: bounds
-- the text of: id: bounds

-- id_rcs: key problems
-- the text of: mds: key problems

-- id_rcs: checksums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id_rcs: checksums of the one range
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- id_rcs: images of all ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= CAST('20' AS bigint)) AS q

-- id_rcs: images, and the digest of before
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_old_digest AS old_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id"), "status" COLLATE "C"), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_old_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE TRUE) AS q

-- id_rcs: images for typed sinks, as the JDBC driver takes them
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_untravelled AS untravelled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE WHEN COALESCE("amount" <> CAST('NaN' AS DECIMAL), TRUE) THEN '' ELSE '2,' END || CASE
    WHEN COALESCE(
      "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END AS qbcd_untravelled
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE TRUE) AS q

-- id_rcs: checksums of ranges and leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum(((t.qbcd_digest % 2147483648)::bigint & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum(((t.qbcd_digest % 2147483648)::bigint & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum(((t.qbcd_digest % 2147483648)::bigint & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q

-- id_rcs: images of some leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint), '\x0100000000000000000000000000000000000000000000000000000000000080'::bytea)
) AS r(range_id, lo0, hi0, leaves)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 AND get_bit(r.leaves, t.qbcd_leaf) = 1) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint) AND get_bit('\x0100000000000000000000000000000000000000000000000000000000000080'::bytea, t.qbcd_leaf) = 1) AS q

-- id_rcs: keys of rows written since a mark
SELECT q.* FROM (
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."orders"
WHERE
  TRUE AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."orders"
WHERE
  TRUE AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
) AS q LIMIT 100

-- id_rcs: images of a range, and of rows that were named
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
UNION ALL
SELECT k.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint)),
(CAST(2 AS BIGINT), CAST('20' AS bigint))
) AS k(range_id, k0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" = k.k0) AS q

-- id_rcs: images of some leaves, and of rows by trace
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" < CAST('10' AS bigint) AND get_bit('\x0100000000000000000000000000000000000000000000000000000000000080'::bytea, t.qbcd_leaf) = 1) AS q
UNION ALL
SELECT r.range_id, q.* FROM unnest('{2}'::bigint[], '{1024}'::int8[]) AS r(range_id, k)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" = r.k OFFSET 0) AS q

-- id_rcs: checksums of ranges and leaves, of 128 bits
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum(((t.qbcd_digest % 2147483648)::bigint & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  CAST((
    CAST((
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
      ) & 9223372036854775807
    ) AS DECIMAL) * 9223372036854775808 + (
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            NUMERIC_SEND("amount"),
            TIMESTAMPTZ_SEND("placed")
          ),
          1442695040888963407
        ) AS text),
        6364136223846793005
      ) & 9223372036854775807
    )
  ) AS DECIMAL(38, 0)) AS qbcd_digest
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE TRUE OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q

-- id_rcs: checksums of 128 bits
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST((
    CAST((
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
      ) & 9223372036854775807
    ) AS DECIMAL) * 9223372036854775808 + (
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            NUMERIC_SEND("amount"),
            TIMESTAMPTZ_SEND("placed")
          ),
          1442695040888963407
        ) AS text),
        6364136223846793005
      ) & 9223372036854775807
    )
  ) AS DECIMAL(38, 0)) AS qbcd_digest
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- id_rcs by hash: rows
-- the text of: id: rows

-- id_rcs by hash: checksums, connection 1
SELECT CAST(CASE WHEN g.qbcd_bucket < 2 THEN CASE WHEN g.qbcd_bucket < 1 THEN 7 ELSE 8 END ELSE CASE WHEN g.qbcd_bucket < 4 THEN 4 ELSE CASE WHEN g.qbcd_bucket < 6 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash >> 61) + 4) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs by hash: checksums, connection 2
SELECT CAST(CASE WHEN g.qbcd_bucket < 2 THEN CASE WHEN g.qbcd_bucket < 1 THEN 7 ELSE 8 END ELSE CASE WHEN g.qbcd_bucket < 4 THEN 4 ELSE CASE WHEN g.qbcd_bucket < 6 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash >> 61) + 4) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid >= '(50,0)'::tid) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs by hash: the whole table, connection 1
SELECT COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS t

-- id_rcs by hash: the whole table, connection 2
SELECT COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid >= '(50,0)'::tid) AS t

-- id_rcs by hash: checksums of the one range
SELECT CAST(1 AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT 0 AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
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
FROM "public"."orders"
WHERE
  TRUE) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs by hash: images of one
SELECT CAST(8 AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS r WHERE r.qbcd_hash BETWEEN -6917529027641081856 AND -4611686018427387905 OFFSET 0) AS t

-- id_rcs by hash: images of some
SELECT CAST(CASE WHEN t.qbcd_hash < 0 THEN 8 ELSE 5 END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS r WHERE ((r.qbcd_hash >> 61) + 4) IN (1, 4, 5) OFFSET 0) AS t

-- id_rcs by hash: keys and digests, reader 1
SELECT CAST(CASE WHEN t.qbcd_hash < -4611686018427387904 THEN CASE WHEN t.qbcd_hash < -6917529027641081856 THEN 7 ELSE 8 END ELSE CASE WHEN t.qbcd_hash < 0 THEN 4 ELSE CASE WHEN t.qbcd_hash < 4611686018427387904 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_k0 AS k0
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."orders"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS r OFFSET 0) AS t

-- id_rcs by hash: keys and digests, reader 2
SELECT CAST(CASE WHEN t.qbcd_hash < -4611686018427387904 THEN CASE WHEN t.qbcd_hash < -6917529027641081856 THEN 7 ELSE 8 END ELSE CASE WHEN t.qbcd_hash < 0 THEN 4 ELSE CASE WHEN t.qbcd_hash < 4611686018427387904 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_k0 AS k0
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."orders"
WHERE
  TRUE AND ctid >= '(50,0)'::tid) AS r OFFSET 0) AS t

-- id_rcs by hash: checksums of ranges and leaves
SELECT CAST(CASE WHEN g.qbcd_bucket < 2 THEN CASE WHEN g.qbcd_bucket < 1 THEN 7 ELSE 8 END ELSE CASE WHEN g.qbcd_bucket < 4 THEN 4 ELSE CASE WHEN g.qbcd_bucket < 6 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0), ' '), '') AS leaves
FROM (SELECT ((t.qbcd_hash >> 61) + 4) AS qbcd_bucket, t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
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
FROM "public"."orders"
WHERE
  TRUE) AS r OFFSET 0) AS t
GROUP BY 1, 2) AS g
GROUP BY 1

-- id_rcs by hash: images of some leaves
SELECT CAST(CASE WHEN t.qbcd_hash < 0 THEN 8 ELSE 5 END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS r WHERE get_bit('\x0000000000000000000000000000000000000000000000000000000000000000ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000080010000000000000000000000000000000000000000000000000000000000008000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::bytea, ((r.qbcd_hash >> 61) + 4) * 256 + r.qbcd_leaf) = 1 OFFSET 0) AS t

-- id_rcs by hash: keys of rows written since a mark
SELECT q.* FROM (
SELECT CAST(CASE WHEN t.qbcd_hash < -4611686018427387904 THEN CASE WHEN t.qbcd_hash < -6917529027641081856 THEN 7 ELSE 8 END ELSE CASE WHEN t.qbcd_hash < 0 THEN 4 ELSE CASE WHEN t.qbcd_hash < 4611686018427387904 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."orders"
WHERE
  TRUE AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS r OFFSET 0) AS t
) AS q LIMIT 100

-- id_rcs by hash: images of ranges, and of rows that were named, reader 1
SELECT CAST(CASE WHEN t.qbcd_hash < -6917529027641081856 THEN 7 ELSE 8 END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS r WHERE r.qbcd_hash < -4611686018427387904 OFFSET 0) AS t
UNION ALL
SELECT k.range_id, q.* FROM (VALUES
(CAST(5 AS BIGINT), CAST('1' AS bigint))
) AS k(range_id, k0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" = k.k0) AS q

-- id_rcs by hash: images of ranges, and of rows that were named, reader 2
SELECT CAST(CASE WHEN t.qbcd_hash < -6917529027641081856 THEN 7 ELSE 8 END AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 2862933555777941757) AS qbcd_hash,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE AND ctid >= '(50,0)'::tid) AS r WHERE r.qbcd_hash < -4611686018427387904 OFFSET 0) AS t

-- id_rcs by hash: images by key
SELECT q.* FROM (VALUES
(CAST('1' AS bigint))
) AS k(k0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t."order_id" = k.k0) AS q

-- id_rcs by pages: rows and pages
SELECT q.n, pg_relation_size('"public"."orders"'::regclass) / current_setting('block_size')::bigint AS pages FROM (SELECT
  COUNT(*) AS n
FROM "public"."orders"
WHERE
  TRUE) AS q

-- id_rcs by pages: checksums, connection 1
SELECT r.range_id, q.* FROM (VALUES
(CAST(4 AS BIGINT), CAST('(50,0)' AS tid), CAST('(100,0)' AS tid))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  ctid AS qbcd_page,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t.qbcd_page >= r.lo0 AND t.qbcd_page < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  ctid AS qbcd_page,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t.qbcd_page < CAST('(50,0)' AS tid) OFFSET 0) AS t) AS q

-- id_rcs by pages: checksums, connection 2
SELECT CAST(5 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  ctid AS qbcd_page,
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
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t.qbcd_page >= CAST('(100,0)' AS tid) OFFSET 0) AS t) AS q

-- id_rcs by pages: the whole table, connection 1
SELECT COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT
  ctid AS qbcd_page,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS t

-- id_rcs by pages: the whole table, connection 2
SELECT COUNT(*) AS n, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT
  ctid AS qbcd_page,
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
FROM "public"."orders"
WHERE
  TRUE AND ctid >= '(50,0)'::tid) AS t

-- id_rcs by pages: images of some
SELECT r.range_id, q.* FROM (VALUES
(CAST(4 AS BIGINT), CAST('(50,0)' AS tid), CAST('(100,0)' AS tid))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT t.* FROM (SELECT
  ctid AS qbcd_page,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t.qbcd_page >= r.lo0 AND t.qbcd_page < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(5 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3 FROM (SELECT t.* FROM (SELECT
  ctid AS qbcd_page,
  INT8SEND("order_id") AS qbcd_key_id,
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS t WHERE t.qbcd_page >= CAST('(100,0)' AS tid) OFFSET 0) AS t) AS q

-- id_rcs without a key: checksums
SELECT CAST(CASE WHEN g.qbcd_bucket < 1 THEN 1 ELSE 2 END AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_digest >> 63) + 1) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
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
FROM "public"."orders"
WHERE
  TRUE) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs without a key: images
SELECT CAST(1 AS BIGINT) AS range_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT r.* FROM (SELECT
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
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CAST("amount" AS text) AS qbcd_2,
  CASE
    WHEN "placed" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("placed" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("placed" AS TEXT)
  END AS qbcd_3
FROM "public"."orders"
WHERE
  TRUE) AS r WHERE r.qbcd_digest < 0 OFFSET 0) AS t

-- vbd, one row: replica
CREATE TABLE IF NOT EXISTS "qbcd"."replica_simple_a7a39b72" (
  "status" text,
  "amount" numeric(10,2),
  "qbcd_one" integer DEFAULT 1,
  PRIMARY KEY ("qbcd_one")
)

-- vbd, one row: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_status",
  "b_amount",
  "a_status",
  "a_amount"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_status",
  d."b_amount",
  d."a_status",
  d."a_amount"
FROM (
  SELECT
    CASE
      WHEN t.qbcd_present IS NULL
      THEN 1
      WHEN r."qbcd_present" IS NULL
      THEN 3
      ELSE 2
    END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."qbcd_present" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '0,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '1,' ELSE '' END)
    END AS changed,
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    t."status" AS "a_status",
    t."amount" AS "a_amount"
  FROM (
    SELECT
      1 AS qbcd_present,
      "status",
      "amount"
    FROM (
SELECT MAX("status") AS "status", MAX("amount") AS "amount" FROM "public"."orders"
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  FULL JOIN (
    SELECT
      1 AS qbcd_present,
      "status",
      "amount"
    FROM "qbcd"."replica_simple_a7a39b72"
  ) AS r
    ON TRUE
  WHERE
    t.qbcd_present IS NULL
    OR r."qbcd_present" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
) AS d

-- vbd, one row: keys of the batch
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
ORDER BY
  o.ordinal NULLS FIRST
LIMIT 1000

-- vbd, one row: apply 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM "qbcd"."replica_simple_a7a39b72" AS r USING   "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')

-- vbd, one row: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_simple_a7a39b72" (
  "status",
  "amount"
)
SELECT
  o."a_status",
  o."a_amount"
FROM "qbcd"."outbox_simple_a7a39b72" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- vbd, one row: images
SELECT CAST(1 AS BIGINT) AS range_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1
FROM (SELECT r.* FROM (SELECT
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW("status" COLLATE "C", NUMERIC_SEND("amount")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("status" AS text) AS qbcd_0,
  CAST("amount" AS text) AS qbcd_1
FROM (
SELECT MAX("status") AS "status", MAX("amount") AS "amount" FROM "public"."orders"
) AS qbcd_query
WHERE
  TRUE) AS r OFFSET 0) AS t

-- vbd, one row: affected
INSERT INTO "qbcd"."affected_simple_a7a39b72" (
  "qbcd_one"
)
SELECT DISTINCT
  1 AS "qbcd_one"
FROM (
  SELECT
    *
  FROM "qbcd"."changed0_simple_a7a39b72"
  WHERE
    "qbcd_there" > 0
) AS "q0"
UNION
SELECT DISTINCT
  1 AS "qbcd_one"
FROM (
  SELECT
    *
  FROM "qbcd"."lineage0_simple_a7a39b72" AS "l"
  WHERE
    EXISTS(
      SELECT
        1
      FROM "qbcd"."changed0_simple_a7a39b72" AS "c"
      WHERE
        "c"."order_id" = "l"."order_id"
    )
) AS "q0"

-- vbd, one row: changes, by delta
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_status",
  "b_amount",
  "a_status",
  "a_amount"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_status",
  d."b_amount",
  d."a_status",
  d."a_amount"
FROM (
  SELECT
    CASE
      WHEN t.qbcd_present IS NULL
      THEN 1
      WHEN r."qbcd_present" IS NULL
      THEN 3
      ELSE 2
    END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."qbcd_present" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '0,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '1,' ELSE '' END)
    END AS changed,
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    t."status" AS "a_status",
    t."amount" AS "a_amount"
  FROM (
    SELECT
      1 AS qbcd_present,
      "status",
      "amount"
    FROM (
SELECT
  MAX("q0"."status") AS "status",
  MAX("q0"."amount") AS "amount"
FROM "public"."orders" AS "q0"
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  FULL JOIN (
    SELECT
      1 AS qbcd_present,
      x."status",
      x."amount"
    FROM "qbcd"."replica_simple_a7a39b72" AS x
    WHERE
      EXISTS(
        SELECT
          1
        FROM "qbcd"."affected_simple_a7a39b72" AS h
        WHERE
          TRUE
      )
  ) AS r
    ON TRUE
  WHERE
    t.qbcd_present IS NULL
    OR r."qbcd_present" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
) AS d

-- vbd, delta: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."affected_simple_a7a39b72" (
  "order_id" bigint
)

-- vbd, delta: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."lineage0_simple_a7a39b72" (
  "order_id" bigint,
  "qbcd_digest" bigint,
  PRIMARY KEY ("order_id")
) WITH (fillfactor = 90)

-- vbd, delta: ddl 3
CREATE TABLE IF NOT EXISTS "qbcd"."changed0_simple_a7a39b72" (
  "order_id" bigint,
  "qbcd_digest" bigint,
  "qbcd_there" smallint,
  PRIMARY KEY ("order_id")
)

-- vbd, delta: fill
INSERT INTO "qbcd"."lineage0_simple_a7a39b72" (
  "order_id",
  qbcd_digest
)
SELECT
  "order_id",
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
  )
FROM "public"."orders"

-- vbd, delta: changed
INSERT INTO "qbcd"."changed0_simple_a7a39b72" (
  "order_id",
  qbcd_digest,
  qbcd_there
)
SELECT
  t."order_id",
  t.qbcd_digest,
  CASE WHEN r.qbcd_digest IS NULL THEN 2 ELSE 1 END
FROM (
  SELECT
    "order_id",
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
  FROM "public"."orders"
) AS t
LEFT JOIN "qbcd"."lineage0_simple_a7a39b72" AS r
  ON t."order_id" = r."order_id"
WHERE
  r.qbcd_digest IS NULL OR r.qbcd_digest <> t.qbcd_digest

-- vbd, delta: gone
INSERT INTO "qbcd"."changed0_simple_a7a39b72" (
  "order_id",
  qbcd_digest,
  qbcd_there
)
SELECT
  r."order_id",
  r.qbcd_digest,
  0
FROM "qbcd"."lineage0_simple_a7a39b72" AS r
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "public"."orders" AS t
    WHERE
      t."order_id" = r."order_id"
  )

-- vbd, delta: lineage 1
DELETE FROM "qbcd"."lineage0_simple_a7a39b72" AS r USING   "qbcd"."changed0_simple_a7a39b72" AS t
WHERE
  t.qbcd_there = 0 AND t."order_id" = r."order_id"

-- vbd, delta: lineage 2
UPDATE "qbcd"."lineage0_simple_a7a39b72" AS r SET "order_id" = t."order_id", qbcd_digest = t.qbcd_digest
FROM "qbcd"."changed0_simple_a7a39b72" AS t
WHERE
  t.qbcd_there = 1 AND t."order_id" = r."order_id"

-- vbd, delta: lineage 3
INSERT INTO "qbcd"."lineage0_simple_a7a39b72" (
  "order_id",
  qbcd_digest
)
SELECT
  t."order_id",
  t.qbcd_digest
FROM "qbcd"."changed0_simple_a7a39b72" AS t
WHERE
  t.qbcd_there = 2

-- vbd, delta: lineage 4
DELETE FROM "qbcd"."changed0_simple_a7a39b72"

-- vbd, delta: affected keys
INSERT INTO "qbcd"."affected_simple_a7a39b72" (
  "order_id"
)
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM (
  SELECT
    *
  FROM "qbcd"."changed0_simple_a7a39b72"
  WHERE
    "qbcd_there" > 0
) AS "q0"
UNION
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM (
  SELECT
    *
  FROM "qbcd"."lineage0_simple_a7a39b72" AS "l"
  WHERE
    EXISTS(
      SELECT
        1
      FROM "qbcd"."changed0_simple_a7a39b72" AS "c"
      WHERE
        "c"."order_id" = "l"."order_id"
    )
) AS "q0"
UNION
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM "public"."orders" AS "q0"
INNER JOIN (
  SELECT
    "q2"."order_id" AS "order_id"
  FROM (
    SELECT
      *
    FROM "qbcd"."changed0_simple_a7a39b72"
    WHERE
      "qbcd_there" > 0
  ) AS "q2"
) AS "q1"
  ON "q1"."order_id" = "q0"."order_id"
UNION
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM "qbcd"."lineage0_simple_a7a39b72" AS "q0"
INNER JOIN (
  SELECT
    "q2"."order_id" AS "order_id"
  FROM (
    SELECT
      *
    FROM "qbcd"."lineage0_simple_a7a39b72" AS "l"
    WHERE
      EXISTS(
        SELECT
          1
        FROM "qbcd"."changed0_simple_a7a39b72" AS "c"
        WHERE
          "c"."order_id" = "l"."order_id"
      )
  ) AS "q2"
) AS "q1"
  ON "q1"."order_id" = "q0"."order_id"
UNION
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM "public"."orders" AS "q0"
WHERE
  EXISTS(
    SELECT
      1 AS "qbcd_one"
    FROM (
      SELECT
        *
      FROM "qbcd"."changed0_simple_a7a39b72"
      WHERE
        "qbcd_there" > 0
    ) AS "q3"
    WHERE
      "q3"."order_id" = "q0"."order_id"
  )
UNION
SELECT DISTINCT
  "q0"."order_id" AS "order_id"
FROM "qbcd"."lineage0_simple_a7a39b72" AS "q0"
WHERE
  EXISTS(
    SELECT
      1 AS "qbcd_one"
    FROM (
      SELECT
        *
      FROM "qbcd"."lineage0_simple_a7a39b72" AS "l"
      WHERE
        EXISTS(
          SELECT
            1
          FROM "qbcd"."changed0_simple_a7a39b72" AS "c"
          WHERE
            "c"."order_id" = "l"."order_id"
        )
    ) AS "q3"
    WHERE
      "q3"."order_id" = "q0"."order_id"
  )

-- vbd, delta: NULL among them
SELECT COUNT(*) AS nulls FROM "qbcd"."affected_simple_a7a39b72" WHERE "order_id" IS NULL

-- vbd, delta: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "order_id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM (
SELECT
  "q0"."order_id" AS "order_id",
  "q0"."status" AS "status",
  "q0"."amount" AS "amount",
  "q0"."placed" AS "placed",
  "q1"."others" AS "others"
FROM "public"."orders" AS "q0"
LEFT JOIN (
  SELECT
    "q2"."order_id" AS "order_id",
    COUNT(*) AS "others"
  FROM "public"."orders" AS "q2"
  WHERE
    EXISTS(
      SELECT
        1
      FROM "qbcd"."affected_simple_a7a39b72" AS "qbcd_k"
      WHERE
        "qbcd_k"."order_id" = "q2"."order_id"
    )
  GROUP BY
    "q2"."order_id"
) AS "q1"
  ON "q1"."order_id" = "q0"."order_id"
WHERE
  NOT EXISTS(
    SELECT
      1 AS "1"
    FROM "public"."orders" AS "q3"
    WHERE
      "q3"."order_id" = "q0"."order_id"
  )
  AND EXISTS(
    SELECT
      1
    FROM "qbcd"."affected_simple_a7a39b72" AS "qbcd_k"
    WHERE
      "qbcd_k"."order_id" = "q0"."order_id"
  )
) AS qbcd_query
  WHERE
    TRUE
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- vbd, delta: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_simple_a7a39b72" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_amount",
  "b_placed",
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
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_amount",
  d."b_placed",
  d."a_order_id",
  d."a_status",
  d."a_amount",
  d."a_placed"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."order_id" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."amount" IS DISTINCT FROM r."amount" THEN '2,' ELSE '' END || CASE WHEN t."placed" IS DISTINCT FROM r."placed" THEN '3,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."amount" AS "b_amount",
    r."placed" AS "b_placed",
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
    FROM (
SELECT
  "q0"."order_id" AS "order_id",
  "q0"."status" AS "status",
  "q0"."amount" AS "amount",
  "q0"."placed" AS "placed",
  "q1"."others" AS "others"
FROM "public"."orders" AS "q0"
LEFT JOIN (
  SELECT
    "q2"."order_id" AS "order_id",
    COUNT(*) AS "others"
  FROM "public"."orders" AS "q2"
  WHERE
    EXISTS(
      SELECT
        1
      FROM "qbcd"."affected_simple_a7a39b72" AS "qbcd_k"
      WHERE
        "qbcd_k"."order_id" = "q2"."order_id"
    )
  GROUP BY
    "q2"."order_id"
) AS "q1"
  ON "q1"."order_id" = "q0"."order_id"
WHERE
  NOT EXISTS(
    SELECT
      1 AS "1"
    FROM "public"."orders" AS "q3"
    WHERE
      "q3"."order_id" = "q0"."order_id"
  )
  AND EXISTS(
    SELECT
      1
    FROM "qbcd"."affected_simple_a7a39b72" AS "qbcd_k"
    WHERE
      "qbcd_k"."order_id" = "q0"."order_id"
  )
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  FULL JOIN (
    SELECT
      x."order_id",
      x."status",
      x."amount",
      x."placed"
    FROM "qbcd"."replica_simple_a7a39b72" AS x
    WHERE
      EXISTS(
        SELECT
          1
        FROM "qbcd"."affected_simple_a7a39b72" AS h
        WHERE
          h."order_id" = x."order_id"
      )
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."amount" IS DISTINCT FROM r."amount"
    OR t."placed" IS DISTINCT FROM r."placed"
) AS d

-- vbd, delta: affected keys forgotten
DELETE FROM "qbcd"."affected_simple_a7a39b72"

-- restriction, for EXPLAIN
SELECT
  1
FROM "public"."orders"
WHERE
  TRUE
