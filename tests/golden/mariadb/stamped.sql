-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_stamped_ca2fe806` (
  `order_id` bigint(20) NOT NULL,
  `status` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `updated_at` timestamp(6) NULL,
  `created at` timestamp(6) NULL,
  `written` datetime(3) NULL,
  `gone` tinyint(1) NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_stamped_ca2fe806` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `digest` bigint NULL,
  `b_order_id` bigint(20) NULL,
  `a_order_id` bigint(20) NULL,
  `b_status` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_status` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_updated_at` timestamp(6) NULL,
  `a_updated_at` timestamp(6) NULL,
  `b_created at` timestamp(6) NULL,
  `a_created at` timestamp(6) NULL,
  `b_written` datetime(3) NULL,
  `a_written` datetime(3) NULL,
  `b_gone` tinyint(1) NULL,
  `a_gone` tinyint(1) NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: baseline, events=False, 1
INSERT INTO `qbcd`.`replica_stamped_ca2fe806` (
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
)
SELECT
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%%'
)

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_stamped_ca2fe806` (
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
)
SELECT
  o.`a_order_id`,
  o.`a_status`,
  o.`a_updated_at`,
  o.`a_created at`,
  o.`a_written`,
  o.`a_gone`
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`stamped`
  WHERE
    (
status LIKE '10%'
)
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE `qbcd`.`replica_stamped_ca2fe806` AS r
JOIN (
  SELECT
    `order_id`,
    `written` AS qbcd_0,
    `gone` AS qbcd_1
  FROM `shop`.`stamped`
  WHERE
    (
status LIKE '10%'
)
) AS t
  ON TRUE SET r.`written` = t.qbcd_0, r.`gone` = t.qbcd_1
WHERE
  t.`order_id` = r.`order_id`

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_stamped_ca2fe806` SET `b_written` = NULL, `b_gone` = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
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
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`updated_at` <=> r.`updated_at`)
    OR NOT (t.`created at` <=> r.`created at`)
    OR NOT (t.`written` <=> r.`written`)
    OR NOT (t.`gone` <=> r.`gone`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    r.`status`,
    r.`updated_at`,
    r.`created at`,
    r.`written`,
    r.`gone`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
        OR (o.`a_updated_at` IS NULL OR coalesce(o.`a_updated_at` >= '0001-01-01' AND from_days(to_days(o.`a_updated_at`)) = date(o.`a_updated_at`), FALSE))
      )
      AND (o.`b_updated_at` IS NULL OR coalesce(o.`b_updated_at` >= '0001-01-01' AND from_days(to_days(o.`b_updated_at`)) = date(o.`b_updated_at`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c2,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_created at` IS NULL OR coalesce(o.`a_created at` >= '0001-01-01' AND from_days(to_days(o.`a_created at`)) = date(o.`a_created at`), FALSE))
      )
      AND (o.`b_created at` IS NULL OR coalesce(o.`b_created at` >= '0001-01-01' AND from_days(to_days(o.`b_created at`)) = date(o.`b_created at`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c3,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_written` IS NULL OR coalesce(o.`a_written` >= '0001-01-01' AND from_days(to_days(o.`a_written`)) = date(o.`a_written`), FALSE))
      )
      AND (o.`b_written` IS NULL OR coalesce(o.`b_written` >= '0001-01-01' AND from_days(to_days(o.`b_written`)) = date(o.`b_written`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c4,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c5
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
  cast(COALESCE(o.`a_order_id`, o.`b_order_id`) AS CHAR) AS k0
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
ORDER BY
  o.ordinal
LIMIT 1000

-- mds: apply 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM `r` USING   `qbcd`.`replica_stamped_ca2fe806` AS r,
  `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_stamped_ca2fe806` (
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
)
SELECT
  o.`a_order_id`,
  o.`a_status`,
  o.`a_updated_at`,
  o.`a_created at`,
  o.`a_written`,
  o.`a_gone`
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
  cast(o.`b_order_id` AS SIGNED) AS b_0,
  convert(o.`b_status` USING utf8mb4) AS b_1,
  CASE WHEN coalesce(o.`b_updated_at` >= '0001-01-01' AND from_days(to_days(o.`b_updated_at`)) = date(o.`b_updated_at`), FALSE) THEN date_format(o.`b_updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`b_updated_at` AS CHAR) END AS b_2,
  CASE WHEN coalesce(o.`b_created at` >= '0001-01-01' AND from_days(to_days(o.`b_created at`)) = date(o.`b_created at`), FALSE) THEN date_format(o.`b_created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`b_created at` AS CHAR) END AS b_3,
  CASE WHEN coalesce(o.`b_written` >= '0001-01-01' AND from_days(to_days(o.`b_written`)) = date(o.`b_written`), FALSE) THEN date_format(o.`b_written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(o.`b_written` AS CHAR) END AS b_4,
  cast(o.`b_gone` AS SIGNED) AS b_5,
  cast(o.`a_order_id` AS SIGNED) AS a_0,
  convert(o.`a_status` USING utf8mb4) AS a_1,
  CASE WHEN coalesce(o.`a_updated_at` >= '0001-01-01' AND from_days(to_days(o.`a_updated_at`)) = date(o.`a_updated_at`), FALSE) THEN date_format(o.`a_updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`a_updated_at` AS CHAR) END AS a_2,
  CASE WHEN coalesce(o.`a_created at` >= '0001-01-01' AND from_days(to_days(o.`a_created at`)) = date(o.`a_created at`), FALSE) THEN date_format(o.`a_created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`a_created at` AS CHAR) END AS a_3,
  CASE WHEN coalesce(o.`a_written` >= '0001-01-01' AND from_days(to_days(o.`a_written`)) = date(o.`a_written`), FALSE) THEN date_format(o.`a_written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(o.`a_written` AS CHAR) END AS a_4,
  cast(o.`a_gone` AS SIGNED) AS a_5
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  `b_order_id`,
  `a_order_id`,
  `b_status`,
  `a_status`,
  `b_updated_at`,
  `a_updated_at`,
  `b_created at`,
  `a_created at`,
  `b_written`,
  `a_written`,
  `b_gone`,
  `a_gone`
)
SELECT
  o.epoch,
  %(batch_seq)s,
  ROW_NUMBER() OVER (ORDER BY CASE o.op WHEN 'd' THEN 1 WHEN 'u' THEN 2 ELSE 3 END, o.ordinal) - 1,
  o.op,
  o.reason,
  o.pair_id,
  o.changed,
  o.digest,
  o.`b_order_id`,
  o.`a_order_id`,
  o.`b_status`,
  o.`a_status`,
  o.`b_updated_at`,
  o.`a_updated_at`,
  o.`b_created at`,
  o.`a_created at`,
  o.`b_written`,
  o.`a_written`,
  o.`b_gone`,
  o.`a_gone`
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM `qbcd`.`outbox_stamped_ca2fe806`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE `qbcd`.`outbox_stamped_ca2fe806` AS o
JOIN (
  SELECT
    MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS gone,
    MIN(CASE WHEN e.op = 'c' THEN e.ordinal END) AS come,
    CONCAT(%(pair)s, MIN(CASE WHEN e.op = 'd' THEN e.ordinal END)) AS pair_id
  FROM (
    SELECT
      d.op,
      d.ordinal,
      CASE
        WHEN d.op = 'd'
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_status`), ':', convert(d.`b_status` USING binary)), 'N'), ifnull(d.`b_updated_at`, 'N'), ',', ifnull(d.`b_created at`, 'N'), ',', ifnull(d.`b_written`, 'N'), ',', ifnull(d.`b_gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_status`), ':', convert(d.`a_status` USING binary)), 'N'), ifnull(d.`a_updated_at`, 'N'), ',', ifnull(d.`a_created at`, 'N'), ',', ifnull(d.`a_written`, 'N'), ',', ifnull(d.`a_gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_stamped_ca2fe806` AS d
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
  ON TRUE SET o.reason = 'key_change', o.pair_id = p.pair_id
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal = p.gone

-- mds: batch 4
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE `qbcd`.`outbox_stamped_ca2fe806` AS o
JOIN (
  SELECT
    MIN(CASE WHEN e.op = 'd' THEN e.ordinal END) AS gone,
    MIN(CASE WHEN e.op = 'c' THEN e.ordinal END) AS come,
    CONCAT(%(pair)s, MIN(CASE WHEN e.op = 'd' THEN e.ordinal END)) AS pair_id
  FROM (
    SELECT
      d.op,
      d.ordinal,
      CASE
        WHEN d.op = 'd'
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_status`), ':', convert(d.`b_status` USING binary)), 'N'), ifnull(d.`b_updated_at`, 'N'), ',', ifnull(d.`b_created at`, 'N'), ',', ifnull(d.`b_written`, 'N'), ',', ifnull(d.`b_gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_status`), ':', convert(d.`a_status` USING binary)), 'N'), ifnull(d.`a_updated_at`, 'N'), ',', ifnull(d.`a_created at`, 'N'), ',', ifnull(d.`a_written`, 'N'), ',', ifnull(d.`a_gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_stamped_ca2fe806` AS d
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
  ON TRUE SET o.reason = 'key_change', o.pair_id = p.pair_id
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal = p.come

-- id: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
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
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` < 10)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` < 10)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`updated_at` <=> r.`updated_at`)
    OR NOT (t.`created at` <=> r.`created at`)
    OR NOT (t.`written` <=> r.`written`)
    OR NOT (t.`gone` <=> r.`gone`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    r.`status`,
    r.`updated_at`,
    r.`created at`,
    r.`written`,
    r.`gone`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` < 10)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` < 10)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
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
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`updated_at` <=> r.`updated_at`)
    OR NOT (t.`created at` <=> r.`created at`)
    OR NOT (t.`written` <=> r.`written`)
    OR NOT (t.`gone` <=> r.`gone`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    r.`status`,
    r.`updated_at`,
    r.`created at`,
    r.`written`,
    r.`gone`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
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
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` >= 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 18446744073709551615)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`updated_at` <=> r.`updated_at`)
    OR NOT (t.`created at` <=> r.`created at`)
    OR NOT (t.`written` <=> r.`written`)
    OR NOT (t.`gone` <=> r.`gone`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    r.`status`,
    r.`updated_at`,
    r.`created at`,
    r.`written`,
    r.`gone`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 18446744073709551615)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` >= 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_stamped_ca2fe806` AS r,
  `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`
  AND (r.`order_id` >= 10 AND r.`order_id` < 18446744073709551615)

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_stamped_ca2fe806` (
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
)
SELECT
  o.`a_order_id`,
  o.`a_status`,
  o.`a_updated_at`,
  o.`a_created at`,
  o.`a_written`,
  o.`a_gone`
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`stamped`
  WHERE
    (
status LIKE '10%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id: rows
SELECT
  COUNT(*) AS n
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)

-- id: bounds
SELECT cast(o.`order_id` AS CHAR) AS k0
FROM (SELECT t.`order_id`, row_number() OVER (ORDER BY t.`order_id`) AS qbcd_row
FROM (SELECT
  `order_id`
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: bounds in a range
SELECT cast(o.`qbcd_0` AS CHAR) AS k0
FROM (SELECT t.`qbcd_0`, row_number() OVER (ORDER BY t.`qbcd_0`) AS qbcd_row
FROM (WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.`order_id` AS qbcd_0
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
WITH qbcd_relation AS (SELECT r.* FROM (SELECT `order_id` FROM `qbcd`.`replica_stamped_ca2fe806`) AS r)
SELECT 1 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- id: events of the ranges 1
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  o.op AS qbcd_op,
  o.`a_order_id` AS qbcd_0
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` >= 10 AND t.`qbcd_0` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- id: events of the ranges 2
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  o.op AS qbcd_op,
  o.`b_order_id` AS qbcd_0
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS r)
SELECT 1 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` >= 10 AND t.`qbcd_0` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`qbcd_0` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- tlcs: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` < 10)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` < 10)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` < 10)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` < 10)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`stamped`
    WHERE
      (
status LIKE '10%%'
) AND (`order_id` >= 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 18446744073709551615)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`order_id`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= 18446744073709551615)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          (
status LIKE '10%%'
) AND (`order_id` >= 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_stamped_ca2fe806` AS r,
  `qbcd`.`outbox_stamped_ca2fe806` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`
  AND (r.`order_id` >= 10 AND r.`order_id` < 18446744073709551615)

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_stamped_ca2fe806` (
  `order_id`,
  qbcd_digest
)
SELECT
  o.`a_order_id`,
  o.digest
FROM `qbcd`.`outbox_stamped_ca2fe806` AS o
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
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`stamped`
  WHERE
    (
status LIKE '10%'
) AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- tlcs: rows
SELECT
  COUNT(*) AS n
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)

-- id_rcs: bounds
SELECT cast(o.`order_id` AS CHAR) AS k0
FROM (SELECT t.`order_id`, row_number() OVER (ORDER BY t.`order_id`) AS qbcd_row
FROM (SELECT
  `order_id`
FROM `shop`.`stamped`
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
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`stamped`
  WHERE
    (
status LIKE '10%'
)
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
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
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- id_rcs: images of all ranges
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5
FROM qbcd_relation AS t WHERE TRUE

-- id_rcs: images for typed sinks, as the JDBC driver takes them
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE
      WHEN (`updated_at` IS NULL OR coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE))
      THEN ''
      ELSE '2,'
    END,
    CASE
      WHEN (`created at` IS NULL OR coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE))
      THEN ''
      ELSE '3,'
    END,
    CASE
      WHEN (`written` IS NULL OR coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE))
      THEN ''
      ELSE '4,'
    END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled
FROM qbcd_relation AS t WHERE TRUE

-- ts: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
          AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
    (
      `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )

-- ts: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- ts: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`)

-- ts, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM `shop`.`stamped`
WHERE
  (
    (
      `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )
LIMIT 1

-- ts, under Spark: window
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM `shop`.`stamped`
WHERE
  (
    (
      `updated_at` >= convert_tz(cast('2024-01-01 00:00:00.000001' AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )
) AS t

-- ts, under Spark: key sums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- ts, under Spark: keys
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest
FROM `shop`.`stamped`) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts, under Spark: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE
      WHEN (`updated_at` IS NULL OR coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE))
      THEN ''
      ELSE '2,'
    END,
    CASE
      WHEN (`created at` IS NULL OR coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE))
      THEN ''
      ELSE '3,'
    END,
    CASE
      WHEN (`written` IS NULL OR coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE))
      THEN ''
      ELSE '4,'
    END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts, under Spark: audit
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM `shop`.`stamped`
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts of two columns: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `created at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
          AND `created at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
        OR (
          `created at` IS NULL
          AND `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
          AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `created at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
        OR (
          `created at` IS NULL
          AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
    (
      `created at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `created at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
    OR (
      `created at` IS NULL
      AND `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )

-- ts of two columns: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- ts of two columns: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`created at`)

-- ts of two columns, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM `shop`.`stamped`
WHERE
  (
    (
      `created at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `created at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
    OR (
      `created at` IS NULL
      AND `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )
LIMIT 1

-- ts of two columns, under Spark: window
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM `shop`.`stamped`
WHERE
  (
    (
      `created at` >= convert_tz(cast('2024-01-01 00:00:00.000001' AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `created at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
    OR (
      `created at` IS NULL
      AND `updated_at` >= convert_tz(cast('2024-01-01 00:00:00.000001' AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )
) AS t

-- ts of two columns, under Spark: key sums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- ts of two columns, under Spark: keys
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest
FROM `shop`.`stamped`) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts of two columns, under Spark: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE
      WHEN (`updated_at` IS NULL OR coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE))
      THEN ''
      ELSE '2,'
    END,
    CASE
      WHEN (`created at` IS NULL OR coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE))
      THEN ''
      ELSE '3,'
    END,
    CASE
      WHEN (`written` IS NULL OR coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE))
      THEN ''
      ELSE '4,'
    END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts of two columns, under Spark: audit
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        `created at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
      OR (
        `created at` IS NULL
        AND `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM `shop`.`stamped`
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          `created at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
        OR (
          `created at` IS NULL
          AND `updated_at` < convert_tz(cast('2024-01-01 00:00:01.000000' AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts in a zone, of seconds: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 02:00:01.000000'
--   lo = '2024-01-01 02:00:00.000000'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `written` >= cast(%(lo)s AS DATETIME(6))
          AND `written` < cast(%(hi)s AS DATETIME(6))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `written` < cast(%(hi)s AS DATETIME(6))
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
    (
      `written` >= cast(%(lo)s AS DATETIME(6))
      AND `written` < cast(%(hi)s AS DATETIME(6))
    )
  )

-- ts in a zone, of seconds: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`
  FROM (
    SELECT
      `order_id`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- ts in a zone, of seconds: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`written`)

-- ts in a zone, of seconds, under Spark: anything there
--   hi = '2024-01-01 02:00:01.000000'
--   lo = '2024-01-01 02:00:00.000000'
SELECT
  1 AS n
FROM `shop`.`stamped`
WHERE
  (
    (
      `written` >= cast(%(lo)s AS DATETIME(6))
      AND `written` < cast(%(hi)s AS DATETIME(6))
    )
  )
LIMIT 1

-- ts in a zone, of seconds, under Spark: window
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM `shop`.`stamped`
WHERE
  (
    (
      `written` >= cast('2024-01-01 02:00:00.000000' AS DATETIME(6))
      AND `written` < cast('2024-01-01 02:00:01.000000' AS DATETIME(6))
    )
  )
) AS t

-- ts in a zone, of seconds, under Spark: key sums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- ts in a zone, of seconds, under Spark: keys
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest
FROM `shop`.`stamped`) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts in a zone, of seconds, under Spark: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE
      WHEN (`updated_at` IS NULL OR coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE))
      THEN ''
      ELSE '2,'
    END,
    CASE
      WHEN (`created at` IS NULL OR coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE))
      THEN ''
      ELSE '3,'
    END,
    CASE
      WHEN (`written` IS NULL OR coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE))
      THEN ''
      ELSE '4,'
    END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts in a zone, of seconds, under Spark: audit
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        `written` < cast('2024-01-01 02:00:01.000000' AS DATETIME(6))
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM `shop`.`stamped`
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          `written` < cast('2024-01-01 02:00:01.000000' AS DATETIME(6))
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts by a counter: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `order_id` > cast(%(lo)s AS SIGNED)
          AND `order_id` <= cast(%(hi)s AS SIGNED)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in,
      0 AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `order_id` <= cast(%(hi)s AS SIGNED)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`
FROM `shop`.`stamped`
WHERE
  (
    (
      `order_id` > cast(%(lo)s AS SIGNED)
      AND `order_id` <= cast(%(hi)s AS SIGNED)
    )
  )

-- ts by a counter: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- ts by a counter: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`order_id`)

-- ts by a counter, under Spark: anything there
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
SELECT
  1 AS n
FROM `shop`.`stamped`
WHERE
  (
    (
      `order_id` > cast(%(lo)s AS SIGNED)
      AND `order_id` <= cast(%(hi)s AS SIGNED)
    )
  )
LIMIT 1

-- ts by a counter, under Spark: window
SELECT CASE WHEN t.`order_id` < 10 THEN 1 ELSE CASE WHEN t.`order_id` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown
FROM (
SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in
FROM `shop`.`stamped`
WHERE
  (
    (
      `order_id` > cast('2024-01-01 00:00:00.000001' AS SIGNED)
      AND `order_id` <= cast('2024-01-01 00:00:01.000000' AS SIGNED)
    )
  )
) AS t

-- ts by a counter, under Spark: key sums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` < 10 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615 LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE t.`order_id` >= 18446744073709551615 LIMIT 18446744073709551615) AS t

-- ts by a counter, under Spark: keys
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest
FROM `shop`.`stamped`) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts by a counter, under Spark: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE
      WHEN (`updated_at` IS NULL OR coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE))
      THEN ''
      ELSE '2,'
    END,
    CASE
      WHEN (`created at` IS NULL OR coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE))
      THEN ''
      ELSE '3,'
    END,
    CASE
      WHEN (`written` IS NULL OR coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE))
      THEN ''
      ELSE '4,'
    END,
    CASE WHEN TRUE THEN '' ELSE '5,' END
  ) AS qbcd_untravelled
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_untravelled AS untravelled, t.qbcd_key_digest AS key_digest
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- ts by a counter, under Spark: audit
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`updated_at`, 'N'), ',', ifnull(`created at`, 'N'), ',', ifnull(`written`, 'N'), ',', ifnull(`gone`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_key_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  CASE WHEN coalesce(`updated_at` >= '0001-01-01' AND from_days(to_days(`updated_at`)) = date(`updated_at`), FALSE) THEN date_format(`updated_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`updated_at` AS CHAR) END AS qbcd_2,
  CASE WHEN coalesce(`created at` >= '0001-01-01' AND from_days(to_days(`created at`)) = date(`created at`), FALSE) THEN date_format(`created at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`created at` AS CHAR) END AS qbcd_3,
  CASE WHEN coalesce(`written` >= '0001-01-01' AND from_days(to_days(`written`)) = date(`written`), FALSE) THEN date_format(`written`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`written` AS CHAR) END AS qbcd_4,
  cast(`gone` AS SIGNED) AS qbcd_5,
  CASE WHEN (
status LIKE '10%'
) THEN 1 ELSE 0 END AS qbcd_in,
  CASE
    WHEN (
      (
        `order_id` <= cast('2024-01-01 00:00:01.000000' AS SIGNED)
      )
    )
    THEN 1
    ELSE 0
  END AS qbcd_settled
FROM `shop`.`stamped`
WHERE
  (
    (
status LIKE '10%'
)
    OR CASE
      WHEN (
        (
          `order_id` <= cast('2024-01-01 00:00:01.000000' AS SIGNED)
        )
      )
      THEN 1
      ELSE 0
    END = 0
  )) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_key_digest AS key_digest, t.qbcd_in AS shown, t.qbcd_settled AS settled
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615

-- tdi: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) AND NOT (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_in,
      CASE WHEN (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
          AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) AND NOT (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_in,
      CASE WHEN (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`,
  `gone` AS qbcd_flag
FROM `shop`.`stamped`
WHERE
  (
    (
      `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )

-- tdi: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tdi: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`)

-- tdi: view
CREATE OR REPLACE VIEW `shop`.`stamped_live` AS
SELECT
  *
FROM `shop`.`stamped`
WHERE
  NOT (`gone` IS TRUE)

-- tdi: note
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`purge_stamped_ca2fe806` (
  `order_id`,
  `qbcd_mark`
)
SELECT
  t.`order_id`,
  t.`qbcd_mark`
FROM (
  SELECT
    `order_id`,
    `updated_at` AS `qbcd_mark`,
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM `shop`.`stamped`
  WHERE
    (`gone` IS TRUE)
    AND (
      (
        `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
) AS t
WHERE
  NOT t.`qbcd_mark` IS NULL
  AND (
    t.qbcd_in = 1
    OR EXISTS(
      SELECT
        1
      FROM `qbcd`.`replica_stamped_ca2fe806` AS r
      WHERE
        t.`order_id` = r.`order_id`
    )
    OR EXISTS(
      SELECT
        1
      FROM `qbcd`.`purge_stamped_ca2fe806` AS r
      WHERE
        t.`order_id` = r.`order_id`
    )
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM `qbcd`.`purge_stamped_ca2fe806` AS r
    WHERE
      r.`qbcd_mark` = t.`qbcd_mark` AND t.`order_id` = r.`order_id`
  )

-- tdi: purge
--   lo0 = '2024-01-01 00:00:01.000000'
--   lo1 = '2024-01-01 02:00:01.000000'
--   lo2 = '2024-01-01 00:00:01.000000'
--   lo3 = '17'
DELETE FROM `t` USING   `shop`.`stamped` AS t,
  `qbcd`.`purge_stamped_ca2fe806` AS r
WHERE
  t.`updated_at` = r.`qbcd_mark`
  AND (t.`gone` IS TRUE)
  AND t.`order_id` = r.`order_id`
  AND NOT (
    (
      (
        t.`updated_at` >= convert_tz(cast(%(lo0)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
  )
  AND NOT (
    (
      (
        t.`written` >= cast(%(lo1)s AS DATETIME(6))
      )
    )
  )
  AND NOT (
    (
      (
        t.`created at` >= convert_tz(cast(%(lo2)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
      OR (
        t.`created at` IS NULL
        AND t.`updated_at` >= convert_tz(cast(%(lo2)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
  )
  AND NOT (
    (
      (
        t.`order_id` > cast(%(lo3)s AS SIGNED)
      )
    )
  )

-- tdi: told
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`purge_stamped_ca2fe806` (
  `order_id`,
  `qbcd_mark`
)
SELECT
  t.`order_id`,
  t.`qbcd_mark`
FROM (
  SELECT
    `order_id`,
    `updated_at` AS `qbcd_mark`,
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM `shop`.`stamped`
  WHERE
    (`gone` IS TRUE)
    AND (
      (
        `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
) AS t
WHERE
  NOT t.`qbcd_mark` IS NULL
  AND EXISTS(
    SELECT
      1
    FROM `qbcd`.`replica_stamped_ca2fe806` AS r
    WHERE
      t.`order_id` = r.`order_id`
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM `qbcd`.`purge_stamped_ca2fe806` AS r
    WHERE
      r.`qbcd_mark` = t.`qbcd_mark` AND t.`order_id` = r.`order_id`
  )

-- tdi: anything to purge
SELECT
  1 AS listed
FROM `qbcd`.`purge_stamped_ca2fe806`
LIMIT 1

-- tdi: purged
DELETE FROM `qbcd`.`purge_stamped_ca2fe806`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM `shop`.`stamped` AS t
    WHERE
      (t.`gone` IS TRUE) AND t.`order_id` = `purge_stamped_ca2fe806`.`order_id`
  )

-- atdi: window
--   batch_seq = 2
--   epoch = 5
--   first = 0
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.reason,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) AND NOT (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_in,
      CASE WHEN (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
          AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  changed,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`,
  `a_order_id`,
  `a_status`,
  `a_updated_at`,
  `a_created at`,
  `a_written`,
  `a_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  'audit',
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_updated_at`,
  d.`a_created at`,
  d.`a_written`,
  d.`a_gone`
FROM (
  SELECT
    CASE WHEN t.qbcd_in = 0 THEN 1 WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN t.qbcd_in = 0 AND t.qbcd_gone = 0 THEN 'restriction_exit' END AS reason,
    CASE
      WHEN t.qbcd_in = 0 OR r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`updated_at` <=> r.`updated_at`) THEN '2,' ELSE '' END,
        CASE WHEN NOT (t.`created at` <=> r.`created at`) THEN '3,' ELSE '' END,
        CASE WHEN NOT (t.`written` <=> r.`written`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`gone` <=> r.`gone`) THEN '5,' ELSE '' END
      ))
    END AS changed,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`updated_at` AS `a_updated_at`,
    t.`created at` AS `a_created at`,
    t.`written` AS `a_written`,
    t.`gone` AS `a_gone`
  FROM (
    SELECT
      CASE WHEN (
status LIKE '10%%'
) AND NOT (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_in,
      CASE WHEN (`gone` IS TRUE) THEN 1 ELSE 0 END AS qbcd_gone,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `shop`.`stamped`
    WHERE
      (
        (
          `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        )
      )
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    (
      t.qbcd_in = 1
      AND (
        r.qbcd_present IS NULL
        OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
        OR NOT (t.`updated_at` <=> r.`updated_at`)
        OR NOT (t.`created at` <=> r.`created at`)
        OR NOT (t.`written` <=> r.`written`)
        OR NOT (t.`gone` <=> r.`gone`)
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
  `order_id`,
  `status`,
  `updated_at`,
  `created at`,
  `written`,
  `gone`,
  `gone` AS qbcd_flag
FROM `shop`.`stamped`
WHERE
  (
    (
      `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
    )
  )

-- atdi: sweep of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_stamped_ca2fe806` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `b_order_id`,
  `b_status`,
  `b_updated_at`,
  `b_created at`,
  `b_written`,
  `b_gone`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_updated_at`,
  d.`b_created at`,
  d.`b_written`,
  d.`b_gone`
FROM (
  SELECT
    1 AS op_rank,
    r.`order_id` AS `b_order_id`,
    r.`status` AS `b_status`,
    r.`updated_at` AS `b_updated_at`,
    r.`created at` AS `b_created at`,
    r.`written` AS `b_written`,
    r.`gone` AS `b_gone`
  FROM (
    SELECT
      `order_id`,
      `status`,
      `updated_at`,
      `created at`,
      `written`,
      `gone`
    FROM `qbcd`.`replica_stamped_ca2fe806`
    WHERE
      (`order_id` >= -5 AND `order_id` < 7)
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM `shop`.`stamped`
        WHERE
          TRUE AND (`order_id` >= -5 AND `order_id` < 7)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- atdi: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`, `gone`, `order_id`, `status`, `created at`, `written`)

-- atdi: view
CREATE OR REPLACE VIEW `shop`.`stamped_live` AS
SELECT
  *
FROM `shop`.`stamped`
WHERE
  NOT (`gone` IS TRUE)

-- atdi: note
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`purge_stamped_ca2fe806` (
  `order_id`,
  `qbcd_mark`
)
SELECT
  t.`order_id`,
  t.`qbcd_mark`
FROM (
  SELECT
    `order_id`,
    `updated_at` AS `qbcd_mark`,
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM `shop`.`stamped`
  WHERE
    (`gone` IS TRUE)
    AND (
      (
        `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
) AS t
WHERE
  NOT t.`qbcd_mark` IS NULL
  AND (
    t.qbcd_in = 1
    OR EXISTS(
      SELECT
        1
      FROM `qbcd`.`replica_stamped_ca2fe806` AS r
      WHERE
        t.`order_id` = r.`order_id`
    )
    OR EXISTS(
      SELECT
        1
      FROM `qbcd`.`purge_stamped_ca2fe806` AS r
      WHERE
        t.`order_id` = r.`order_id`
    )
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM `qbcd`.`purge_stamped_ca2fe806` AS r
    WHERE
      r.`qbcd_mark` = t.`qbcd_mark` AND t.`order_id` = r.`order_id`
  )

-- atdi: purge
--   lo0 = '2024-01-01 00:00:01.000000'
--   lo1 = '2024-01-01 02:00:01.000000'
--   lo2 = '2024-01-01 00:00:01.000000'
--   lo3 = '17'
DELETE FROM `t` USING   `shop`.`stamped` AS t,
  `qbcd`.`purge_stamped_ca2fe806` AS r
WHERE
  t.`updated_at` = r.`qbcd_mark`
  AND (t.`gone` IS TRUE)
  AND t.`order_id` = r.`order_id`
  AND NOT (
    (
      (
        t.`updated_at` >= convert_tz(cast(%(lo0)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
  )
  AND NOT (
    (
      (
        t.`written` >= cast(%(lo1)s AS DATETIME(6))
      )
    )
  )
  AND NOT (
    (
      (
        t.`created at` >= convert_tz(cast(%(lo2)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
      OR (
        t.`created at` IS NULL
        AND t.`updated_at` >= convert_tz(cast(%(lo2)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
  )
  AND NOT (
    (
      (
        t.`order_id` > cast(%(lo3)s AS SIGNED)
      )
    )
  )

-- atdi: told
--   hi = '2024-01-01 00:00:01.000000'
--   lo = '2024-01-01 00:00:00.000001'
INSERT INTO `qbcd`.`purge_stamped_ca2fe806` (
  `order_id`,
  `qbcd_mark`
)
SELECT
  t.`order_id`,
  t.`qbcd_mark`
FROM (
  SELECT
    `order_id`,
    `updated_at` AS `qbcd_mark`,
    CASE WHEN (
status LIKE '10%%'
) THEN 1 ELSE 0 END AS qbcd_in
  FROM `shop`.`stamped`
  WHERE
    (`gone` IS TRUE)
    AND (
      (
        `updated_at` >= convert_tz(cast(%(lo)s AS DATETIME(6)), '+00:00', @@session.time_zone)
        AND `updated_at` < convert_tz(cast(%(hi)s AS DATETIME(6)), '+00:00', @@session.time_zone)
      )
    )
) AS t
WHERE
  NOT t.`qbcd_mark` IS NULL
  AND EXISTS(
    SELECT
      1
    FROM `qbcd`.`replica_stamped_ca2fe806` AS r
    WHERE
      t.`order_id` = r.`order_id`
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM `qbcd`.`purge_stamped_ca2fe806` AS r
    WHERE
      r.`qbcd_mark` = t.`qbcd_mark` AND t.`order_id` = r.`order_id`
  )

-- atdi: anything to purge
SELECT
  1 AS listed
FROM `qbcd`.`purge_stamped_ca2fe806`
LIMIT 1

-- atdi: purged
DELETE FROM `qbcd`.`purge_stamped_ca2fe806`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM `shop`.`stamped` AS t
    WHERE
      (t.`gone` IS TRUE) AND t.`order_id` = `purge_stamped_ca2fe806`.`order_id`
  )

-- restriction, for EXPLAIN
SELECT
  1
FROM `shop`.`stamped`
WHERE
  (
status LIKE '10%'
)
