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
  `digest` bigint NULL,
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
--   first = 0
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
  FROM `shop`.`orders`
  WHERE
    TRUE
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE `qbcd`.`replica_simple_a7a39b72` AS r
JOIN (
  SELECT
    `order_id`,
    `amount` AS qbcd_0,
    `placed` AS qbcd_1
  FROM `shop`.`orders`
  WHERE
    TRUE
) AS t
  ON TRUE SET r.`amount` = t.qbcd_0, r.`placed` = t.qbcd_1
WHERE
  t.`order_id` = r.`order_id`

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_simple_a7a39b72` SET `b_amount` = NULL, `b_placed` = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_amount`,
  `b_placed`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_amount`,
  d.`b_placed`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
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
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    r.`placed` AS `b_placed`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
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
    r.`status`,
    r.`amount`,
    r.`placed`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
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
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_placed` IS NULL OR coalesce(o.`a_placed` >= '0001-01-01' AND from_days(to_days(o.`a_placed`)) = date(o.`a_placed`), FALSE))
      )
      AND (o.`b_placed` IS NULL OR coalesce(o.`b_placed` >= '0001-01-01' AND from_days(to_days(o.`b_placed`)) = date(o.`b_placed`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c3
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
DELETE FROM `r` USING   `qbcd`.`replica_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
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
  cast(o.`b_amount` AS CHAR) AS b_2,
  CASE WHEN coalesce(o.`b_placed` >= '0001-01-01' AND from_days(to_days(o.`b_placed`)) = date(o.`b_placed`), FALSE) THEN date_format(o.`b_placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`b_placed` AS CHAR) END AS b_3,
  cast(o.`a_order_id` AS SIGNED) AS a_0,
  convert(o.`a_status` USING utf8mb4) AS a_1,
  cast(o.`a_amount` AS CHAR) AS a_2,
  CASE WHEN coalesce(o.`a_placed` >= '0001-01-01' AND from_days(to_days(o.`a_placed`)) = date(o.`a_placed`), FALSE) THEN date_format(o.`a_placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`a_placed` AS CHAR) END AS a_3
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
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
  `b_amount`,
  `a_amount`,
  `b_placed`,
  `a_placed`
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
  o.`b_amount`,
  o.`a_amount`,
  o.`b_placed`,
  o.`a_placed`
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM `qbcd`.`outbox_simple_a7a39b72`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE `qbcd`.`outbox_simple_a7a39b72` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_status`), ':', convert(d.`b_status` USING binary)), 'N'), ifnull(d.`b_amount`, 'N'), ',', ifnull(d.`b_placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_status`), ':', convert(d.`a_status` USING binary)), 'N'), ifnull(d.`a_amount`, 'N'), ',', ifnull(d.`a_placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_simple_a7a39b72` AS d
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
UPDATE `qbcd`.`outbox_simple_a7a39b72` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_status`), ':', convert(d.`b_status` USING binary)), 'N'), ifnull(d.`b_amount`, 'N'), ',', ifnull(d.`b_placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_status`), ':', convert(d.`a_status` USING binary)), 'N'), ifnull(d.`a_amount`, 'N'), ',', ifnull(d.`a_placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_simple_a7a39b72` AS d
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
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_amount`,
  `b_placed`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_amount`,
  d.`b_placed`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
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
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    r.`placed` AS `b_placed`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` < 10)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
    WHERE
      (`order_id` < 10)
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
    r.`status`,
    r.`amount`,
    r.`placed`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` < 10)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_amount`,
  `b_placed`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_amount`,
  d.`b_placed`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
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
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    r.`placed` AS `b_placed`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
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
    r.`status`,
    r.`amount`,
    r.`placed`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_order_id`,
  `b_status`,
  `b_amount`,
  `b_placed`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_amount`,
  d.`b_placed`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
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
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    r.`placed` AS `b_placed`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
    WHERE
      (`order_id` >= 18446744073709551615)
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
    r.`status`,
    r.`amount`,
    r.`placed`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` >= 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
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
  FROM `shop`.`orders`
  WHERE
    TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- id: rows
