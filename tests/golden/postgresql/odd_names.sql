-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_odd_names_3c8f564f" (
  "se""lect" integer,
  "%(x)s" date,
  ":epoch" text,
  "back`tick" text,
  "it's \" integer,
  "{{ jinja }}" integer,
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" integer,
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" integer,
  PRIMARY KEY ("se""lect", "%(x)s")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_odd_names_3c8f564f" (
  "epoch" bigint,
  "batch_seq" bigint,
  "ordinal" bigint,
  "op" varchar(1),
  "reason" varchar(40),
  "pair_id" varchar(64),
  "changed" text,
  "digest" bigint,
  "b_se""lect" integer,
  "a_se""lect" integer,
  "b_%(x)s" date,
  "a_%(x)s" date,
  "b_:epoch" text,
  "a_:epoch" text,
  "b_back`tick" text,
  "a_back`tick" text,
  "b_it's \" integer,
  "a_it's \" integer,
  "b_{{ jinja }}" integer,
  "a_{{ jinja }}" integer,
  "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996" integer,
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996" integer,
  "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6" integer,
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6" integer,
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: baseline, events=False, 1
INSERT INTO "qbcd"."replica_odd_names_3c8f564f" (
  "se""lect",
  "%(x)s",
  ":epoch",
  "back`tick",
  "it's \",
  "{{ jinja }}",
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
)
SELECT
  "se""lect",
  "%(x)s",
  ":epoch",
  "back`tick",
  "it's \",
  "{{ jinja }}",
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO "qbcd"."outbox_odd_names_3c8f564f" (
  epoch,
  batch_seq,
  ordinal,
  op,
  "a_se""lect",
  "a_%%(x)s",
  "a_:epoch",
  "a_back`tick",
  "a_it's \",
  "a_{{ jinja }}",
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  "se""lect",
  "%%(x)s",
  ":epoch",
  "back`tick",
  "it's \",
  "{{ jinja }}",
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
FROM "My ""Schema"""."a.b %% :c"
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_odd_names_3c8f564f" (
  "se""lect",
  "%%(x)s",
  ":epoch",
  "back`tick",
  "it's \",
  "{{ jinja }}",
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
)
SELECT
  o."a_se""lect",
  o."a_%%(x)s",
  o."a_:epoch",
  o."a_back`tick",
  o."a_it's \",
  o."a_{{ jinja }}",
  o."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  o."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
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
    SUM(CASE WHEN "se""lect" IS NULL OR "%(x)s" IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM "My ""Schema"""."a.b % :c"
  WHERE
    TRUE
  GROUP BY
    "se""lect",
    "%(x)s"
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE "qbcd"."replica_odd_names_3c8f564f" AS r SET "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" = t.qbcd_0, "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" = t.qbcd_1
FROM (
  SELECT
    "se""lect",
    "%(x)s",
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS qbcd_0,
    "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS qbcd_1
  FROM "My ""Schema"""."a.b % :c"
  WHERE
    TRUE
) AS t
WHERE
  t."se""lect" = r."se""lect" AND t."%(x)s" = r."%(x)s"

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE "qbcd"."outbox_odd_names_3c8f564f" SET "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996" = NULL, "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6" = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_odd_names_3c8f564f" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_se""lect",
  "b_%%(x)s",
  "b_:epoch",
  "b_back`tick",
  "b_it's \",
  "b_{{ jinja }}",
  "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  "a_se""lect",
  "a_%%(x)s",
  "a_:epoch",
  "a_back`tick",
  "a_it's \",
  "a_{{ jinja }}",
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_se""lect",
  d."b_%%(x)s",
  d."b_:epoch",
  d."b_back`tick",
  d."b_it's \",
  d."b_{{ jinja }}",
  d."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  d."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  d."a_se""lect",
  d."a_%%(x)s",
  d."a_:epoch",
  d."a_back`tick",
  d."a_it's \",
  d."a_{{ jinja }}",
  d."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  d."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."se""lect" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."se""lect" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t.":epoch" COLLATE "C" IS DISTINCT FROM r.":epoch" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."back`tick" COLLATE "C" IS DISTINCT FROM r."back`tick" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."it's \" IS DISTINCT FROM r."it's \" THEN '4,' ELSE '' END || CASE WHEN t."{{ jinja }}" IS DISTINCT FROM r."{{ jinja }}" THEN '5,' ELSE '' END || CASE
        WHEN t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" IS DISTINCT FROM r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        THEN '6,'
        ELSE ''
      END || CASE
        WHEN t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" IS DISTINCT FROM r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
        THEN '7,'
        ELSE ''
      END)
    END AS changed,
    r."se""lect" AS "b_se""lect",
    r."%%(x)s" AS "b_%%(x)s",
    r.":epoch" AS "b_:epoch",
    r."back`tick" AS "b_back`tick",
    r."it's \" AS "b_it's \",
    r."{{ jinja }}" AS "b_{{ jinja }}",
    r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
    r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
    t."se""lect" AS "a_se""lect",
    t."%%(x)s" AS "a_%%(x)s",
    t.":epoch" AS "a_:epoch",
    t."back`tick" AS "a_back`tick",
    t."it's \" AS "a_it's \",
    t."{{ jinja }}" AS "a_{{ jinja }}",
    t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
    t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
  FROM (
    SELECT
      1 AS qbcd_present,
      "se""lect",
      "%%(x)s",
      ":epoch",
      "back`tick",
      "it's \",
      "{{ jinja }}",
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
      "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
    FROM "My ""Schema"""."a.b %% :c"
    WHERE
      TRUE
  ) AS t
  FULL JOIN "qbcd"."replica_odd_names_3c8f564f" AS r
    ON t."se""lect" = r."se""lect" AND t."%%(x)s" = r."%%(x)s"
  WHERE
    t.qbcd_present IS NULL
    OR r."se""lect" IS NULL
    OR t.":epoch" COLLATE "C" IS DISTINCT FROM r.":epoch" COLLATE "C"
    OR t."back`tick" COLLATE "C" IS DISTINCT FROM r."back`tick" COLLATE "C"
    OR t."it's \" IS DISTINCT FROM r."it's \"
    OR t."{{ jinja }}" IS DISTINCT FROM r."{{ jinja }}"
    OR t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" IS DISTINCT FROM r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    OR t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" IS DISTINCT FROM r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
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
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          o."a_%%(x)s" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE),
          TRUE
        )
      )
      AND COALESCE(
        o."b_%%(x)s" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c1,
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
  ) AND TRUE THEN 0 ELSE 1 END) AS c5,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c6,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c7
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
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
  CAST(COALESCE(o."a_se""lect", o."b_se""lect") AS text) AS k0,
  CAST(COALESCE(o."a_%%(x)s", o."b_%%(x)s") AS text) AS k1
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
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
DELETE FROM "qbcd"."replica_odd_names_3c8f564f" AS r USING   "qbcd"."outbox_odd_names_3c8f564f" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_se""lect" = r."se""lect"
  AND o."b_%%(x)s" = r."%%(x)s"

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."replica_odd_names_3c8f564f" (
  "se""lect",
  "%%(x)s",
  ":epoch",
  "back`tick",
  "it's \",
  "{{ jinja }}",
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
)
SELECT
  o."a_se""lect",
  o."a_%%(x)s",
  o."a_:epoch",
  o."a_back`tick",
  o."a_it's \",
  o."a_{{ jinja }}",
  o."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  o."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
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
  o."b_se""lect" AS b_0,
  CAST(o."b_%(x)s" AS text) AS b_1,
  CAST(o."b_:epoch" AS text) AS b_2,
  CAST(o."b_back`tick" AS text) AS b_3,
  o."b_it's \" AS b_4,
  o."b_{{ jinja }}" AS b_5,
  o."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996" AS b_6,
  o."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6" AS b_7,
  o."a_se""lect" AS a_0,
  CAST(o."a_%(x)s" AS text) AS a_1,
  CAST(o."a_:epoch" AS text) AS a_2,
  CAST(o."a_back`tick" AS text) AS a_3,
  o."a_it's \" AS a_4,
  o."a_{{ jinja }}" AS a_5,
  o."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996" AS a_6,
  o."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6" AS a_7
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO "qbcd"."outbox_odd_names_3c8f564f" (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  "b_se""lect",
  "a_se""lect",
  "b_%%(x)s",
  "a_%%(x)s",
  "b_:epoch",
  "a_:epoch",
  "b_back`tick",
  "a_back`tick",
  "b_it's \",
  "a_it's \",
  "b_{{ jinja }}",
  "a_{{ jinja }}",
  "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
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
  o."b_se""lect",
  o."a_se""lect",
  o."b_%%(x)s",
  o."a_%%(x)s",
  o."b_:epoch",
  o."a_:epoch",
  o."b_back`tick",
  o."a_back`tick",
  o."b_it's \",
  o."a_it's \",
  o."b_{{ jinja }}",
  o."a_{{ jinja }}",
  o."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  o."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  o."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  o."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM "qbcd"."outbox_odd_names_3c8f564f"
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE "qbcd"."outbox_odd_names_3c8f564f" AS o SET reason = 'key_change', pair_id = p.pair_id
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
              d."b_:epoch" COLLATE "C",
              d."b_back`tick" COLLATE "C",
              d."b_it's \",
              d."b_{{ jinja }}",
              d."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
              d."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_:epoch" COLLATE "C",
              d."a_back`tick" COLLATE "C",
              d."a_it's \",
              d."a_{{ jinja }}",
              d."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
              d."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_odd_names_3c8f564f" AS d
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
UPDATE "qbcd"."outbox_odd_names_3c8f564f" AS o SET reason = 'key_change', pair_id = p.pair_id
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
              d."b_:epoch" COLLATE "C",
              d."b_back`tick" COLLATE "C",
              d."b_it's \",
              d."b_{{ jinja }}",
              d."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
              d."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
        ELSE HASHTEXTEXTENDED(
          CAST(HASH_RECORD_EXTENDED(
            ROW(
              d."a_:epoch" COLLATE "C",
              d."a_back`tick" COLLATE "C",
              d."a_it's \",
              d."a_{{ jinja }}",
              d."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
              d."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
            ),
            7046029254386353131
          ) AS text),
          8650415919381337933
        )
      END AS content
    FROM "qbcd"."outbox_odd_names_3c8f564f" AS d
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

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_odd_names_3c8f564f" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_se""lect",
  "b_%%(x)s",
  "b_:epoch",
  "b_back`tick",
  "b_it's \",
  "b_{{ jinja }}",
  "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  "a_se""lect",
  "a_%%(x)s",
  "a_:epoch",
  "a_back`tick",
  "a_it's \",
  "a_{{ jinja }}",
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_se""lect",
  d."b_%%(x)s",
  d."b_:epoch",
  d."b_back`tick",
  d."b_it's \",
  d."b_{{ jinja }}",
  d."b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  d."b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
  d."a_se""lect",
  d."a_%%(x)s",
  d."a_:epoch",
  d."a_back`tick",
  d."a_it's \",
  d."a_{{ jinja }}",
  d."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  d."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."se""lect" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."se""lect" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t.":epoch" COLLATE "C" IS DISTINCT FROM r.":epoch" COLLATE "C"
        THEN '2,'
        ELSE ''
      END || CASE
        WHEN t."back`tick" COLLATE "C" IS DISTINCT FROM r."back`tick" COLLATE "C"
        THEN '3,'
        ELSE ''
      END || CASE WHEN t."it's \" IS DISTINCT FROM r."it's \" THEN '4,' ELSE '' END || CASE WHEN t."{{ jinja }}" IS DISTINCT FROM r."{{ jinja }}" THEN '5,' ELSE '' END || CASE
        WHEN t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" IS DISTINCT FROM r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        THEN '6,'
        ELSE ''
      END || CASE
        WHEN t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" IS DISTINCT FROM r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
        THEN '7,'
        ELSE ''
      END)
    END AS changed,
    r."se""lect" AS "b_se""lect",
    r."%%(x)s" AS "b_%%(x)s",
    r.":epoch" AS "b_:epoch",
    r."back`tick" AS "b_back`tick",
    r."it's \" AS "b_it's \",
    r."{{ jinja }}" AS "b_{{ jinja }}",
    r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS "b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
    r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS "b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6",
    t."se""lect" AS "a_se""lect",
    t."%%(x)s" AS "a_%%(x)s",
    t.":epoch" AS "a_:epoch",
    t."back`tick" AS "a_back`tick",
    t."it's \" AS "a_it's \",
    t."{{ jinja }}" AS "a_{{ jinja }}",
    t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
    t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
  FROM (
    SELECT
      1 AS qbcd_present,
      "se""lect",
      "%%(x)s",
      ":epoch",
      "back`tick",
      "it's \",
      "{{ jinja }}",
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
      "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
    FROM "My ""Schema"""."a.b %% :c"
    WHERE
      TRUE AND (("se""lect", "%%(x)s") >= (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) AND ("se""lect", "%%(x)s") < (CAST('7' AS integer), CAST('infinity' AS date)))
  ) AS t
  FULL JOIN (
    SELECT
      "se""lect",
      "%%(x)s",
      ":epoch",
      "back`tick",
      "it's \",
      "{{ jinja }}",
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
      "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
    FROM "qbcd"."replica_odd_names_3c8f564f"
    WHERE
      (("se""lect", "%%(x)s") >= (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) AND ("se""lect", "%%(x)s") < (CAST('7' AS integer), CAST('infinity' AS date)))
  ) AS r
    ON t."se""lect" = r."se""lect" AND t."%%(x)s" = r."%%(x)s"
  WHERE
    t.qbcd_present IS NULL
    OR r."se""lect" IS NULL
    OR t.":epoch" COLLATE "C" IS DISTINCT FROM r.":epoch" COLLATE "C"
    OR t."back`tick" COLLATE "C" IS DISTINCT FROM r."back`tick" COLLATE "C"
    OR t."it's \" IS DISTINCT FROM r."it's \"
    OR t."{{ jinja }}" IS DISTINCT FROM r."{{ jinja }}"
    OR t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" IS DISTINCT FROM r."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    OR t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" IS DISTINCT FROM r."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
) AS d

