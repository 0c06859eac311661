-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_restricted_7a0d9159" (
  "tenant" uuid,
  "id" integer,
  "name" character varying(40),
  "note" text,
  "n" integer,
  "doc" jsonb,
  PRIMARY KEY ("tenant", "id")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_restricted_7a0d9159" (
  "epoch" bigint,
  "batch_seq" bigint,
  "ordinal" bigint,
  "op" varchar(1),
  "reason" varchar(40),
  "pair_id" varchar(64),
  "changed" text,
  "digest" bigint,
  "b_tenant" uuid,
  "a_tenant" uuid,
  "b_id" integer,
  "a_id" integer,
  "b_name" character varying(40),
  "a_name" character varying(40),
  "b_note" text,
  "a_note" text,
  "b_n" integer,
  "a_n" integer,
  "b_doc" jsonb,
  "a_doc" jsonb,
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: baseline, events=False, 1
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
)
SELECT
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
FROM "public"."restricted"
WHERE
  (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
)

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
)
SELECT
  o."a_tenant",
  o."a_id",
  o."a_name",
  o."a_note",
  o."a_n",
  o."a_doc"
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
    SUM(CASE WHEN "tenant" IS NULL OR "id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."restricted"
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
  GROUP BY
    "tenant",
    "id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE "qbcd"."replica_restricted_7a0d9159" AS r SET "n" = t.qbcd_0, "doc" = t.qbcd_1
FROM (
  SELECT
    "tenant",
    "id",
    "n" AS qbcd_0,
    "doc" AS qbcd_1
  FROM "public"."restricted"
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
) AS t
WHERE
  t."tenant" = r."tenant" AND t."id" = r."id"

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_restricted_7a0d9159" SET "b_n" = NULL, "b_doc" = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_tenant",
  "b_id",
  "b_name",
  "b_note",
  "b_n",
  "b_doc",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_tenant",
  d."b_id",
  d."b_name",
  d."b_note",
  d."b_n",
  d."b_doc",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."tenant" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."n" IS DISTINCT FROM r."n" THEN '4,' ELSE '' END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '5,'
        ELSE ''
      END)
    END AS changed,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    r."name" AS "b_name",
    r."note" AS "b_note",
    r."n" AS "b_n",
    r."doc" AS "b_doc",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
)
  ) AS t
  FULL JOIN "qbcd"."replica_restricted_7a0d9159" AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL
    OR r."tenant" IS NULL
    OR t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
    OR t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
    OR t."n" IS DISTINCT FROM r."n"
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c2,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c3,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c4,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c5
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
  CAST(COALESCE(o."a_tenant", o."b_tenant") AS text) AS k0,
  CAST(COALESCE(o."a_id", o."b_id") AS text) AS k1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
DELETE FROM "qbcd"."replica_restricted_7a0d9159" AS r USING   "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_tenant" = r."tenant"
  AND o."b_id" = r."id"

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
)
SELECT
  o."a_tenant",
  o."a_id",
  o."a_name",
  o."a_note",
  o."a_n",
  o."a_doc"
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
  CAST(o."b_tenant" AS text) AS b_0,
  o."b_id" AS b_1,
  CAST(o."b_name" AS text) AS b_2,
  CAST(o."b_note" AS text) AS b_3,
  o."b_n" AS b_4,
  CAST(o."b_doc" AS text) AS b_5,
  CAST(o."a_tenant" AS text) AS a_0,
  o."a_id" AS a_1,
  CAST(o."a_name" AS text) AS a_2,
  CAST(o."a_note" AS text) AS a_3,
  o."a_n" AS a_4,
  CAST(o."a_doc" AS text) AS a_5
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  "b_tenant",
  "a_tenant",
  "b_id",
  "a_id",
  "b_name",
  "a_name",
  "b_note",
  "a_note",
  "b_n",
  "a_n",
  "b_doc",
  "a_doc"
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
  o."b_tenant",
  o."a_tenant",
  o."b_id",
  o."a_id",
  o."b_name",
  o."a_name",
  o."b_note",
  o."a_note",
  o."b_n",
  o."a_n",
  o."b_doc",
  o."a_doc"
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM "qbcd"."outbox_restricted_7a0d9159"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE "qbcd"."outbox_restricted_7a0d9159" AS o SET reason = 'key_change', pair_id = p.pair_id
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
              d."b_name" COLLATE "C",
              d."b_note" COLLATE "C",
              d."b_n",
              CAST(d."b_doc" AS text) COLLATE "C"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_name" COLLATE "C",
              d."a_note" COLLATE "C",
              d."a_n",
              CAST(d."a_doc" AS text) COLLATE "C"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_restricted_7a0d9159" AS d
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
UPDATE "qbcd"."outbox_restricted_7a0d9159" AS o SET reason = 'key_change', pair_id = p.pair_id
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
              d."b_name" COLLATE "C",
              d."b_note" COLLATE "C",
              d."b_n",
              CAST(d."b_doc" AS text) COLLATE "C"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_name" COLLATE "C",
              d."a_note" COLLATE "C",
              d."a_n",
              CAST(d."a_doc" AS text) COLLATE "C"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_restricted_7a0d9159" AS d
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
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_tenant",
  "b_id",
  "b_name",
  "b_note",
  "b_n",
  "b_doc",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_tenant",
  d."b_id",
  d."b_name",
  d."b_note",
  d."b_n",
  d."b_doc",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."tenant" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."n" IS DISTINCT FROM r."n" THEN '4,' ELSE '' END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '5,'
        ELSE ''
      END)
    END AS changed,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    r."name" AS "b_name",
    r."note" AS "b_note",
    r."n" AS "b_n",
    r."doc" AS "b_doc",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL
    OR r."tenant" IS NULL
    OR t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
    OR t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
    OR t."n" IS DISTINCT FROM r."n"
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
) AS d

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_tenant",
  "b_id",
  "b_name",
  "b_note",
  "b_n",
  "b_doc",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_tenant",
  d."b_id",
  d."b_name",
  d."b_note",
  d."b_n",
  d."b_doc",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."tenant" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."n" IS DISTINCT FROM r."n" THEN '4,' ELSE '' END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '5,'
        ELSE ''
      END)
    END AS changed,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    r."name" AS "b_name",
    r."note" AS "b_note",
    r."n" AS "b_n",
    r."doc" AS "b_doc",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL
    OR r."tenant" IS NULL
    OR t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
    OR t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
    OR t."n" IS DISTINCT FROM r."n"
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
) AS d