SELECT
  COUNT(*) AS n
FROM `shop`.`orders`
WHERE
  TRUE

-- id: bounds
SELECT cast(o.`order_id` AS CHAR) AS k0
FROM (SELECT t.`order_id`, row_number() OVER (ORDER BY t.`order_id`) AS qbcd_row
FROM (SELECT
  `order_id`
FROM `shop`.`orders`
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: bounds in a range
SELECT cast(o.`qbcd_0` AS CHAR) AS k0
FROM (SELECT t.`qbcd_0`, row_number() OVER (ORDER BY t.`qbcd_0`) AS qbcd_row
FROM (WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.`order_id` AS qbcd_0
FROM qbcd_relation AS t WHERE t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id: rows of the ranges
WITH qbcd_relation AS (SELECT r.* FROM (SELECT `order_id` FROM `qbcd`.`replica_simple_a7a39b72`) AS r)
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
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
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
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
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
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` < 10)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` < 10)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
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
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_order_id`,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
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
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`order_id` AS `b_order_id`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      qbcd_digest
    FROM `qbcd`.`replica_simple_a7a39b72`
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
        FROM `shop`.`orders`
        WHERE
          TRUE AND (`order_id` >= 18446744073709551615)
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- tlcs: apply 1
-- the text of: id: apply 1

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`,
  qbcd_digest
)
SELECT
  o.`a_order_id`,
  o.digest
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs: key problems of a range
-- the text of: id: key problems of a range

-- tlcs: rows
-- the text of: id: rows

-- tlcs in a column: changes of range 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
      `qbcd chk` AS qbcd_stored
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` < 10)
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
      `qbcd chk` AS qbcd_stored
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: changes of range 3
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `a_order_id`,
  `a_status`,
  `a_amount`,
  `a_placed`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    2 AS op_rank,
    t.qbcd_digest,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
      `qbcd chk` AS qbcd_stored
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 18446744073709551615)
  ) AS t
  WHERE
    t.qbcd_stored IS NULL OR t.qbcd_stored <> t.qbcd_digest
) AS d

-- tlcs in a column: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
UPDATE `shop`.`orders` AS t
JOIN `qbcd`.`outbox_simple_a7a39b72` AS o
  ON TRUE SET t.`qbcd chk` = o.digest
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'
  AND o.`a_order_id` = t.`order_id`
  AND (t.`order_id` >= 10 AND t.`order_id` < 18446744073709551615)

-- tlcs in a column: key problems of a range
-- the text of: id: key problems of a range

-- tlcs in a column: rows
-- the text of: id: rows

-- id_rcs: bounds
-- the text of: id: bounds

-- id_rcs: key problems
-- the text of: mds: key problems

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

-- id_rcs: images, and the digest of before
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_old_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_old_digest AS old_digest
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

-- id_rcs: checksums of 128 bits
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `order_id`,
  cast(cast((cast(conv(substr(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 1, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) * 9223372036854775808 + (cast(conv(substr(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 17, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- id_rcs by hash: rows
-- the text of: id: rows

-- id_rcs by hash: checksums, connection 1
SELECT cast(elt(1 + interval(g.qbcd_bucket, 1, 2, 4, 6), 7, 8, 4, 5, 6) AS SIGNED) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash ^ 9223372036854775808) >> 61) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(convert(`order_id` USING binary), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs by hash: checksums of the one range
SELECT 1 AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT 0 AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(convert(`order_id` USING binary), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs by hash: images of one
SELECT 8 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT
  cast(conv(left(sha2(convert(`order_id` USING binary), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS t WHERE t.qbcd_hash BETWEEN -6917529027641081856 AND -4611686018427387905

-- id_rcs by hash: images of some
SELECT cast(elt(1 + interval(t.qbcd_hash, 0), 8, 5) AS SIGNED) AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT
  cast(conv(left(sha2(convert(`order_id` USING binary), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  convert(`order_id` USING binary) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS t WHERE ((t.qbcd_hash ^ 9223372036854775808) >> 61) IN (1, 4, 5)

-- id_rcs without a key: checksums
SELECT cast(elt(1 + interval(g.qbcd_bucket, 1), 1, 2) AS SIGNED) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_digest ^ 9223372036854775808) >> 63) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`orders`
WHERE
  TRUE) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1

-- id_rcs without a key: images
SELECT 1 AS range_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3
FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`order_id` AS SIGNED) AS qbcd_0,
  convert(`status` USING utf8mb4) AS qbcd_1,
  cast(`amount` AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(`placed` >= '0001-01-01' AND from_days(to_days(`placed`)) = date(`placed`), FALSE) THEN date_format(`placed`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`placed` AS CHAR) END AS qbcd_3
FROM `shop`.`orders`
WHERE
  TRUE) AS t WHERE t.qbcd_digest < 0

-- vbd, one row: replica
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_simple_a7a39b72` (
  `status` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `amount` decimal(10,2) NULL,
  `qbcd_one` integer DEFAULT 1 NOT NULL,
  PRIMARY KEY (`qbcd_one`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- vbd, one row: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_status`,
  `b_amount`,
  `a_status`,
  `a_amount`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_status`,
  d.`b_amount`,
  d.`a_status`,
  d.`a_amount`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '0,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`amount` <=> r.`amount`) THEN '1,' ELSE '' END
      ))
    END AS changed,
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`
  FROM (
    SELECT
      1 AS qbcd_present,
      `status`,
      `amount`
    FROM (
SELECT MAX(`status`) AS `status`, MAX(`amount`) AS `amount` FROM `shop`.`orders`
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `status`,
      `amount`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
    ON TRUE
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`amount` <=> r.`amount`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`status`,
    r.`amount`,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `status`,
      `amount`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          1 AS qbcd_present
        FROM (
SELECT MAX(`status`) AS `status`, MAX(`amount`) AS `amount` FROM `shop`.`orders`
) AS qbcd_query
        WHERE
          TRUE
      ) AS t
      WHERE
        TRUE
    )
) AS d

-- vbd, one row: keys of the batch
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
ORDER BY
  o.ordinal
LIMIT 1000

-- vbd, one row: apply 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM `r` USING   `qbcd`.`replica_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')

-- vbd, one row: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `status`,
  `amount`
)
SELECT
  o.`a_status`,
  o.`a_amount`
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- vbd, one row: images
SELECT 1 AS range_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1
FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`status` USING utf8mb4) AS qbcd_0,
  cast(`amount` AS CHAR) AS qbcd_1
