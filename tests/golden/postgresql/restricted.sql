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

-- id_rcs: bounds
-- the text of: id: bounds

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