-- id: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_tenant",
  "b_id",
  "b_name",
  "b_note",
  "b_n",
  "b_doc",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_tenant",
  d."b_id",
  d."b_name",
  d."b_note",
  d."b_n",
  d."b_doc",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."tenant" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."n" IS DISTINCT FROM r."n" THEN '4,' ELSE '' END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '5,'
        ELSE ''
      END)
    END AS changed,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    r."name" AS "b_name",
    r."note" AS "b_note",
    r."n" AS "b_n",
    r."doc" AS "b_doc",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL
    OR r."tenant" IS NULL
    OR t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
    OR t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
    OR t."n" IS DISTINCT FROM r."n"
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_restricted_7a0d9159" AS r USING   "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_tenant" = r."tenant"
  AND o."b_id" = r."id"
  AND ((r."tenant", r."id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND (r."tenant", r."id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
)
SELECT
  o."a_tenant",
  o."a_id",
  o."a_name",
  o."a_note",
  o."a_n",
  o."a_doc"
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
    SUM(CASE WHEN "tenant" IS NULL OR "id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."restricted"
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
) AND (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  GROUP BY
    "tenant",
    "id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id: rows
SELECT
  COUNT(*) AS n
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)

-- id: bounds
SELECT CAST(o."tenant" AS text) AS k0, CAST(o."id" AS text) AS k1
FROM (SELECT t."tenant", t."id", row_number() OVER (ORDER BY t."tenant", t."id") AS qbcd_row
FROM (SELECT
  "tenant",
  "id"
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: bounds in a range
SELECT CAST(o."qbcd_0" AS text) AS k0, CAST(o."qbcd_1" AS text) AS k1
FROM (SELECT t."qbcd_0", t."qbcd_1", row_number() OVER (ORDER BY t."qbcd_0", t."qbcd_1") AS qbcd_row
FROM (SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t."tenant" AS qbcd_0, t."id" AS qbcd_1 FROM (SELECT
  "tenant",
  "id"
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1)) AS q) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "tenant", "id" FROM "qbcd"."replica_restricted_7a0d9159") AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "tenant", "id" FROM "qbcd"."replica_restricted_7a0d9159") AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n FROM (SELECT t.* FROM (SELECT "tenant", "id" FROM "qbcd"."replica_restricted_7a0d9159") AS t WHERE (t."tenant", t."id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)) OFFSET 0) AS t) AS q

-- id: events of the ranges 1
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_tenant" AS qbcd_0,
  o."a_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") >= (r.lo0, r.lo1) AND (t."qbcd_0", t."qbcd_1") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_tenant" AS qbcd_0,
  o."a_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."a_tenant" AS qbcd_0,
  o."a_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)) OFFSET 0) AS t) AS q

-- id: events of the ranges 2
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_tenant" AS qbcd_0,
  o."b_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") >= (r.lo0, r.lo1) AND (t."qbcd_0", t."qbcd_1") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_tenant" AS qbcd_0,
  o."b_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, -COUNT(*) AS net FROM (SELECT t.* FROM (SELECT
  o.op AS qbcd_op,
  o."b_tenant" AS qbcd_0,
  o."b_id" AS qbcd_1
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS t WHERE (t."qbcd_0", t."qbcd_1") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)) OFFSET 0) AS t) AS q