FROM (
SELECT MAX(`status`) AS `status`, MAX(`amount`) AS `amount` FROM `shop`.`orders`
) AS qbcd_query
WHERE
  TRUE) AS t

-- vbd, one row: affected
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`affected_simple_a7a39b72`.`qbcd_one`;
  DECLARE qbcd$rows CURSOR FOR
SELECT DISTINCT
  1 AS `qbcd_one`
FROM (
  SELECT
    *
  FROM `qbcd`.`changed0_simple_a7a39b72`
  WHERE
    `qbcd_there` > 0
) AS `q0`
UNION
SELECT DISTINCT
  1 AS `qbcd_one`
FROM (
  SELECT
    *
  FROM `qbcd`.`lineage0_simple_a7a39b72` AS `l`
  WHERE
    `l`.`order_id` IN (
      SELECT
        `c`.`order_id`
      FROM `qbcd`.`changed0_simple_a7a39b72` AS `c`
    )
) AS `q0`;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`affected_simple_a7a39b72` (`qbcd_one`) VALUES (qbcd$0);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, one row: changes, by delta
--   batch_seq = 2
--   epoch = 5
--   first = 0
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.epoch;
  DECLARE qbcd$1 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.batch_seq;
  DECLARE qbcd$2 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.ordinal;
  DECLARE qbcd$3 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.op;
  DECLARE qbcd$4 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.changed;
  DECLARE qbcd$5 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_status`;
  DECLARE qbcd$6 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_amount`;
  DECLARE qbcd$7 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_status`;
  DECLARE qbcd$8 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_amount`;
  DECLARE qbcd$rows CURSOR FOR
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_status`,
  d.`b_amount`,
  d.`a_status`,
  d.`a_amount`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
          THEN '0,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`amount` <=> r.`amount`) THEN '1,' ELSE '' END
      ))
    END AS changed,
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`
  FROM (
    SELECT
      1 AS qbcd_present,
      `status`,
      `amount`
    FROM (
SELECT
  MAX(`q0`.`status`) AS `status`,
  MAX(`q0`.`amount`) AS `amount`
FROM `shop`.`orders` AS `q0`
LIMIT 18446744073709551615
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      x.`status`,
      x.`amount`
    FROM `qbcd`.`replica_simple_a7a39b72` AS x
    WHERE
      EXISTS(
        SELECT
          1
        FROM `qbcd`.`affected_simple_a7a39b72` AS h
        WHERE
          TRUE
      )
  ) AS r
    ON TRUE
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`status` USING binary) <=> convert(r.`status` USING binary))
    OR NOT (t.`amount` <=> r.`amount`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`status`,
    r.`amount`,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      x.`status`,
      x.`amount`
    FROM `qbcd`.`replica_simple_a7a39b72` AS x
    WHERE
      EXISTS(
        SELECT
          1
        FROM `qbcd`.`affected_simple_a7a39b72` AS h
        WHERE
          TRUE
      )
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          1 AS qbcd_present
        FROM (
SELECT
  MAX(`q0`.`status`) AS `status`,
  MAX(`q0`.`amount`) AS `amount`
FROM `shop`.`orders` AS `q0`
LIMIT 18446744073709551615
) AS qbcd_query
        WHERE
          TRUE
      ) AS t
      WHERE
        TRUE
    )
) AS d;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (epoch, batch_seq, ordinal, op, changed, `b_status`, `b_amount`, `a_status`, `a_amount`) VALUES (qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`affected_simple_a7a39b72` (
  `order_id` bigint(20) NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- vbd, delta: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`lineage0_simple_a7a39b72` (
  `order_id` bigint(20) NOT NULL,
  `qbcd_digest` bigint NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- vbd, delta: ddl 3
CREATE TABLE IF NOT EXISTS `qbcd`.`changed0_simple_a7a39b72` (
  `order_id` bigint(20) NOT NULL,
  `qbcd_digest` bigint NULL,
  `qbcd_there` smallint NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- vbd, delta: fill
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`lineage0_simple_a7a39b72`.`order_id`;
  DECLARE qbcd$1 TYPE OF `qbcd`.`lineage0_simple_a7a39b72`.qbcd_digest;
  DECLARE qbcd$rows CURSOR FOR
SELECT
  `order_id`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
FROM `shop`.`orders`;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0, qbcd$1;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`lineage0_simple_a7a39b72` (`order_id`, qbcd_digest) VALUES (qbcd$0, qbcd$1);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0, qbcd$1;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: changed
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.`order_id`;
  DECLARE qbcd$1 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.qbcd_digest;
  DECLARE qbcd$2 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.qbcd_there;
  DECLARE qbcd$rows CURSOR FOR
SELECT
  t.`order_id`,
  t.qbcd_digest,
  CASE WHEN r.qbcd_digest IS NULL THEN 2 ELSE 1 END
FROM (
  SELECT
    `order_id`,
    cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
  FROM `shop`.`orders`
) AS t
LEFT JOIN `qbcd`.`lineage0_simple_a7a39b72` AS r
  ON t.`order_id` = r.`order_id`
WHERE
  r.qbcd_digest IS NULL OR r.qbcd_digest <> t.qbcd_digest;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`changed0_simple_a7a39b72` (`order_id`, qbcd_digest, qbcd_there) VALUES (qbcd$0, qbcd$1, qbcd$2);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: gone
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.`order_id`;
  DECLARE qbcd$1 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.qbcd_digest;
  DECLARE qbcd$2 TYPE OF `qbcd`.`changed0_simple_a7a39b72`.qbcd_there;
  DECLARE qbcd$rows CURSOR FOR
SELECT
  r.`order_id`,
  r.qbcd_digest,
  0
FROM `qbcd`.`lineage0_simple_a7a39b72` AS r
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM `shop`.`orders` AS t
    WHERE
      t.`order_id` = r.`order_id`
  );
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`changed0_simple_a7a39b72` (`order_id`, qbcd_digest, qbcd_there) VALUES (qbcd$0, qbcd$1, qbcd$2);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: lineage 1
DELETE FROM `r` USING   `qbcd`.`lineage0_simple_a7a39b72` AS r,
  `qbcd`.`changed0_simple_a7a39b72` AS t
WHERE
  t.qbcd_there = 0 AND t.`order_id` = r.`order_id`

-- vbd, delta: lineage 2
UPDATE `qbcd`.`lineage0_simple_a7a39b72` AS r
JOIN `qbcd`.`changed0_simple_a7a39b72` AS t
  ON TRUE SET r.`order_id` = t.`order_id`, r.qbcd_digest = t.qbcd_digest
WHERE
  t.qbcd_there = 1 AND t.`order_id` = r.`order_id`

-- vbd, delta: lineage 3
INSERT INTO `qbcd`.`lineage0_simple_a7a39b72` (
  `order_id`,
  qbcd_digest
)
SELECT
  t.`order_id`,
  t.qbcd_digest
FROM `qbcd`.`changed0_simple_a7a39b72` AS t
WHERE
  t.qbcd_there = 2

-- vbd, delta: lineage 4
DELETE FROM `qbcd`.`changed0_simple_a7a39b72`

-- vbd, delta: affected keys
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`affected_simple_a7a39b72`.`order_id`;
  DECLARE qbcd$rows CURSOR FOR
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM (
  SELECT
    *
  FROM `qbcd`.`changed0_simple_a7a39b72`
  WHERE
    `qbcd_there` > 0
) AS `q0`
UNION
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM (
  SELECT
    *
  FROM `qbcd`.`lineage0_simple_a7a39b72` AS `l`
  WHERE
    `l`.`order_id` IN (
      SELECT
        `c`.`order_id`
      FROM `qbcd`.`changed0_simple_a7a39b72` AS `c`
    )
) AS `q0`
UNION
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM `shop`.`orders` AS `q0`
INNER JOIN (
  SELECT
    `q2`.`order_id` AS `order_id`
  FROM (
    SELECT
      *
    FROM `qbcd`.`changed0_simple_a7a39b72`
    WHERE
      `qbcd_there` > 0
  ) AS `q2`
) AS `q1`
  ON `q1`.`order_id` = `q0`.`order_id`
UNION
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM `qbcd`.`lineage0_simple_a7a39b72` AS `q0`
INNER JOIN (
  SELECT
    `q2`.`order_id` AS `order_id`
  FROM (
    SELECT
      *
    FROM `qbcd`.`lineage0_simple_a7a39b72` AS `l`
    WHERE
      `l`.`order_id` IN (
        SELECT
          `c`.`order_id`
        FROM `qbcd`.`changed0_simple_a7a39b72` AS `c`
      )
  ) AS `q2`
) AS `q1`
  ON `q1`.`order_id` = `q0`.`order_id`
UNION
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM `shop`.`orders` AS `q0`
WHERE
  `q0`.`order_id` IN (
    SELECT
      `q3`.`order_id`
    FROM (
      SELECT
        *
      FROM `qbcd`.`changed0_simple_a7a39b72`
      WHERE
        `qbcd_there` > 0
    ) AS `q3`
  )
UNION
SELECT DISTINCT
  `q0`.`order_id` AS `order_id`
FROM `qbcd`.`lineage0_simple_a7a39b72` AS `q0`
WHERE
  `q0`.`order_id` IN (
    SELECT
      `q3`.`order_id`
    FROM (
      SELECT
        *
      FROM `qbcd`.`lineage0_simple_a7a39b72` AS `l`
      WHERE
        EXISTS(
          SELECT
            1
          FROM `qbcd`.`changed0_simple_a7a39b72` AS `c`
          WHERE
            `c`.`order_id` = `l`.`order_id`
        )
    ) AS `q3`
  );
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`affected_simple_a7a39b72` (`order_id`) VALUES (qbcd$0);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: NULL among them
SELECT COUNT(*) AS nulls FROM `qbcd`.`affected_simple_a7a39b72` WHERE `order_id` IS NULL

-- vbd, delta: key problems
SELECT
  COUNT(*) AS keys_more_than_once,
  COALESCE(SUM(d.nulls), 0) AS keys_null
FROM (
  SELECT
    COUNT(*) AS copies,
    SUM(CASE WHEN `order_id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM (
SELECT
  `q0`.`order_id` AS `order_id`,
  `q0`.`status` AS `status`,
  `q0`.`amount` AS `amount`,
  `q0`.`placed` AS `placed`,
  `q1`.`others` AS `others`
FROM `shop`.`orders` AS `q0`
LEFT JOIN (
  SELECT
    `q2`.`order_id` AS `order_id`,
    COUNT(*) AS `others`
  FROM `shop`.`orders` AS `q2`
  WHERE
    `q2`.`order_id` IN (
      SELECT
        `qbcd_k`.`order_id`
      FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
    )
  GROUP BY
    `q2`.`order_id`
) AS `q1`
  ON `q1`.`order_id` = `q0`.`order_id`
WHERE
  NOT EXISTS(
    SELECT
      1 AS `1`
    FROM `shop`.`orders` AS `q3`
    WHERE
      `q3`.`order_id` = `q0`.`order_id`
  )
  AND `q0`.`order_id` IN (
    SELECT
      `qbcd_k`.`order_id`
    FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
  )
LIMIT 18446744073709551615
) AS qbcd_query
  WHERE
    TRUE
  GROUP BY
    `order_id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- vbd, delta: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
BEGIN NOT ATOMIC
  DECLARE qbcd$count BIGINT DEFAULT 0;
  DECLARE qbcd$end BOOLEAN DEFAULT FALSE;
  DECLARE qbcd$0 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.epoch;
  DECLARE qbcd$1 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.batch_seq;
  DECLARE qbcd$2 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.ordinal;
  DECLARE qbcd$3 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.op;
  DECLARE qbcd$4 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.changed;
  DECLARE qbcd$5 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_order_id`;
  DECLARE qbcd$6 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_status`;
  DECLARE qbcd$7 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_amount`;
  DECLARE qbcd$8 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`b_placed`;
  DECLARE qbcd$9 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_order_id`;
  DECLARE qbcd$10 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_status`;
  DECLARE qbcd$11 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_amount`;
  DECLARE qbcd$12 TYPE OF `qbcd`.`outbox_simple_a7a39b72`.`a_placed`;
  DECLARE qbcd$rows CURSOR FOR
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_order_id`,
  d.`b_status`,
  d.`b_amount`,
  d.`b_placed`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
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
    r.`status` AS `b_status`,
    r.`amount` AS `b_amount`,
    r.`placed` AS `b_placed`,
    t.`order_id` AS `a_order_id`,
    t.`status` AS `a_status`,
    t.`amount` AS `a_amount`,
    t.`placed` AS `a_placed`
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`,
      `status`,
      `amount`,
      `placed`
    FROM (
SELECT
  `q0`.`order_id` AS `order_id`,
  `q0`.`status` AS `status`,
  `q0`.`amount` AS `amount`,
  `q0`.`placed` AS `placed`,
  `q1`.`others` AS `others`
FROM `shop`.`orders` AS `q0`
LEFT JOIN (
  SELECT
    `q2`.`order_id` AS `order_id`,
    COUNT(*) AS `others`
  FROM `shop`.`orders` AS `q2`
  WHERE
    `q2`.`order_id` IN (
      SELECT
        `qbcd_k`.`order_id`
      FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
    )
  GROUP BY
    `q2`.`order_id`
) AS `q1`
  ON `q1`.`order_id` = `q0`.`order_id`
WHERE
  NOT EXISTS(
    SELECT
      1 AS `1`
    FROM `shop`.`orders` AS `q3`
    WHERE
      `q3`.`order_id` = `q0`.`order_id`
  )
  AND `q0`.`order_id` IN (
    SELECT
      `qbcd_k`.`order_id`
    FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
  )
LIMIT 18446744073709551615
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      x.`order_id`,
      x.`status`,
      x.`amount`,
      x.`placed`
    FROM `qbcd`.`replica_simple_a7a39b72` AS x
    WHERE
      x.`order_id` IN (
        SELECT
          h.`order_id`
        FROM `qbcd`.`affected_simple_a7a39b72` AS h
      )
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
    r.`status`,
    r.`amount`,
    r.`placed`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      x.`order_id`,
      x.`status`,
      x.`amount`,
      x.`placed`
    FROM `qbcd`.`replica_simple_a7a39b72` AS x
    WHERE
      x.`order_id` IN (
        SELECT
          h.`order_id`
        FROM `qbcd`.`affected_simple_a7a39b72` AS h
      )
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM (
SELECT
  `q0`.`order_id` AS `order_id`,
  `q0`.`status` AS `status`,
  `q0`.`amount` AS `amount`,
  `q0`.`placed` AS `placed`,
  `q1`.`others` AS `others`
FROM `shop`.`orders` AS `q0`
LEFT JOIN (
  SELECT
    `q2`.`order_id` AS `order_id`,
    COUNT(*) AS `others`
  FROM `shop`.`orders` AS `q2`
  WHERE
    `q2`.`order_id` IN (
      SELECT
        `qbcd_k`.`order_id`
      FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
    )
  GROUP BY
    `q2`.`order_id`
) AS `q1`
  ON `q1`.`order_id` = `q0`.`order_id`
WHERE
  NOT EXISTS(
    SELECT
      1 AS `1`
    FROM `shop`.`orders` AS `q3`
    WHERE
      `q3`.`order_id` = `q0`.`order_id`
  )
  AND `q0`.`order_id` IN (
    SELECT
      `qbcd_k`.`order_id`
    FROM `qbcd`.`affected_simple_a7a39b72` AS `qbcd_k`
  )
LIMIT 18446744073709551615
) AS qbcd_query
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET qbcd$end = TRUE;
  OPEN qbcd$rows;
  FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8, qbcd$9, qbcd$10, qbcd$11, qbcd$12;
  WHILE NOT qbcd$end DO
    INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (epoch, batch_seq, ordinal, op, changed, `b_order_id`, `b_status`, `b_amount`, `b_placed`, `a_order_id`, `a_status`, `a_amount`, `a_placed`) VALUES (qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8, qbcd$9, qbcd$10, qbcd$11, qbcd$12);
    SET qbcd$count = qbcd$count + 1;
    FETCH qbcd$rows INTO qbcd$0, qbcd$1, qbcd$2, qbcd$3, qbcd$4, qbcd$5, qbcd$6, qbcd$7, qbcd$8, qbcd$9, qbcd$10, qbcd$11, qbcd$12;
  END WHILE;
  CLOSE qbcd$rows;
  SELECT qbcd$count;
END

-- vbd, delta: affected keys forgotten
DELETE FROM `qbcd`.`affected_simple_a7a39b72`

-- restriction, for EXPLAIN
SELECT
  1
FROM `shop`.`orders`
WHERE
  TRUE
