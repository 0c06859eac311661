-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `a_tenant`,
  `a_id`,
  `a_name`,
  `a_note`,
  `a_n`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  `tenant`,
  `id`,
  `name`,
  `note`,
  `n`,
  `doc`
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
)

-- mds: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN `tenant` IS NULL OR `id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`restricted`
  WHERE
    (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)
  GROUP BY
    `tenant`,
    `id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_tenant`,
  `b_id`,
  `b_name`,
  `b_note`,
  `b_n`,
  `b_doc`,
  `a_tenant`,
  `a_id`,
  `a_name`,
  `a_note`,
  `a_n`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_tenant`,
  d.`b_id`,
  d.`b_name`,
  d.`b_note`,
  d.`b_n`,
  d.`b_doc`,
  d.`a_tenant`,
  d.`a_id`,
  d.`a_name`,
  d.`a_note`,
  d.`a_n`,
  d.`a_doc`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
          THEN '2,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
          THEN '3,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`n` <=> r.`n`) THEN '4,' ELSE '' END,
        CASE
          WHEN NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
          THEN '5,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`tenant` AS `b_tenant`,
    r.`id` AS `b_id`,
    r.`name` AS `b_name`,
    r.`note` AS `b_note`,
    r.`n` AS `b_n`,
    r.`doc` AS `b_doc`,
    t.`tenant` AS `a_tenant`,
    t.`id` AS `a_id`,
    t.`name` AS `a_name`,
    t.`note` AS `a_note`,
    t.`n` AS `a_n`,
    t.`doc` AS `a_doc`
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `shop`.`restricted`
    WHERE
      (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
  ) AS r
    ON t.`tenant` = r.`tenant` AND t.`id` = r.`id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
    OR NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
    OR NOT (t.`n` <=> r.`n`)
    OR NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
  UNION ALL
  SELECT
    1,
    NULL,
    r.`tenant`,
    r.`id`,
    r.`name`,
    r.`note`,
    r.`n`,
    r.`doc`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `tenant`,
          `id`
        FROM `shop`.`restricted`
        WHERE
          (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
)
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- mds: keys of the batch
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  concat('0x', hex(COALESCE(o.`a_tenant`, o.`b_tenant`))) AS k0,
  cast(COALESCE(o.`a_id`, o.`b_id`) AS CHAR) AS k1
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
ORDER BY
  o.ordinal
LIMIT 1000

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_tenant`,
  `b_id`,
  `b_name`,
  `b_note`,
  `b_n`,
  `b_doc`,
  `a_tenant`,
  `a_id`,
  `a_name`,
  `a_note`,
  `a_n`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_tenant`,
  d.`b_id`,
  d.`b_name`,
  d.`b_note`,
  d.`b_n`,
  d.`b_doc`,
  d.`a_tenant`,
  d.`a_id`,
  d.`a_name`,
  d.`a_note`,
  d.`a_n`,
  d.`a_doc`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
          THEN '2,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
          THEN '3,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`n` <=> r.`n`) THEN '4,' ELSE '' END,
        CASE
          WHEN NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
          THEN '5,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`tenant` AS `b_tenant`,
    r.`id` AS `b_id`,
    r.`name` AS `b_name`,
    r.`note` AS `b_note`,
    r.`n` AS `b_n`,
    r.`doc` AS `b_doc`,
    t.`tenant` AS `a_tenant`,
    t.`id` AS `a_id`,
    t.`name` AS `a_name`,
    t.`note` AS `a_note`,
    t.`n` AS `a_n`,
    t.`doc` AS `a_doc`
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `shop`.`restricted`
    WHERE
      (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS r
    ON t.`tenant` = r.`tenant` AND t.`id` = r.`id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
    OR NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
    OR NOT (t.`n` <=> r.`n`)
    OR NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
  UNION ALL
  SELECT
    1,
    NULL,
    r.`tenant`,
    r.`id`,
    r.`name`,
    r.`note`,
    r.`n`,
    r.`doc`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `tenant`,
          `id`
        FROM `shop`.`restricted`
        WHERE
          (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- id: rows
SELECT
  COUNT(*) AS n
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)

