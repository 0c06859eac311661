-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_stamped_ca2fe806" (
  "order_id" bigint,
  "status" text,
  "updated_at" timestamp with time zone,
  "created at" timestamp with time zone,
  "written" timestamp(0) without time zone,
  "gone" boolean,
  PRIMARY KEY ("order_id")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_stamped_ca2fe806" (
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
  "b_updated_at" timestamp with time zone,
  "a_updated_at" timestamp with time zone,
  "b_created at" timestamp with time zone,
  "a_created at" timestamp with time zone,
  "b_written" timestamp(0) without time zone,
  "a_written" timestamp(0) without time zone,
  "b_gone" boolean,
  "a_gone" boolean,
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: baseline, events=False, 1
INSERT INTO "qbcd"."replica_stamped_ca2fe806" (
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
)
SELECT
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
status LIKE '10%%'
)

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_stamped_ca2fe806" (
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
)
SELECT
  o."a_order_id",
  o."a_status",
  o."a_updated_at",
  o."a_created at",
  o."a_written",
  o."a_gone"
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
  FROM "public"."stamped"
  WHERE
    (
status LIKE '10%'
)
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE "qbcd"."replica_stamped_ca2fe806" AS r SET "written" = t.qbcd_0, "gone" = t.qbcd_1
FROM (
  SELECT
    "order_id",
    "written" AS qbcd_0,
    "gone" AS qbcd_1
  FROM "public"."stamped"
  WHERE
    (
status LIKE '10%'
)
) AS t
WHERE
  t."order_id" = r."order_id"

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_stamped_ca2fe806" SET "b_written" = NULL, "b_gone" = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
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
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
)
  ) AS t
  FULL JOIN "qbcd"."replica_stamped_ca2fe806" AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."updated_at" IS DISTINCT FROM r."updated_at"
    OR t."created at" IS DISTINCT FROM r."created at"
    OR t."written" IS DISTINCT FROM r."written"
    OR t."gone" IS DISTINCT FROM r."gone"
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
        o.op = 'd'
        OR COALESCE(
          o."a_updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
          TRUE
        )
      )
      AND COALESCE(
        o."b_updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c2,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          o."a_created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
          TRUE
        )
      )
      AND COALESCE(
        o."b_created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c3,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          o."a_written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
          TRUE
        )
      )
      AND COALESCE(
        o."b_written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c4,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c5
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
DELETE FROM "qbcd"."replica_stamped_ca2fe806" AS r USING   "qbcd"."outbox_stamped_ca2fe806" AS o
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
INSERT INTO "qbcd"."replica_stamped_ca2fe806" (
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
)
SELECT
  o."a_order_id",
  o."a_status",
  o."a_updated_at",
  o."a_created at",
  o."a_written",
  o."a_gone"
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
  CASE
    WHEN o."b_updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."b_updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."b_updated_at" AS TEXT)
  END AS b_2,
  CASE
    WHEN o."b_created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."b_created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."b_created at" AS TEXT)
  END AS b_3,
  CASE
    WHEN o."b_written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR(o."b_written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST(o."b_written" AS TEXT)
  END AS b_4,
  o."b_gone" AS b_5,
  o."a_order_id" AS a_0,
  CAST(o."a_status" AS text) AS a_1,
  CASE
    WHEN o."a_updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."a_updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."a_updated_at" AS TEXT)
  END AS a_2,
  CASE
    WHEN o."a_created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR(o."a_created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST(o."a_created at" AS TEXT)
  END AS a_3,
  CASE
    WHEN o."a_written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR(o."a_written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST(o."a_written" AS TEXT)
  END AS a_4,
  o."a_gone" AS a_5
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
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
  "b_updated_at",
  "a_updated_at",
  "b_created at",
  "a_created at",
  "b_written",
  "a_written",
  "b_gone",
  "a_gone"
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
  o."b_updated_at",
  o."a_updated_at",
  o."b_created at",
  o."a_created at",
  o."b_written",
  o."a_written",
  o."b_gone",
  o."a_gone"
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM "qbcd"."outbox_stamped_ca2fe806"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE "qbcd"."outbox_stamped_ca2fe806" AS o SET reason = 'key_change', pair_id = p.pair_id
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
            ROW(
              d."b_status" COLLATE "C",
              TIMESTAMPTZ_SEND(d."b_updated_at"),
              TIMESTAMPTZ_SEND(d."b_created at"),
              TIMESTAMP_SEND(d."b_written"),
              d."b_gone"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_status" COLLATE "C",
              TIMESTAMPTZ_SEND(d."a_updated_at"),
              TIMESTAMPTZ_SEND(d."a_created at"),
              TIMESTAMP_SEND(d."a_written"),
              d."a_gone"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_stamped_ca2fe806" AS d
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
UPDATE "qbcd"."outbox_stamped_ca2fe806" AS o SET reason = 'key_change', pair_id = p.pair_id
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
            ROW(
              d."b_status" COLLATE "C",
              TIMESTAMPTZ_SEND(d."b_updated_at"),
              TIMESTAMPTZ_SEND(d."b_created at"),
              TIMESTAMP_SEND(d."b_written"),
              d."b_gone"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_status" COLLATE "C",
              TIMESTAMPTZ_SEND(d."a_updated_at"),
              TIMESTAMPTZ_SEND(d."a_created at"),
              TIMESTAMP_SEND(d."a_written"),
              d."a_gone"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_stamped_ca2fe806" AS d
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
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
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
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" < CAST('10' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" < CAST('10' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."updated_at" IS DISTINCT FROM r."updated_at"
    OR t."created at" IS DISTINCT FROM r."created at"
    OR t."written" IS DISTINCT FROM r."written"
    OR t."gone" IS DISTINCT FROM r."gone"
) AS d

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
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
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."updated_at" IS DISTINCT FROM r."updated_at"
    OR t."created at" IS DISTINCT FROM r."created at"
    OR t."written" IS DISTINCT FROM r."written"
    OR t."gone" IS DISTINCT FROM r."gone"
) AS d

-- id: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
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
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" >= CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL
    OR r."order_id" IS NULL
    OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
    OR t."updated_at" IS DISTINCT FROM r."updated_at"
    OR t."created at" IS DISTINCT FROM r."created at"
    OR t."written" IS DISTINCT FROM r."written"
    OR t."gone" IS DISTINCT FROM r."gone"
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_stamped_ca2fe806" AS r USING   "qbcd"."outbox_stamped_ca2fe806" AS o
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
INSERT INTO "qbcd"."replica_stamped_ca2fe806" (
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
)
SELECT
  o."a_order_id",
  o."a_status",
  o."a_updated_at",
  o."a_created at",
  o."a_written",
  o."a_gone"
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
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
  FROM "public"."stamped"
  WHERE
    (
status LIKE '10%'
) AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id: rows
SELECT
  COUNT(*) AS n
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)