-- id: bounds in a range
SELECT CAST(o."qbcd_0" AS text) AS k0, CAST(o."qbcd_1" AS text) AS k1
FROM (SELECT t."qbcd_0", t."qbcd_1", row_number() OVER (ORDER BY t."qbcd_0", t."qbcd_1") AS qbcd_row
FROM (SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('0044-03-15 BC' AS date), CAST('7' AS integer), CAST('infinity' AS date))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t."se""lect" AS qbcd_0, t."%(x)s" AS qbcd_1 FROM (SELECT
  "se""lect",
  "%(x)s"
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t WHERE (t."se""lect", t."%(x)s") >= (r.lo0, r.lo1) AND (t."se""lect", t."%(x)s") < (r.hi0, r.hi1)) AS q) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_odd_names_3c8f564f" (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  "b_se""lect",
  "b_%%(x)s",
  "a_se""lect",
  "a_%%(x)s",
  "a_:epoch",
  "a_back`tick",
  "a_it's \",
  "a_{{ jinja }}",
  "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d."b_se""lect",
  d."b_%%(x)s",
  d."a_se""lect",
  d."a_%%(x)s",
  d."a_:epoch",
  d."a_back`tick",
  d."a_it's \",
  d."a_{{ jinja }}",
  d."a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
  d."a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."se""lect" IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r."se""lect" AS "b_se""lect",
    r."%%(x)s" AS "b_%%(x)s",
    t."se""lect" AS "a_se""lect",
    t."%%(x)s" AS "a_%%(x)s",
    t.":epoch" AS "a_:epoch",
    t."back`tick" AS "a_back`tick",
    t."it's \" AS "a_it's \",
    t."{{ jinja }}" AS "a_{{ jinja }}",
    t."nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS "a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996",
    t."üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS "a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6"
  FROM (
    SELECT
      1 AS qbcd_present,
      "se""lect",
      "%%(x)s",
      ":epoch",
      "back`tick",
      "it's \",
      "{{ jinja }}",
      "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
      "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz",
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "se""lect",
            "%%(x)s",
            ":epoch" COLLATE "C",
            "back`tick" COLLATE "C",
            "it's \",
            "{{ jinja }}",
            "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
            "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) AS qbcd_digest
    FROM "My ""Schema"""."a.b %% :c"
    WHERE
      TRUE AND (("se""lect", "%%(x)s") >= (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) AND ("se""lect", "%%(x)s") < (CAST('7' AS integer), CAST('infinity' AS date)))
  ) AS t
  FULL JOIN (
    SELECT
      "se""lect",
      "%%(x)s",
      qbcd_digest
    FROM "qbcd"."replica_odd_names_3c8f564f"
    WHERE
      (("se""lect", "%%(x)s") >= (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) AND ("se""lect", "%%(x)s") < (CAST('7' AS integer), CAST('infinity' AS date)))
  ) AS r
    ON t."se""lect" = r."se""lect" AND t."%%(x)s" = r."%%(x)s"
  WHERE
    t.qbcd_present IS NULL OR r."se""lect" IS NULL OR t.qbcd_digest <> r.qbcd_digest
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM "qbcd"."replica_odd_names_3c8f564f" AS r USING   "qbcd"."outbox_odd_names_3c8f564f" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o."b_se""lect" = r."se""lect"
  AND o."b_%%(x)s" = r."%%(x)s"
  AND ((r."se""lect", r."%%(x)s") >= (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) AND (r."se""lect", r."%%(x)s") < (CAST('7' AS integer), CAST('infinity' AS date)))

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."replica_odd_names_3c8f564f" (
  "se""lect",
  "%%(x)s",
  qbcd_digest
)
SELECT
  o."a_se""lect",
  o."a_%%(x)s",
  o.digest
