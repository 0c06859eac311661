-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_restricted_7a0d9159` (
  `tenant` binary(16) NOT NULL,
  `id` int(11) NOT NULL,
  `name` varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `note` text CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `n` int(11) NULL,
  `doc` json NULL,
  PRIMARY KEY (`tenant`, `id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_restricted_7a0d9159` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `b_tenant` binary(16) NULL,
  `a_tenant` binary(16) NULL,
  `b_id` int(11) NULL,
  `a_id` int(11) NULL,
  `b_name` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_name` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_note` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_note` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_n` int(11) NULL,
  `a_n` int(11) NULL,
  `b_doc` json NULL,
  `a_doc` json NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: baseline, events=False, 1
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
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)

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

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`replica_restricted_7a0d9159` (
  `tenant`,
  `id`,
  `name`,
  `note`,
  `n`,
  `doc`
)
SELECT
  o.`a_tenant`,
  o.`a_id`,
  o.`a_name`,
  o.`a_note`,
  o.`a_n`,
  o.`a_doc`
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.op <> 'd'

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
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_tenant`,
  `a_tenant`,
  `b_id`,
  `a_id`,
  `b_name`,
  `a_name`,
  `b_note`,
  `a_note`,
  `b_n`,
  `a_n`,
  `b_doc`,
  `a_doc`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_tenant`,
  d.`a_tenant`,
  d.`b_id`,
  d.`a_id`,
  d.`b_name`,
  d.`a_name`,
  d.`b_note`,
  d.`a_note`,
  d.`b_n`,
  d.`a_n`,
  d.`b_doc`,
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
    t.`tenant` AS `a_tenant`,
    r.`id` AS `b_id`,
    t.`id` AS `a_id`,
    r.`name` AS `b_name`,
    t.`name` AS `a_name`,
    r.`note` AS `b_note`,
    t.`note` AS `a_note`,
    r.`n` AS `b_n`,
    t.`n` AS `a_n`,
    r.`doc` AS `b_doc`,
    t.`doc` AS `a_doc`
  FROM (
    SELECT
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
    NULL,
    r.`id`,
    NULL,
    r.`name`,
    NULL,
    r.`note`,
    NULL,
    r.`n`,
    NULL,
    r.`doc`,
    NULL
  FROM `qbcd`.`replica_restricted_7a0d9159` AS r
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

-- mds: counts
--   batch_seq = 2
--   epoch = 5
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = %(batch_seq)s
GROUP BY
  o.op

-- mds: values no type can hold
--   batch_seq = 2
--   epoch = 5
SELECT
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c0,
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c1,
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c2,
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c3,
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c4,
  MAX(CASE WHEN TRUE AND TRUE THEN 0 ELSE 1 END) AS c5
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = %(batch_seq)s

-- mds: keys of the batch
--   batch_seq = 2
--   epoch = 5
SELECT
  o.op,
  concat('0x', hex(COALESCE(o.`a_tenant`, o.`b_tenant`))) AS k0,
  cast(COALESCE(o.`a_id`, o.`b_id`) AS CHAR) AS k1
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = %(batch_seq)s
ORDER BY
  o.ordinal
LIMIT 1000

-- mds: apply 1
--   batch_seq = 2
--   epoch = 5
DELETE FROM `r` USING   `qbcd`.`replica_restricted_7a0d9159` AS r,
  `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.op IN ('d', 'u')
  AND o.`b_tenant` = r.`tenant`
  AND o.`b_id` = r.`id`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`replica_restricted_7a0d9159` (
  `tenant`,
  `id`,
  `name`,
  `note`,
  `n`,
  `doc`
)
SELECT
  o.`a_tenant`,
  o.`a_id`,
  o.`a_name`,
  o.`a_note`,
  o.`a_n`,
  o.`a_doc`
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.op <> 'd'

-- mds: rows of the batch, by Spark
SELECT
  o.op,
  o.reason,
  o.pair_id,
  o.ordinal,
  o.changed,
  convert(o.`b_tenant` USING binary) AS b_0,
  cast(o.`b_id` AS SIGNED) AS b_1,
  convert(o.`b_name` USING utf8mb4) AS b_2,
  convert(o.`b_note` USING utf8mb4) AS b_3,
  cast(o.`b_n` AS SIGNED) AS b_4,
  convert(coalesce(nullif(convert(o.`b_doc` USING binary), ''), exp(length(o.`b_doc`) + @@max_allowed_packet)) USING utf8mb4) AS b_5,
  convert(o.`a_tenant` USING binary) AS a_0,
  cast(o.`a_id` AS SIGNED) AS a_1,
  convert(o.`a_name` USING utf8mb4) AS a_2,
  convert(o.`a_note` USING utf8mb4) AS a_3,
  cast(o.`a_n` AS SIGNED) AS a_4,
  convert(coalesce(nullif(convert(o.`a_doc` USING binary), ''), exp(length(o.`a_doc`) + @@max_allowed_packet)) USING utf8mb4) AS a_5
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- id_rcs: bounds
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

-- id_rcs: key problems
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

-- id_rcs: checksums of the one range
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
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

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

-- id_rcs: images of all ranges
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
SELECT CASE WHEN (t.`tenant` <= X'00' AND ((t.`tenant` < X'00') OR (t.`tenant` = X'00' AND t.`id` < -5))) THEN 1 ELSE CASE WHEN (t.`tenant` <= X'FF27' AND ((t.`tenant` < X'FF27') OR (t.`tenant` = X'FF27' AND t.`id` < 7))) THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM qbcd_relation AS t WHERE TRUE

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

-- restriction, for EXPLAIN
SELECT
  1
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)
