-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_key_only_67a0ea19" (
  "team" integer,
  "person" integer,
  PRIMARY KEY ("team", "person")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_key_only_67a0ea19" (
  "epoch" bigint,
  "batch_seq" bigint,
  "ordinal" bigint,
  "op" varchar(1),
  "reason" varchar(40),
  "pair_id" varchar(64),
  "changed" text,
  "digest" bigint,
  "b_team" integer,
  "a_team" integer,
  "b_person" integer,
  "a_person" integer,
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: baseline, events=False, 1
INSERT INTO "qbcd"."replica_key_only_67a0ea19" (
  "team",
  "person"
)
SELECT
  "team",
  "person"
FROM "public"."members"
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_key_only_67a0ea19" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "a_team",
  "a_person"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  "team",
  "person"
FROM "public"."members"
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_key_only_67a0ea19" (
  "team",
  "person"
)
SELECT
  o."a_team",
  o."a_person"
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
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
    SUM(CASE WHEN "team" IS NULL OR "person" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "public"."members"
  WHERE
    TRUE
  GROUP BY
    "team",
    "person"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_key_only_67a0ea19" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_team",
  "b_person",
  "a_team",
  "a_person"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_team",
  d."b_person",
  d."a_team",
  d."a_person"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."team" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_present IS NULL OR r."team" IS NULL THEN NULL ELSE '' END AS changed,
    r."team" AS "b_team",
    r."person" AS "b_person",
    t."team" AS "a_team",
    t."person" AS "a_person"
  FROM (
    SELECT
      1 AS qbcd_present,
      "team",
      "person"
    FROM "public"."members"
    WHERE
      TRUE
  ) AS t
  FULL JOIN "qbcd"."replica_key_only_67a0ea19" AS r
    ON t."team" = r."team" AND t."person" = r."person"
  WHERE
    t.qbcd_present IS NULL OR r."team" IS NULL
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
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
  ) AND TRUE THEN 0 ELSE 1 END) AS c1
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
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
  CAST(COALESCE(o."a_team", o."b_team") AS text) AS k0,
  CAST(COALESCE(o."a_person", o."b_person") AS text) AS k1
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
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
DELETE FROM "qbcd"."replica_key_only_67a0ea19" AS r USING   "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_team" = r."team"
  AND o."b_person" = r."person"

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_key_only_67a0ea19" (
  "team",
  "person"
)
SELECT
  o."a_team",
  o."a_person"
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
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
  o."b_team" AS b_0,
  o."b_person" AS b_1,
  o."a_team" AS a_0,
  o."a_person" AS a_1
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO "qbcd"."outbox_key_only_67a0ea19" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  "b_team",
  "a_team",
  "b_person",
  "a_person"
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
  o."b_team",
  o."a_team",
  o."b_person",
  o."a_person"
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM "qbcd"."outbox_key_only_67a0ea19"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_key_only_67a0ea19" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_team",
  "b_person",
  "a_team",
  "a_person"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_team",
  d."b_person",
  d."a_team",
  d."a_person"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."team" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_present IS NULL OR r."team" IS NULL THEN NULL ELSE '' END AS changed,
    r."team" AS "b_team",
    r."person" AS "b_person",
    t."team" AS "a_team",
    t."person" AS "a_person"
  FROM (
    SELECT
      1 AS qbcd_present,
      "team",
      "person"
    FROM "public"."members"
    WHERE
      TRUE AND (("team", "person") >= (CAST('-5' AS integer), CAST('-5' AS integer)) AND ("team", "person") < (CAST('7' AS integer), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "team",
      "person"
    FROM "qbcd"."replica_key_only_67a0ea19"
    WHERE
      (("team", "person") >= (CAST('-5' AS integer), CAST('-5' AS integer)) AND ("team", "person") < (CAST('7' AS integer), CAST('7' AS integer)))
  ) AS r
    ON t."team" = r."team" AND t."person" = r."person"
  WHERE
    t.qbcd_present IS NULL OR r."team" IS NULL
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_key_only_67a0ea19" AS r USING   "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_team" = r."team"
  AND o."b_person" = r."person"
  AND ((r."team", r."person") >= (CAST('-5' AS integer), CAST('-5' AS integer)) AND (r."team", r."person") < (CAST('7' AS integer), CAST('7' AS integer)))

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_key_only_67a0ea19" (
  "team",
  "person"
)
SELECT
  o."a_team",
  o."a_person"
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_key_only_67a0ea19" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_team",
  "b_person",
  "a_team",
  "a_person"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_team",
  d."b_person",
  d."a_team",
  d."a_person"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."team" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."team" AS "b_team",
    r."person" AS "b_person",
    t."team" AS "a_team",
    t."person" AS "a_person"
  FROM (
    SELECT
      1 AS qbcd_present,
      "team",
      "person",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(ROW("team", "person"), 7046029254386353131) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "public"."members"
    WHERE
      TRUE AND (("team", "person") >= (CAST('-5' AS integer), CAST('-5' AS integer)) AND ("team", "person") < (CAST('7' AS integer), CAST('7' AS integer)))
  ) AS t
  FULL JOIN (
    SELECT
      "team",
      "person",
      qbcd_digest
    FROM "qbcd"."replica_key_only_67a0ea19"
    WHERE
      (("team", "person") >= (CAST('-5' AS integer), CAST('-5' AS integer)) AND ("team", "person") < (CAST('7' AS integer), CAST('7' AS integer)))
  ) AS r
    ON t."team" = r."team" AND t."person" = r."person"
  WHERE
    t.qbcd_present IS NULL OR r."team" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: apply 1
-- the text of: id: apply 1

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_key_only_67a0ea19" (
  "team",
  "person",
  qbcd_digest
)
SELECT
  o."a_team",
  o."a_person",
  o.digest
FROM "qbcd"."outbox_key_only_67a0ea19" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- id_rcs: checksums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('-5' AS integer), CAST('7' AS integer), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "team",
  "person",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW("team", "person"), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."members"
WHERE
  TRUE) AS t WHERE (t."team", t."person") >= (r.lo0, r.lo1) AND (t."team", t."person") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "team",
  "person",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW("team", "person"), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."members"
WHERE
  TRUE) AS t WHERE (t."team", t."person") < (CAST('-5' AS integer), CAST('-5' AS integer)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "team",
  "person",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW("team", "person"), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."members"
WHERE
  TRUE) AS t WHERE (t."team", t."person") >= (CAST('7' AS integer), CAST('7' AS integer)) OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('-5' AS integer), CAST('7' AS integer), CAST('7' AS integer))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1 FROM (SELECT
  "team",
  "person",
  RECORD_SEND(ROW(INT4SEND("team"), INT4SEND("person"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(ROW("team", "person"), 7046029254386353131) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "team" AS qbcd_0,
  "person" AS qbcd_1
FROM "public"."members"
WHERE
  TRUE) AS t WHERE (t."team", t."person") >= (r.lo0, r.lo1) AND (t."team", t."person") < (r.hi0, r.hi1)) AS q