FROM "qbcd"."outbox_odd_names_3c8f564f" AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- id_rcs: bounds
SELECT CAST(o."se""lect" AS text) AS k0, CAST(o."%(x)s" AS text) AS k1
FROM (SELECT t."se""lect", t."%(x)s", row_number() OVER (ORDER BY t."se""lect", t."%(x)s") AS qbcd_row
FROM (SELECT
  "se""lect",
  "%(x)s"
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: checksums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('0044-03-15 BC' AS date), CAST('7' AS integer), CAST('infinity' AS date))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "se""lect",
  "%(x)s",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t WHERE (t."se""lect", t."%(x)s") >= (r.lo0, r.lo1) AND (t."se""lect", t."%(x)s") < (r.hi0, r.hi1) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "se""lect",
  "%(x)s",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t WHERE (t."se""lect", t."%(x)s") < (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date)) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "se""lect",
  "%(x)s",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t WHERE (t."se""lect", t."%(x)s") >= (CAST('7' AS integer), CAST('infinity' AS date)) OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('0044-03-15 BC' AS date), CAST('7' AS integer), CAST('infinity' AS date))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7 FROM (SELECT
  "se""lect",
  "%(x)s",
  RECORD_SEND(ROW(INT4SEND("se""lect"), DATE_SEND("%(x)s"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  "se""lect" AS qbcd_0,
  CAST("%(x)s" AS text) AS qbcd_1,
  CAST(":epoch" AS text) AS qbcd_2,
  CAST("back`tick" AS text) AS qbcd_3,
  "it's \" AS qbcd_4,
  "{{ jinja }}" AS qbcd_5,
  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" AS qbcd_6,
  "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz" AS qbcd_7
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE) AS t WHERE (t."se""lect", t."%(x)s") >= (r.lo0, r.lo1) AND (t."se""lect", t."%(x)s") < (r.hi0, r.hi1)) AS q

-- id_rcs: keys of rows written since a mark
SELECT q.* FROM (
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('-5' AS integer), CAST('0044-03-15 BC' AS date), CAST('7' AS integer), CAST('infinity' AS date))
) AS r(range_id, lo0, lo1, hi0, hi1)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0, t.qbcd_k1 AS k1 FROM (SELECT
  "se""lect",
  "%(x)s",
  RECORD_SEND(ROW(INT4SEND("se""lect"), DATE_SEND("%(x)s"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("se""lect" AS text) AS qbcd_k0,
  CAST("%(x)s" AS text) AS qbcd_k1
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE (t."se""lect", t."%(x)s") >= (r.lo0, r.lo1) AND (t."se""lect", t."%(x)s") < (r.hi0, r.hi1)) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_k0 AS k0, t.qbcd_k1 AS k1 FROM (SELECT
  "se""lect",
  "%(x)s",
  RECORD_SEND(ROW(INT4SEND("se""lect"), DATE_SEND("%(x)s"))) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "se""lect",
        "%(x)s",
        ":epoch" COLLATE "C",
        "back`tick" COLLATE "C",
        "it's \",
        "{{ jinja }}",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("se""lect" AS text) AS qbcd_k0,
  CAST("%(x)s" AS text) AS qbcd_k1
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE AND AGE(xmin) <= AGE(CAST(CAST('4294967400' AS xid8) AS xid))) AS t WHERE (t."se""lect", t."%(x)s") < (CAST('-5' AS integer), CAST('0044-03-15 BC' AS date))) AS q
) AS q LIMIT 100

-- restriction, for EXPLAIN
SELECT
  1
FROM "My ""Schema"""."a.b % :c"
WHERE
  TRUE