-- id: bounds
SELECT CAST(o."order_id" AS text) AS k0
FROM (SELECT t."order_id", row_number() OVER (ORDER BY t."order_id") AS qbcd_row
FROM (SELECT
  "order_id"
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t) AS o
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
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_stamped_ca2fe806") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_stamped_ca2fe806") AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "order_id" FROM "qbcd"."replica_stamped_ca2fe806") AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id: events of the ranges 1
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" >= r.lo0 AND t."qbcd_0" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE t."qbcd_0" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id: events of the ranges 2
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" >= r.lo0 AND t."qbcd_0" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_order_id" AS qbcd_0
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE t."qbcd_0" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- tlcs: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
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
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            TIMESTAMPTZ_SEND("updated_at"),
            TIMESTAMPTZ_SEND("created at"),
            TIMESTAMP_SEND("written"),
            "gone"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" < CAST('10' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_stamped_ca2fe806"
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
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
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
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            TIMESTAMPTZ_SEND("updated_at"),
            TIMESTAMPTZ_SEND("created at"),
            TIMESTAMP_SEND("written"),
            "gone"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_stamped_ca2fe806"
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
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
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
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."order_id" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            INT8SEND("order_id"),
            "status" COLLATE "C",
            TIMESTAMPTZ_SEND("updated_at"),
            TIMESTAMPTZ_SEND("created at"),
            TIMESTAMP_SEND("written"),
            "gone"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."stamped"
    WHERE
      (
status LIKE '10%%'
) AND ("order_id" >= CAST('20' AS bigint))
  ) AS t
  FULL JOIN (
    SELECT
      "order_id",
      qbcd_digest
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('20' AS bigint))
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    t.qbcd_present IS NULL OR r."order_id" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_stamped_ca2fe806" AS r USING   "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_order_id" = r."order_id"
  AND (r."order_id" >= CAST('10' AS bigint) AND r."order_id" < CAST('20' AS bigint))

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_stamped_ca2fe806" (
  "order_id",
  qbcd_digest
)
SELECT
  o."a_order_id",
  o.digest