-- tlcs: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_tenant",
  "b_id",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_tenant",
  d."b_id",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "tenant",
            "id",
            "name" COLLATE "C",
            "note" COLLATE "C",
            "n",
            CAST("doc" AS text) COLLATE "C"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      qbcd_digest
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL OR r."tenant" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_tenant",
  "b_id",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_tenant",
  d."b_id",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "tenant",
            "id",
            "name" COLLATE "C",
            "note" COLLATE "C",
            "n",
            CAST("doc" AS text) COLLATE "C"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      qbcd_digest
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL OR r."tenant" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_tenant",
  "b_id",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_tenant",
  d."b_id",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "tenant",
            "id",
            "name" COLLATE "C",
            "note" COLLATE "C",
            "n",
            CAST("doc" AS text) COLLATE "C"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."restricted"
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
) AND (("tenant", "id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "tenant",
      "id",
      qbcd_digest
    FROM "qbcd"."replica_restricted_7a0d9159"
    WHERE
      (("tenant", "id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  ) AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL OR r."tenant" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_restricted_7a0d9159" AS r USING   "qbcd"."outbox_restricted_7a0d9159" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_tenant" = r."tenant"
  AND o."b_id" = r."id"
  AND ((r."tenant", r."id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND (r."tenant", r."id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  qbcd_digest
)
SELECT
  o."a_tenant",
  o."a_id",
  o.digest
FROM "qbcd"."outbox_restricted_7a0d9159" AS o
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
    SUM(CASE WHEN "tenant" IS NULL OR "id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."restricted"
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
) AND (("tenant", "id") >= (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND ("tenant", "id") < (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)))
  GROUP BY
    "tenant",
    "id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- tlcs: rows
SELECT
  COUNT(*) AS n
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)

-- id_rcs: bounds
SELECT CAST(o."tenant" AS text) AS k0, CAST(o."id" AS text) AS k1
FROM (SELECT t."tenant", t."id", row_number() OVER (ORDER BY t."tenant", t."id") AS qbcd_row
FROM (SELECT
  "tenant",
  "id"
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
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
    SUM(CASE WHEN "tenant" IS NULL OR "id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."restricted"
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
  GROUP BY
    "tenant",
    "id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id_rcs: checksums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)) OFFSET 0) AS t) AS q

-- id_rcs: checksums of the one range
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1)) AS q

-- id_rcs: images of all ranges
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1)) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer))) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))) AS q

-- id_rcs: images for typed sinks, as the JDBC driver takes them
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE WHEN TRUE THEN '' ELSE '2,' END || CASE WHEN TRUE THEN '' ELSE '3,' END || CASE WHEN TRUE THEN '' ELSE '4,' END || CASE WHEN TRUE THEN '' ELSE '5,' END AS qbcd_untravelled
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ?? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE TRUE) AS q

-- id_rcs: checksums of ranges and leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  CAST("id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  CAST("id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT coalesce(sum(g.n), 0) AS n, coalesce(sum(g.digests), 0) AS digests, coalesce(sum(g.checksum), 0) AS checksum, coalesce(string_agg(g.qbcd_leaf || ':' || g.n || ':' || coalesce(g.checksum, 0), ' '), '') AS leaves FROM (SELECT t.qbcd_leaf, count(*) AS n, count(t.qbcd_digest) AS digests, sum(t.qbcd_digest) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  CAST("id" & 255 AS int) AS qbcd_leaf,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer)) OFFSET 0) AS t GROUP BY t.qbcd_leaf) AS g) AS q

-- id_rcs: images of some leaves
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer), '\x0100000000000000000000000000000000000000000000000000000000000080'::bytea)
) AS r(range_id, lo0, lo1, hi0, hi1, leaves)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  CAST("id" & 255 AS int) AS qbcd_leaf,
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1) AND get_bit(r.leaves, t.qbcd_leaf) = 1) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  CAST("id" & 255 AS int) AS qbcd_leaf,
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)) AND get_bit('\x0100000000000000000000000000000000000000000000000000000000000080'::bytea, t.qbcd_leaf) = 1) AS q

-- id_rcs: keys of rows written since a mark
SELECT q.* FROM (
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0, t.qbcd_k1 AS k1 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_k0,
  CAST("id" AS text) AS qbcd_k1
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
  AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE (t."tenant", t."id") >= (r.lo0, r.lo1) AND (t."tenant", t."id") < (r.hi0, r.hi1)) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0, t.qbcd_k1 AS k1 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_k0,
  CAST("id" AS text) AS qbcd_k1
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
  AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer))) AS q
) AS q LIMIT 100

