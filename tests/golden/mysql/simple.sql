-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_simple_a7a39b72` (
  `order_id` bigint(20) NOT NULL,
  `status` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `amount` decimal(10,2) NULL,
  `placed` timestamp(6) NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_simple_a7a39b72` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `b_order_id` bigint(20) NULL,
  `a_order_id` bigint(20) NULL,
  `b_status` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_status` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_amount` decimal(10,2) NULL,
  `a_amount` decimal(10,2) NULL,
  `b_placed` timestamp(6) NULL,
  `a_placed` timestamp(6) NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: baseline, events=False, 1
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`,
  `status`,
  `amount`,
  `placed`
)
SELECT
  `order_id`,
  `status`,
  `amount`,
  `placed`
FROM `shop`.`orders`
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  `order_id`,
  `status`,
  `amount`,
  `placed`
FROM `shop`.`orders`
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`,
  `status`,
  `amount`,
  `placed`
)
SELECT
  o.`a_order_id`,
  o.`a_status`,
  o.`a_amount`,
  o.`a_placed`
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`orders`
  WHERE
    TRUE
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: changes
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `a_order_id`,
  `b_status`,
  `a_status`,
  `b_amount`,
  `a_amount`,
  `b_placed`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`a_order_id`,
  d.`b_status`,
  d.`a_status`,
  d.`b_amount`,
  d.`a_amount`,
  d.`b_placed`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`amount` <=> r.`amount`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`placed` <=> r.`placed`) THEN '3,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    r.`status` AS `b_status`,
    t.`status` AS `a_status`,
    r.`amount` AS `b_amount`,
    t.`amount` AS `a_amount`,
    r.`placed` AS `b_placed`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`amount` <=> r.`amount`)
    OR NOT (t.`placed` <=> r.`placed`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    NULL,
    r.`status`,
    NULL,
    r.`amount`,
    NULL,
    r.`placed`,
    NULL
  FROM `qbcd`.`replica_simple_a7a39b72` AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`orders`
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
  MAX(
    CASE
      WHEN (o.`a_placed` IS NULL OR coalesce(o.`a_placed` >= '0001-01-01' AND from_days(to_days(o.`a_placed`)) = date(o.`a_placed`), FALSE))
      AND (o.`b_placed` IS NULL OR coalesce(o.`b_placed` >= '0001-01-01' AND from_days(to_days(o.`b_placed`)) = date(o.`b_placed`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c3
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = %(batch_seq)s

-- mds: keys of the batch
--   batch_seq = 2
--   epoch = 5
SELECT
  o.op,
  cast(COALESCE(o.`a_order_id`, o.`b_order_id`) AS CHAR) AS k0
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = %(batch_seq)s
ORDER BY
  o.ordinal
LIMIT 1000

-- mds: apply 1
--   batch_seq = 2
--   epoch = 5
DELETE FROM `r` USING   `qbcd`.`replica_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`,
  `status`,
  `amount`,
  `placed`
)
SELECT
  o.`a_order_id`,
  o.`a_status`,
  o.`a_amount`,
  o.`a_placed`
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
  cast(o.`b_order_id` AS SIGNED) AS b_0,
  convert(o.`b_status` USING utf8mb4) AS b_1,
  cast(o.`b_amount` AS CHAR) AS b_2,
  CASE WHEN coalesce(o.`b_placed` >= '0001-01-01' AND from_days(to_days(o.`b_placed`)) = date(o.`b_placed`), FALSE) THEN date_format(o.`b_placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`b_placed` AS CHAR) END AS b_3,
  cast(o.`a_order_id` AS SIGNED) AS a_0,
  convert(o.`a_status` USING utf8mb4) AS a_1,
  cast(o.`a_amount` AS CHAR) AS a_2,
  CASE WHEN coalesce(o.`a_placed` >= '0001-01-01' AND from_days(to_days(o.`a_placed`)) = date(o.`a_placed`), FALSE) THEN date_format(o.`a_placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`a_placed` AS CHAR) END AS a_3
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- id_rcs: bounds
SELECT cast(o.`order_id` AS CHAR) AS k0
FROM (SELECT t.`order_id`, row_number() OVER (ORDER BY t.`order_id`) AS qbcd_row
FROM (SELECT
  `order_id`
FROM `shop`.`orders`
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`orders`
  WHERE
    TRUE
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- id_rcs: checksums of the one range
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- id_rcs: images of all ranges
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM qbcd_relation AS t WHERE TRUE

-- id_rcs: images for typed sinks, as the JDBC driver takes them
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE WHEN TRUE THEN '' ELSE '2,' END,
    CASE
      WHEN (`placed` IS NULL OR coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE))
      THEN ''
      ELSE '3,'
    END
  ) AS qbcd_untravelled
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_untravelled AS untravelled
FROM qbcd_relation AS t WHERE TRUE

-- restriction, for EXPLAIN
SELECT
  1
FROM `shop`.`orders`
WHERE
  TRUE