FROM "qbcd"."outbox_stamped_ca2fe806" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs: key problems of a range
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "order_id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."stamped"
  WHERE
    (
status LIKE '10%'
) AND ("order_id" >= CAST('10' AS bigint) AND "order_id" < CAST('20' AS bigint))
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- tlcs: rows
SELECT
  COUNT(*) AS n
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)

-- id_rcs: bounds
SELECT CAST(o."order_id" AS text) AS k0
FROM (SELECT t."order_id", row_number() OVER (ORDER BY t."order_id") AS qbcd_row
FROM (SELECT
  "order_id"
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "order_id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."stamped"
  WHERE
    (
status LIKE '10%'
)
  GROUP BY
    "order_id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

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
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- id_rcs: checksums of the one range
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- id_rcs: images of all ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint)) AS q

-- id_rcs: images for typed sinks, as the JDBC driver takes them
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE
    WHEN COALESCE(
      "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '2,'
  END || CASE
    WHEN COALESCE(
      "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END || CASE
    WHEN COALESCE(
      "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '4,'
  END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE TRUE) AS q

-- id_rcs: checksums of ranges and leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum((t.qbcd_digest & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum((t.qbcd_digest & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0) || ':' || coalesce(g.weighted, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum, sum((t.qbcd_digest & 2147483647) * (t."order_id"::bigint & 2147483647)) AS weighted FROM (SELECT t.* FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q

-- id_rcs: images of some leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint), '\x0100000000000000000000000000000000000000000000000000000000000080'::bytea)
) AS r(range_id, lo0, hi0, leaves)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 AND get_bit(r.leaves, t.qbcd_leaf) = 1) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) AND get_bit('\x0100000000000000000000000000000000000000000000000000000000000080'::bytea, t.qbcd_leaf) = 1) AS q

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
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)
  AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("order_id" AS text) AS qbcd_k0
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)
  AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
) AS q LIMIT 100

-- id_rcs: images of a range, and of rows that were named
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint)) AS q
UNION ALL
SELECT k.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint)),
(CAST(2 AS BIGINT), CAST('20' AS bigint))
) AS k(range_id, k0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" = k.k0) AS q

-- id_rcs: images of some leaves, and of rows by trace
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  CAST("order_id" & 255 AS int) AS qbcd_leaf,
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) AND get_bit('\x0100000000000000000000000000000000000000000000000000000000000080'::bytea, t.qbcd_leaf) = 1) AS q
UNION ALL
SELECT r.range_id, q.* FROM unnest('{2}'::bigint[], '{1024}'::int8[]) AS r(range_id, k)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" = r.k OFFSET 0) AS q