-- id_rcs: images of a range, and of rows that were named
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE (t."tenant", t."id") < (CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer))) AS q
UNION ALL
SELECT k.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('00000000-0000-0000-0000-000000000001' AS uuid), CAST('-5' AS integer)),
(CAST(2 AS BIGINT), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid), CAST('7' AS integer))
) AS k(range_id, k0, k1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE t."tenant" = k.k0 AND t."id" = k.k1) AS q

-- vbd, compare: baseline 1
INSERT INTO "qbcd"."replica_restricted_7a0d9159" (
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
)
SELECT
  "tenant",
  "id",
  "name",
  "note",
  "n",
  "doc"
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)

-- vbd, compare: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN "tenant" IS NULL OR "id" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
  WHERE
    (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
  GROUP BY
    "tenant",
    "id"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- vbd, compare: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_restricted_7a0d9159" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_tenant",
  "b_id",
  "b_name",
  "b_note",
  "b_n",
  "b_doc",
  "a_tenant",
  "a_id",
  "a_name",
  "a_note",
  "a_n",
  "a_doc"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_tenant",
  d."b_id",
  d."b_name",
  d."b_note",
  d."b_n",
  d."b_doc",
  d."a_tenant",
  d."a_id",
  d."a_name",
  d."a_note",
  d."a_n",
  d."a_doc"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."tenant" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."tenant" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."n" IS DISTINCT FROM r."n" THEN '4,' ELSE '' END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '5,'
        ELSE ''
      END)
    END AS changed,
    r."tenant" AS "b_tenant",
    r."id" AS "b_id",
    r."name" AS "b_name",
    r."note" AS "b_note",
    r."n" AS "b_n",
    r."doc" AS "b_doc",
    t."tenant" AS "a_tenant",
    t."id" AS "a_id",
    t."name" AS "a_name",
    t."note" AS "a_note",
    t."n" AS "a_n",
    t."doc" AS "a_doc"
  FROM (
    SELECT
      1 AS qbcd_present,
      "tenant",
      "id",
      "name",
      "note",
      "n",
      "doc"
    FROM (
SELECT *, '100%% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
    WHERE
      (
name LIKE '100%%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0
)
  ) AS t
  FULL JOIN "qbcd"."replica_restricted_7a0d9159" AS r
    ON t."tenant" = r."tenant" AND t."id" = r."id"
  WHERE
    t.qbcd_present IS NULL
    OR r."tenant" IS NULL
    OR t."name" COLLATE "C" IS DISTINCT FROM r."name" COLLATE "C"
    OR t."note" COLLATE "C" IS DISTINCT FROM r."note" COLLATE "C"
    OR t."n" IS DISTINCT FROM r."n"
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
) AS d

-- vbd, checksum by hash: bounds
SELECT
  COUNT(*) AS n
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)

-- vbd, checksum by hash: checksums
SELECT CAST(1 AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT 0 AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id")))), 2862933555777941757) AS qbcd_hash,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1

-- vbd, checksum by hash: images
SELECT CAST(3 AS BIGINT) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(ROW(RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id")))), 2862933555777941757) AS qbcd_hash,
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS r WHERE r.qbcd_hash < 0 OFFSET 0) AS t

-- vbd, checksum by key: bounds
SELECT CAST(o."tenant" AS text) AS k0, CAST(o."id" AS text) AS k1
FROM (SELECT t."tenant", t."id", row_number() OVER (ORDER BY t."tenant", t."id") AS qbcd_row
FROM (SELECT
  "tenant",
  "id"
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- vbd, checksum by key: checksums
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "tenant",
  "id",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- vbd, checksum by key: images
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5 FROM (SELECT
  "tenant",
  "id",
  RECORD_SEND(ROW(UUID_SEND("tenant"), INT4SEND("id"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "tenant",
        "id",
        "name" COLLATE "C",
        "note" COLLATE "C",
        "n",
        CAST("doc" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("tenant" AS text) AS qbcd_0,
  "id" AS qbcd_1,
  CAST("name" AS text) AS qbcd_2,
  CAST("note" AS text) AS qbcd_3,
  "n" AS qbcd_4,
  CAST("doc" AS text) AS qbcd_5
FROM (
SELECT *, '100% :x ?' AS told
FROM "public"."restricted" /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)) AS t WHERE TRUE) AS q

-- vbd: lock
LOCK TABLE "public"."restricted" IN ACCESS SHARE MODE

-- restriction, for EXPLAIN
SELECT
  1
FROM "public"."restricted"
WHERE
  (
name LIKE '100%' AND doc ? 'a:b'
  AND note::text <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0
)
