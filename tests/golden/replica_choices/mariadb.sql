-- tlcs, replica: source: ddl of the copy
CREATE TABLE IF NOT EXISTS `qbcd`.`copy_simple_a7a39b72` (
  `order_id` bigint(20) NOT NULL,
  `status` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `amount` decimal(10,2) NULL,
  `placed` timestamp(6) NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- tlcs, replica: source: baseline, events=False, 1
--   batch_seq = 1
--   epoch = 5
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
  ROW_NUMBER() OVER () - 1,
  'r',
  cast(conv(left(sha2(concat(_binary'', ifnull(`order_id`, 'N'), ',', ifnull(concat(length(`status`), ':', convert(`status` USING binary)), 'N'), ifnull(`amount`, 'N'), ',', ifnull(`placed`, 'N'), ','), 256), 16), 16, -10) AS SIGNED),
  `order_id`,
  `status`,
  `amount`,
  `placed`
FROM `shop`.`orders`
WHERE
  TRUE

-- tlcs, replica: source: baseline, events=False, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
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

-- tlcs, replica: source: baseline, events=False, 3
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`copy_simple_a7a39b72` (
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

-- tlcs, replica: source: baseline, events=False, 4
--   batch_seq = 1
--   epoch = 5
DELETE FROM `qbcd`.`outbox_simple_a7a39b72`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- tlcs, replica: source: baseline, events=True, 1
-- the text of: tlcs, replica: source: baseline, events=False, 1

-- tlcs, replica: source: baseline, events=True, 2
-- the text of: tlcs, replica: source: baseline, events=False, 2

-- tlcs, replica: source: baseline, events=True, 3
-- the text of: tlcs, replica: source: baseline, events=False, 3

-- tlcs, replica: source: old values, and the copy, 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_simple_a7a39b72` AS o
JOIN `qbcd`.`copy_simple_a7a39b72` AS r
  ON TRUE SET o.changed = CASE
  WHEN o.op = 'd'
  THEN NULL
  ELSE TRIM(BOTH ',' FROM CONCAT(
    CASE
      WHEN NOT (convert(o.`a_status` USING binary) <=> convert(r.`status` USING binary))
      THEN '1,'
      ELSE ''
    END,
    CASE WHEN NOT (o.`a_amount` <=> r.`amount`) THEN '2,' ELSE '' END,
    CASE WHEN NOT (o.`a_placed` <=> r.`placed`) THEN '3,' ELSE '' END
  ))
END, o.`b_order_id` = r.`order_id`, o.`b_status` = r.`status`, o.`b_amount` = r.`amount`, o.`b_placed` = r.`placed`
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`

-- tlcs, replica: source: old values, and the copy, 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM `r` USING   `qbcd`.`copy_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`

-- tlcs, replica: source: old values, and the copy, 3
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`copy_simple_a7a39b72` (
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

-- tlcs, replica: source: old values, and the copy in a range, 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_simple_a7a39b72` AS o
JOIN `qbcd`.`copy_simple_a7a39b72` AS r
  ON TRUE SET o.changed = CASE
  WHEN o.op = 'd'
  THEN NULL
  ELSE TRIM(BOTH ',' FROM CONCAT(
    CASE
      WHEN NOT (convert(o.`a_status` USING binary) <=> convert(r.`status` USING binary))
      THEN '1,'
      ELSE ''
    END,
    CASE WHEN NOT (o.`a_amount` <=> r.`amount`) THEN '2,' ELSE '' END,
    CASE WHEN NOT (o.`a_placed` <=> r.`placed`) THEN '3,' ELSE '' END
  ))
END, o.`b_order_id` = r.`order_id`, o.`b_status` = r.`status`, o.`b_amount` = r.`amount`, o.`b_placed` = r.`placed`
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`
  AND (r.`order_id` >= 10 AND r.`order_id` < 18446744073709551615)

-- tlcs, replica: source: old values, and the copy in a range, 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM `r` USING   `qbcd`.`copy_simple_a7a39b72` AS r,
  `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_order_id` = r.`order_id`
  AND (r.`order_id` >= 10 AND r.`order_id` < 18446744073709551615)

-- tlcs, replica: source: old values, and the copy in a range, 3
-- the text of: tlcs, replica: source: old values, and the copy, 3

-- tlcs, replica: lake: ddl of the position
CREATE TABLE IF NOT EXISTS `qbcd`.`queue_simple_a7a39b72` (
  `project` varchar(64) NOT NULL,
  `applied` varchar(64) NULL,
  `queued` varchar(64) NULL,
  PRIMARY KEY (`project`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- tlcs, replica: lake: rows of the queue
SELECT CASE WHEN t.`qbcd_v0` < 10 THEN 1 ELSE CASE WHEN t.`qbcd_v0` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_untravelled AS untravelled
FROM (
SELECT
  qbcd_v0,
  convert(`qbcd_v0` USING binary) AS qbcd_key_id,
  qbcd_digest,
  cast(qbcd_v0 AS SIGNED) AS qbcd_0,
  convert(qbcd_v1 USING utf8mb4) AS qbcd_1,
  cast(qbcd_v2 AS CHAR) AS qbcd_2,
  CASE WHEN coalesce(qbcd_v3 >= '0001-01-01' AND from_days(to_days(qbcd_v3)) = date(qbcd_v3), FALSE) THEN date_format(qbcd_v3, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(qbcd_v3 AS CHAR) END AS qbcd_3,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE WHEN TRUE THEN '' ELSE '2,' END,
    CASE
      WHEN (qbcd_v3 IS NULL OR coalesce(qbcd_v3 >= '0001-01-01' AND from_days(to_days(qbcd_v3)) = date(qbcd_v3), FALSE))
      THEN ''
      ELSE '3,'
    END
  ) AS qbcd_untravelled
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o.`a_order_id` AS qbcd_v0,
    o.`a_status` AS qbcd_v1,
    o.`a_amount` AS qbcd_v2,
    o.`a_placed` AS qbcd_v3
  FROM `qbcd`.`outbox_simple_a7a39b72` AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op <> 'd'
) AS q
) AS t

-- tlcs, replica: lake: keys of the queue
SELECT CASE WHEN t.`qbcd_v0` < 10 THEN 1 ELSE CASE WHEN t.`qbcd_v0` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest
FROM (
SELECT
  qbcd_v0,
  convert(`qbcd_v0` USING binary) AS qbcd_key_id,
  qbcd_digest
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o.`a_order_id` AS qbcd_v0
  FROM `qbcd`.`outbox_simple_a7a39b72` AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op <> 'd'
) AS q
) AS t
UNION ALL
SELECT CASE WHEN t.`qbcd_v0` < 10 THEN 1 ELSE CASE WHEN t.`qbcd_v0` < 18446744073709551615 THEN 2 ELSE 3 END END AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest
FROM (
SELECT
  qbcd_v0,
  convert(`qbcd_v0` USING binary) AS qbcd_key_id,
  qbcd_digest
FROM (
  SELECT
    o.digest AS qbcd_digest,
    o.`b_order_id` AS qbcd_v0
  FROM `qbcd`.`outbox_simple_a7a39b72` AS o
  WHERE
    o.epoch = 5 AND o.batch_seq = 2 AND o.op = 'd'
) AS q
) AS t

-- mds without updates: ddl
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_simple_a7a39b72` (
  `order_id` bigint(20) NOT NULL,
  PRIMARY KEY (`order_id`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds without updates: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
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
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
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
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
  UNION ALL
  SELECT
    1,
    r.`order_id`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`
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

-- mds without updates: apply 1
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

-- mds without updates: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`
)
SELECT
  o.`a_order_id`
FROM `qbcd`.`outbox_simple_a7a39b72` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- vbd, compare by digests: baseline 1
INSERT INTO `qbcd`.`replica_simple_a7a39b72` (
  `order_id`
)
SELECT
  `order_id`
FROM (
SELECT * FROM `shop`.`orders` AS q
) AS qbcd_query
WHERE
  TRUE

-- vbd, compare by digests: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
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
    FROM (
SELECT * FROM `shop`.`orders` AS q
) AS qbcd_query
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
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
      `order_id`
    FROM `qbcd`.`replica_simple_a7a39b72`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `order_id`
        FROM (
SELECT * FROM `shop`.`orders` AS q
) AS qbcd_query
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`order_id` = r.`order_id`
    )
) AS d

-- id without updates: changes of a range
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_simple_a7a39b72` (
  epoch,
  batch_seq,
  ordinal,
  op,
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
  d.`b_order_id`,
  d.`a_order_id`,
  d.`a_status`,
  d.`a_amount`,
  d.`a_placed`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
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
      `placed`
    FROM `shop`.`orders`
    WHERE
      TRUE AND (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `order_id`
    FROM `qbcd`.`replica_simple_a7a39b72`
    WHERE
      (`order_id` >= 10 AND `order_id` < 18446744073709551615)
  ) AS r
    ON t.`order_id` = r.`order_id`
  WHERE
    r.qbcd_present IS NULL
  UNION ALL
  SELECT
    1,
    r.`order_id`,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `order_id`
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