-- ts: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
          AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts: window alone
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
    (
      "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )

-- ts: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- ts: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("updated_at")

-- ts, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM "public"."stamped"
WHERE
  (
    (
      "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )
LIMIT 1

-- ts, under Spark: window
SELECT CASE WHEN t."order_id" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."order_id" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM "public"."stamped"
WHERE
  (
    (
      "updated_at" >= TIMEZONE('UTC', CAST('2024-01-01 00:00:00.000001' AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
    )
  )
) AS t

-- ts, under Spark: key sums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- ts, under Spark: keys
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest
FROM "public"."stamped") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts, under Spark: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE
    WHEN COALESCE(
      "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '2,'
  END || CASE
    WHEN COALESCE(
      "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END || CASE
    WHEN COALESCE(
      "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '4,'
  END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts, under Spark: audit
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM "public"."stamped"
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts of two columns: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "created at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
          AND "created at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
        OR (
          "created at" IS NULL
          AND "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
          AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts of two columns: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "created at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
        OR (
          "created at" IS NULL
          AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts of two columns: window alone
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
    (
      "created at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "created at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
    OR (
      "created at" IS NULL
      AND "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )

-- ts of two columns: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- ts of two columns: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("created at")

-- ts of two columns, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM "public"."stamped"
WHERE
  (
    (
      "created at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "created at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
    OR (
      "created at" IS NULL
      AND "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )
LIMIT 1

-- ts of two columns, under Spark: window
SELECT CASE WHEN t."order_id" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."order_id" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM "public"."stamped"
WHERE
  (
    (
      "created at" >= TIMEZONE('UTC', CAST('2024-01-01 00:00:00.000001' AS timestamp))
      AND "created at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
    )
    OR (
      "created at" IS NULL
      AND "updated_at" >= TIMEZONE('UTC', CAST('2024-01-01 00:00:00.000001' AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
    )
  )
) AS t

-- ts of two columns, under Spark: key sums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- ts of two columns, under Spark: keys
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest
FROM "public"."stamped") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts of two columns, under Spark: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE
    WHEN COALESCE(
      "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '2,'
  END || CASE
    WHEN COALESCE(
      "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END || CASE
    WHEN COALESCE(
      "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '4,'
  END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts of two columns, under Spark: audit
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        "created at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
      )
      OR (
        "created at" IS NULL
        AND "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM "public"."stamped"
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          "created at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
        )
        OR (
          "created at" IS NULL
          AND "updated_at" < TIMEZONE('UTC', CAST('2024-01-01 00:00:01.000000' AS timestamp))
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts in a zone, of seconds: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 02:00:01.000000'
--   lo = '2024-01-01 02:00:00.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d."b_order_id",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "written" >= CAST(%(lo)s AS timestamp)
          AND "written" < CAST(%(hi)s AS timestamp)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1 AND (
        r.qbcd_present IS NULL OR r.qbcd_present = 1
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts in a zone, of seconds: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 02:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  "b_order_id",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d."b_order_id",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    r."order_id" AS "b_order_id",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "written" < CAST(%(hi)s AS timestamp)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1 AND (
        r.qbcd_present IS NULL
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts in a zone, of seconds: window alone
--   hi = '2024-01-01 02:00:01.000000'
--   lo = '2024-01-01 02:00:00.000000'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
    (
      "written" >= CAST(%(lo)s AS timestamp)
      AND "written" < CAST(%(hi)s AS timestamp)
    )
  )

-- ts in a zone, of seconds: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id"
  FROM (
    SELECT
      "order_id"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- ts in a zone, of seconds: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("written")

-- ts in a zone, of seconds, under Spark: anything there
--   hi = '2024-01-01 02:00:01.000000'
--   lo = '2024-01-01 02:00:00.000000'
SELECT
  1 AS n
FROM "public"."stamped"
WHERE
  (
    (
      "written" >= CAST(%(lo)s AS timestamp)
      AND "written" < CAST(%(hi)s AS timestamp)
    )
  )
LIMIT 1

-- ts in a zone, of seconds, under Spark: window
SELECT CASE WHEN t."order_id" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."order_id" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM "public"."stamped"
WHERE
  (
    (
      "written" >= CAST('2024-01-01 02:00:00.000000' AS timestamp)
      AND "written" < CAST('2024-01-01 02:00:01.000000' AS timestamp)
    )
  )
) AS t

-- ts in a zone, of seconds, under Spark: key sums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- ts in a zone, of seconds, under Spark: keys
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest
FROM "public"."stamped") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts in a zone, of seconds, under Spark: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE
    WHEN COALESCE(
      "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '2,'
  END || CASE
    WHEN COALESCE(
      "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END || CASE
    WHEN COALESCE(
      "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '4,'
  END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts in a zone, of seconds, under Spark: audit
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        "written" < CAST('2024-01-01 02:00:01.000000' AS timestamp)
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM "public"."stamped"
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          "written" < CAST('2024-01-01 02:00:01.000000' AS timestamp)
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts by a counter: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "order_id" > CAST(%(lo)s AS bigint)
          AND "order_id" <= CAST(%(hi)s AS bigint)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts by a counter: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "order_id" <= CAST(%(hi)s AS bigint)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- ts by a counter: window alone
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone"
FROM "public"."stamped"
WHERE
  (
    (
      "order_id" > CAST(%(lo)s AS bigint)
      AND "order_id" <= CAST(%(hi)s AS bigint)
    )
  )

-- ts by a counter: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- ts by a counter: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("order_id")

-- ts by a counter, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM "public"."stamped"
WHERE
  (
    (
      "order_id" > CAST(%(lo)s AS bigint)
      AND "order_id" <= CAST(%(hi)s AS bigint)
    )
  )
LIMIT 1

-- ts by a counter, under Spark: window
SELECT CASE WHEN t."order_id" < CAST('10' AS bigint) THEN 1 ELSE CASE WHEN t."order_id" < CAST('20' AS bigint) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM "public"."stamped"
WHERE
  (
    (
      "order_id" > CAST('2024-01-01 00:00:00.000001' AS bigint)
      AND "order_id" <= CAST('2024-01-01 00:00:01.000000' AS bigint)
    )
  )
) AS t

-- ts by a counter, under Spark: key sums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0 OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" < CAST('10' AS bigint) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "order_id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= CAST('20' AS bigint) OFFSET 0) AS t) AS q

-- ts by a counter, under Spark: keys
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest
FROM "public"."stamped") AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts by a counter, under Spark: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE
    WHEN COALESCE(
      "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '2,'
  END || CASE
    WHEN COALESCE(
      "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ),
      TRUE
    )
    THEN ''
    ELSE '3,'
  END || CASE
    WHEN COALESCE(
      "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '4,'
  END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- ts by a counter, under Spark: audit
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('10' AS bigint), CAST('20' AS bigint))
) AS r(range_id, lo0, hi0)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled FROM (SELECT
  "order_id",
  INT8SEND("order_id") AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        INT8SEND("order_id"),
        "status" COLLATE "C",
        TIMESTAMPTZ_SEND("updated_at"),
        TIMESTAMPTZ_SEND("created at"),
        TIMESTAMP_SEND("written"),
        "gone"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW(INT8SEND("order_id")), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_key_digest,
  "order_id" AS qbcd_0,
  CAST("status" AS text) AS qbcd_1,
  CASE
    WHEN "updated_at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("updated_at" AS TEXT)
  END AS qbcd_2,
  CASE
    WHEN "created at" BETWEEN CAST('0001-01-01 00:00:00+00' AS TIMESTAMPTZ) AND CAST('9999-12-31 23:59:59.999999+00' AS TIMESTAMPTZ)
    THEN TO_CHAR("created at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ELSE CAST("created at" AS TEXT)
  END AS qbcd_3,
  CASE
    WHEN "written" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("written", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("written" AS TEXT)
  END AS qbcd_4,
  "gone" AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        "order_id" <= CAST('2024-01-01 00:00:01.000000' AS bigint)
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM "public"."stamped"
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          "order_id" <= CAST('2024-01-01 00:00:01.000000' AS bigint)
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS t WHERE t."order_id" >= r.lo0 AND t."order_id" < r.hi0) AS q

-- tdi: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE
        WHEN (
status LIKE '10%%'
) AND NOT COALESCE("gone" = TRUE, FALSE)
        THEN 1
        ELSE 0
      END AS qbcd_in,
      CASE WHEN COALESCE("gone" = TRUE, FALSE) THEN 1 ELSE 0 END AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
          AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- tdi: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE
        WHEN (
status LIKE '10%%'
) AND NOT COALESCE("gone" = TRUE, FALSE)
        THEN 1
        ELSE 0
      END AS qbcd_in,
      CASE WHEN COALESCE("gone" = TRUE, FALSE) THEN 1 ELSE 0 END AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- tdi: window alone
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone",
  "gone" AS qbcd_flag
FROM "public"."stamped"
WHERE
  (
    (
      "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )

-- tdi: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- tdi: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("updated_at")

-- tdi: view
CREATE OR REPLACE VIEW "public"."stamped_live" AS
SELECT
  *
FROM "public"."stamped"
WHERE
  NOT COALESCE("gone" = TRUE, FALSE)

-- tdi: note
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."purge_stamped_ca2fe806" (
  "order_id",
  "qbcd_mark"
)
SELECT
  t."order_id",
  t."qbcd_mark"
FROM (
  SELECT
    "order_id",
    "updated_at" AS "qbcd_mark",
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM "public"."stamped"
  WHERE
    COALESCE("gone" = TRUE, FALSE)
    AND (
      (
        "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
        AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
      )
    )
) AS t
WHERE
  NOT t."qbcd_mark" IS NULL
  AND (
    t.qbcd_in = 1
    OR EXISTS(
      SELECT
        1
      FROM "qbcd"."replica_stamped_ca2fe806" AS r
      WHERE
        t."order_id" = r."order_id"
    )
    OR EXISTS(
      SELECT
        1
      FROM "qbcd"."purge_stamped_ca2fe806" AS r
      WHERE
        t."order_id" = r."order_id"
    )
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "qbcd"."purge_stamped_ca2fe806" AS r
    WHERE
      r."qbcd_mark" = t."qbcd_mark" AND t."order_id" = r."order_id"
  )

-- tdi: purge
--   lo0 = '2024-01-01 00:00:01.000000'
--   lo1 = '2024-01-01 02:00:01.000000'
--   lo2 = '2024-01-01 00:00:01.000000'
--   lo3 = '17'
DELETE FROM "public"."stamped" AS t USING   "qbcd"."purge_stamped_ca2fe806" AS r
WHERE
  t."updated_at" = r."qbcd_mark"
  AND COALESCE(t."gone" = TRUE, FALSE)
  AND t."order_id" = r."order_id"
  AND NOT (
    (
      (
        t."updated_at" >= TIMEZONE('UTC', CAST(%(lo0)s AS timestamp))
      )
    )
  )
  AND NOT (
    (
      (
        t."written" >= CAST(%(lo1)s AS timestamp)
      )
    )
  )
  AND NOT (
    (
      (
        t."created at" >= TIMEZONE('UTC', CAST(%(lo2)s AS timestamp))
      )
      OR (
        t."created at" IS NULL
        AND t."updated_at" >= TIMEZONE('UTC', CAST(%(lo2)s AS timestamp))
      )
    )
  )
  AND NOT (
    (
      (
        t."order_id" > CAST(%(lo3)s AS bigint)
      )
    )
  )

-- tdi: told
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."purge_stamped_ca2fe806" (
  "order_id",
  "qbcd_mark"
)
SELECT
  t."order_id",
  t."qbcd_mark"
FROM (
  SELECT
    "order_id",
    "updated_at" AS "qbcd_mark",
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM "public"."stamped"
  WHERE
    COALESCE("gone" = TRUE, FALSE)
    AND (
      (
        "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
        AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
      )
    )
) AS t
WHERE
  NOT t."qbcd_mark" IS NULL
  AND EXISTS(
    SELECT
      1
    FROM "qbcd"."replica_stamped_ca2fe806" AS r
    WHERE
      t."order_id" = r."order_id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "qbcd"."purge_stamped_ca2fe806" AS r
    WHERE
      r."qbcd_mark" = t."qbcd_mark" AND t."order_id" = r."order_id"
  )

-- tdi: anything to purge
SELECT
  1 AS listed
FROM "qbcd"."purge_stamped_ca2fe806"
LIMIT 1

-- tdi: purged
DELETE FROM "qbcd"."purge_stamped_ca2fe806"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "public"."stamped" AS t
    WHERE
      COALESCE(t."gone" = TRUE, FALSE)
      AND t."order_id" = "purge_stamped_ca2fe806"."order_id"
  )

-- atdi: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE
        WHEN (
status LIKE '10%%'
) AND NOT COALESCE("gone" = TRUE, FALSE)
        THEN 1
        ELSE 0
      END AS qbcd_in,
      CASE WHEN COALESCE("gone" = TRUE, FALSE) THEN 1 ELSE 0 END AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
          AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- atdi: audit
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone",
  "a_order_id",
  "a_status",
  "a_updated_at",
  "a_created at",
  "a_written",
  "a_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone",
  d."a_order_id",
  d."a_status",
  d."a_updated_at",
  d."a_created at",
  d."a_written",
  d."a_gone"
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."updated_at" IS DISTINCT FROM r."updated_at" THEN '2,' ELSE '' END || CASE WHEN t."created at" IS DISTINCT FROM r."created at" THEN '3,' ELSE '' END || CASE WHEN t."written" IS DISTINCT FROM r."written" THEN '4,' ELSE '' END || CASE WHEN t."gone" IS DISTINCT FROM r."gone" THEN '5,' ELSE '' END)
    END AS changed,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone",
    t."order_id" AS "a_order_id",
    t."status" AS "a_status",
    t."updated_at" AS "a_updated_at",
    t."created at" AS "a_created at",
    t."written" AS "a_written",
    t."gone" AS "a_gone"
  FROM (
    SELECT
      CASE
        WHEN (
status LIKE '10%%'
) AND NOT COALESCE("gone" = TRUE, FALSE)
        THEN 1
        ELSE 0
      END AS qbcd_in,
      CASE WHEN COALESCE("gone" = TRUE, FALSE) THEN 1 ELSE 0 END AS qbcd_gone,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "public"."stamped"
    WHERE
      (
        (
          "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
  ) AS r
    ON t."order_id" = r."order_id"
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR t."status" COLLATE "C" IS DISTINCT FROM r."status" COLLATE "C"
        OR t."updated_at" IS DISTINCT FROM r."updated_at"
        OR t."created at" IS DISTINCT FROM r."created at"
        OR t."written" IS DISTINCT FROM r."written"
        OR t."gone" IS DISTINCT FROM r."gone"
      )
    )
    OR (
      t.qbcd_in = 0 AND r.qbcd_present = 1
    )
) AS d

-- atdi: window alone
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
  "order_id",
  "status",
  "updated_at",
  "created at",
  "written",
  "gone",
  "gone" AS qbcd_flag
FROM "public"."stamped"
WHERE
  (
    (
      "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
      AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
    )
  )

-- atdi: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_stamped_ca2fe806" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "b_order_id",
  "b_status",
  "b_updated_at",
  "b_created at",
  "b_written",
  "b_gone"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d."b_order_id",
  d."b_status",
  d."b_updated_at",
  d."b_created at",
  d."b_written",
  d."b_gone"
FROM (
  SELECT
    1 AS op_rank,
    r."order_id" AS "b_order_id",
    r."status" AS "b_status",
    r."updated_at" AS "b_updated_at",
    r."created at" AS "b_created at",
    r."written" AS "b_written",
    r."gone" AS "b_gone"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at",
      "created at",
      "written",
      "gone"
    FROM "qbcd"."replica_stamped_ca2fe806"
    WHERE
      ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "order_id"
        FROM "public"."stamped"
        WHERE
          TRUE AND ("order_id" >= CAST('-5' AS bigint) AND "order_id" < CAST('7' AS bigint))
      ) AS t
      WHERE
        t."order_id" = r."order_id"
    )
) AS d

-- atdi: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("updated_at") INCLUDE ("gone", "order_id", "status", "created at", "written")

-- atdi: view
CREATE OR REPLACE VIEW "public"."stamped_live" AS
SELECT
  *
FROM "public"."stamped"
WHERE
  NOT COALESCE("gone" = TRUE, FALSE)

-- atdi: note
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."purge_stamped_ca2fe806" (
  "order_id",
  "qbcd_mark"
)
SELECT
  t."order_id",
  t."qbcd_mark"
FROM (
  SELECT
    "order_id",
    "updated_at" AS "qbcd_mark",
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM "public"."stamped"
  WHERE
    COALESCE("gone" = TRUE, FALSE)
    AND (
      (
        "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
        AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
      )
    )
) AS t
WHERE
  NOT t."qbcd_mark" IS NULL
  AND (
    t.qbcd_in = 1
    OR EXISTS(
      SELECT
        1
      FROM "qbcd"."replica_stamped_ca2fe806" AS r
      WHERE
        t."order_id" = r."order_id"
    )
    OR EXISTS(
      SELECT
        1
      FROM "qbcd"."purge_stamped_ca2fe806" AS r
      WHERE
        t."order_id" = r."order_id"
    )
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "qbcd"."purge_stamped_ca2fe806" AS r
    WHERE
      r."qbcd_mark" = t."qbcd_mark" AND t."order_id" = r."order_id"
  )

-- atdi: purge
--   lo0 = '2024-01-01 00:00:01.000000'
--   lo1 = '2024-01-01 02:00:01.000000'
--   lo2 = '2024-01-01 00:00:01.000000'
--   lo3 = '17'
DELETE FROM "public"."stamped" AS t USING   "qbcd"."purge_stamped_ca2fe806" AS r
WHERE
  t."updated_at" = r."qbcd_mark"
  AND COALESCE(t."gone" = TRUE, FALSE)
  AND t."order_id" = r."order_id"
  AND NOT (
    (
      (
        t."updated_at" >= TIMEZONE('UTC', CAST(%(lo0)s AS timestamp))
      )
    )
  )
  AND NOT (
    (
      (
        t."written" >= CAST(%(lo1)s AS timestamp)
      )
    )
  )
  AND NOT (
    (
      (
        t."created at" >= TIMEZONE('UTC', CAST(%(lo2)s AS timestamp))
      )
      OR (
        t."created at" IS NULL
        AND t."updated_at" >= TIMEZONE('UTC', CAST(%(lo2)s AS timestamp))
      )
    )
  )
  AND NOT (
    (
      (
        t."order_id" > CAST(%(lo3)s AS bigint)
      )
    )
  )

-- atdi: told
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO "qbcd"."purge_stamped_ca2fe806" (
  "order_id",
  "qbcd_mark"
)
SELECT
  t."order_id",
  t."qbcd_mark"
FROM (
  SELECT
    "order_id",
    "updated_at" AS "qbcd_mark",
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM "public"."stamped"
  WHERE
    COALESCE("gone" = TRUE, FALSE)
    AND (
      (
        "updated_at" >= TIMEZONE('UTC', CAST(%(lo)s AS timestamp))
        AND "updated_at" < TIMEZONE('UTC', CAST(%(hi)s AS timestamp))
      )
    )
) AS t
WHERE
  NOT t."qbcd_mark" IS NULL
  AND EXISTS(
    SELECT
      1
    FROM "qbcd"."replica_stamped_ca2fe806" AS r
    WHERE
      t."order_id" = r."order_id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "qbcd"."purge_stamped_ca2fe806" AS r
    WHERE
      r."qbcd_mark" = t."qbcd_mark" AND t."order_id" = r."order_id"
  )

-- atdi: anything to purge
SELECT
  1 AS listed
FROM "qbcd"."purge_stamped_ca2fe806"
LIMIT 1

-- atdi: purged
DELETE FROM "qbcd"."purge_stamped_ca2fe806"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "public"."stamped" AS t
    WHERE
      COALESCE(t."gone" = TRUE, FALSE)
      AND t."order_id" = "purge_stamped_ca2fe806"."order_id"
  )

-- restriction, for EXPLAIN
SELECT
  1
FROM "public"."stamped"
WHERE
  (
status LIKE '10%'
)