-- id: bounds
SELECT concat('0x', hex(o.`tenant`)) AS k0, cast(o.`id` AS CHAR) AS k1
FROM (SELECT t.`tenant`, t.`id`, row_number() OVER (ORDER BY t.`tenant`, t.`id`) AS qbcd_row
FROM (SELECT
  `tenant`,
  `id`
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: bounds in a range
SELECT concat('0x', hex(o.`qbcd_0`)) AS k0, cast(o.`qbcd_1` AS CHAR) AS k1
FROM (SELECT t.`qbcd_0`, t.`qbcd_1`, row_number() OVER (ORDER BY t.`qbcd_0`, t.`qbcd_1`) AS qbcd_row
FROM (WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 2 AS range_id, t.`tenant` AS qbcd_0, t.`id` AS qbcd_1
FROM qbcd_relation AS t WHERE (t.`tenant` >= X'00' AND ((t.`tenant` > X'00') OR (t.`tenant` = X'00' AND t.`id` >= -5))) AND (t.`tenant` <= X'FF27' AND ((t.`tenant` < X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` < 7)))) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
WITH qbcd_relation AS (SELECT r.* FROM (SELECT `tenant`, `id` FROM `qbcd`.`replica_restricted_7a0d9159`) AS r)
SELECT 1 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` <= X'00' AND ((t.`tenant` < X'00') OR (t.`tenant` = X'00' AND t.`id` < -5))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` >= X'00' AND ((t.`tenant` > X'00') OR (t.`tenant` = X'00' AND t.`id` >= -5))) AND (t.`tenant` <= X'FF27' AND ((t.`tenant` < X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` < 7))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` >= X'FF27' AND ((t.`tenant` > X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` >= 7))) LIMIT 18446744073709551615) AS t

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_tenant`,
  `b_id`,
  `a_tenant`,
  `a_id`,
  `a_name`,
  `a_note`,
  `a_n`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_tenant`,
  d.`b_id`,
  d.`a_tenant`,
  d.`a_id`,
  d.`a_name`,
  d.`a_note`,
  d.`a_n`,
  d.`a_doc`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`tenant` AS `b_tenant`,
    r.`id` AS `b_id`,
    t.`tenant` AS `a_tenant`,
    t.`id` AS `a_id`,
    t.`name` AS `a_name`,
    t.`note` AS `a_note`,
    t.`n` AS `a_n`,
    t.`doc` AS `a_doc`
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`,
      cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`restricted`
    WHERE
      (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      qbcd_digest
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS r
    ON t.`tenant` = r.`tenant` AND t.`id` = r.`id`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`tenant`,
    r.`id`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      qbcd_digest
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `tenant`,
          `id`
        FROM `shop`.`restricted`
        WHERE
          (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- id_rcs: bounds
-- the text of: id: bounds

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` <= X'00' AND ((t.`tenant` < X'00') OR (t.`tenant` = X'00' AND t.`id` < -5))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` >= X'00' AND ((t.`tenant` > X'00') OR (t.`tenant` = X'00' AND t.`id` >= -5))) AND (t.`tenant` <= X'FF27' AND ((t.`tenant` < X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` < 7))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`tenant` >= X'FF27' AND ((t.`tenant` > X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` >= 7))) LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`,
  concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`tenant` USING binary) AS qbcd_0,
  cast(`id` AS SIGNED) AS qbcd_1,
  convert(`name` USING utf8mb4) AS qbcd_2,
  convert(`note` USING utf8mb4) AS qbcd_3,
  cast(`n` AS SIGNED) AS qbcd_4,
  convert(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_5
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM qbcd_relation AS t WHERE (t.`tenant` >= X'00' AND ((t.`tenant` > X'00') OR (t.`tenant` = X'00' AND t.`id` >= -5))) AND (t.`tenant` <= X'FF27' AND ((t.`tenant` < X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` < 7)))

-- id_rcs: images for typed sinks, as the JDBC driver takes them
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`,
  concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`tenant` USING binary) AS qbcd_0,
  cast(`id` AS SIGNED) AS qbcd_1,
  convert(`name` USING utf8mb4) AS qbcd_2,
  convert(`note` USING utf8mb4) AS qbcd_3,
  cast(`n` AS SIGNED) AS qbcd_4,
  convert(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE WHEN TRUE THEN '' ELSE '2,' END,
    CASE WHEN TRUE THEN '' ELSE '3,' END,
    CASE WHEN TRUE THEN '' ELSE '4,' END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled
FROM qbcd_relation AS t WHERE TRUE

-- vbd, compare: baseline 1
INSERT INTO `qbcd`.`replica_restricted_7a0d9159` (
  `tenant`,
  `id`,
  `name`,
  `note`,
  `n`,
  `doc`
)
SELECT
  `tenant`,
  `id`,
  `name`,
  `note`,
  `n`,
  `doc`
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)

-- vbd, compare: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN `tenant` IS NULL OR `id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
  WHERE
    (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)
  GROUP BY
    `tenant`,
    `id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- vbd, compare: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_tenant`,
  `b_id`,
  `b_name`,
  `b_note`,
  `b_n`,
  `b_doc`,
  `a_tenant`,
  `a_id`,
  `a_name`,
  `a_note`,
  `a_n`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_tenant`,
  d.`b_id`,
  d.`b_name`,
  d.`b_note`,
  d.`b_n`,
  d.`b_doc`,
  d.`a_tenant`,
  d.`a_id`,
  d.`a_name`,
  d.`a_note`,
  d.`a_n`,
  d.`a_doc`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
          THEN '2,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
          THEN '3,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`n` <=> r.`n`) THEN '4,' ELSE '' END,
        CASE
          WHEN NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
          THEN '5,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`tenant` AS `b_tenant`,
    r.`id` AS `b_id`,
    r.`name` AS `b_name`,
    r.`note` AS `b_note`,
    r.`n` AS `b_n`,
    r.`doc` AS `b_doc`,
    t.`tenant` AS `a_tenant`,
    t.`id` AS `a_id`,
    t.`name` AS `a_name`,
    t.`note` AS `a_note`,
    t.`n` AS `a_n`,
    t.`doc` AS `a_doc`
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM (
SELECT *, '100%% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
    WHERE
      (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
  ) AS r
    ON t.`tenant` = r.`tenant` AND t.`id` = r.`id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`name` USING binary) <=> convert(r.`name` USING binary))
    OR NOT (convert(t.`note` USING binary) <=> convert(r.`note` USING binary))
    OR NOT (t.`n` <=> r.`n`)
    OR NOT (coalesce(nullif(convert(t.`doc` USING binary), ''), exp(length(t.`doc`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`doc` USING binary), ''), exp(length(r.`doc`) + @@max_allowed_packet)))
  UNION ALL
  SELECT
    1,
    NULL,
    r.`tenant`,
    r.`id`,
    r.`name`,
    r.`note`,
    r.`n`,
    r.`doc`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      `name`,
      `note`,
      `n`,
      `doc`
    FROM `qbcd`.`replica_restricted_7a0d9159`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `tenant`,
          `id`
        FROM (
SELECT *, '100%% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
        WHERE
          (
name LIKE "100%%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%%(epoch)s' AND n %% 2 = 0 || n IS NULL
)
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- vbd, checksum by hash: bounds
SELECT
  COUNT(*) AS n
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)

-- vbd, checksum by hash: checksums
SELECT 1 AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT 0 AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1

-- vbd, checksum by hash: images
SELECT 3 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`tenant` USING binary) AS qbcd_0,
  cast(`id` AS SIGNED) AS qbcd_1,
  convert(`name` USING utf8mb4) AS qbcd_2,
  convert(`note` USING utf8mb4) AS qbcd_3,
  cast(`n` AS SIGNED) AS qbcd_4,
  convert(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_5
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS t WHERE t.qbcd_hash < 0

-- vbd, checksum by key: bounds
SELECT concat('0x', hex(o.`tenant`)) AS k0, cast(o.`id` AS CHAR) AS k1
FROM (SELECT t.`tenant`, t.`id`, row_number() OVER (ORDER BY t.`tenant`, t.`id`) AS qbcd_row
FROM (SELECT
  `tenant`,
  `id`
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- vbd, checksum by key: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- vbd, checksum by key: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `tenant`,
  `id`,
  concat(_binary'', length(convert(`tenant` USING binary)), ':', convert(`tenant` USING binary), length(convert(`id` USING binary)), ':', convert(`id` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`tenant`), ':', `tenant`), 'N'), ifnull(`id`, 'N'), ',', ifnull(concat(length(`name`), ':', convert(`name` USING binary)), 'N'), ifnull(sha2(convert(`note` USING binary), 256), 'N'), ifnull(`n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`tenant` USING binary) AS qbcd_0,
  cast(`id` AS SIGNED) AS qbcd_1,
  convert(`name` USING utf8mb4) AS qbcd_2,
  convert(`note` USING utf8mb4) AS qbcd_3,
  cast(`n` AS SIGNED) AS qbcd_4,
  convert(coalesce(nullif(convert(`doc` USING binary), ''), exp(length(`doc`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_5
FROM (
SELECT *, '100% :x ?' AS told
FROM `shop`.`restricted` /* "QBCD_PLACE" */ LIMIT 5
) AS qbcd_query
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM qbcd_relation AS t WHERE TRUE

-- vbd: lock
SELECT 1 FROM `shop`.`restricted` LIMIT 0

-- restriction, for EXPLAIN
SELECT
  1
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)
