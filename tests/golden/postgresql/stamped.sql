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
-- the text of: ts: sweep of a range

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
-- the text of: ts, under Spark: key sums

-- ts of two columns, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts of two columns, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts, under Spark: key sums

-- ts in a zone, of seconds, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts in a zone, of seconds, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts: sweep of a range

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
-- the text of: ts, under Spark: key sums

-- ts by a counter, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts by a counter, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts: sweep of a range

-- tdi: index
-- the text of: ts: index

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
-- the text of: tdi: window

-- atdi: audit
-- the text of: tdi: audit

-- atdi: window alone
-- the text of: tdi: window alone

-- atdi: sweep of a range
-- the text of: ts: sweep of a range

-- atdi: index
CREATE INDEX IF NOT EXISTS "ix_stamped_ca2fe806" ON "public"."stamped" USING btree ("updated_at") INCLUDE ("gone", "order_id", "status", "created at", "written")

-- atdi: view
-- the text of: tdi: view

-- atdi: note
-- the text of: tdi: note

-- atdi: purge
-- the text of: tdi: purge

-- atdi: told
-- the text of: tdi: told

-- atdi: anything to purge
-- the text of: tdi: anything to purge

-- atdi: purged
-- the text of: tdi: purged
