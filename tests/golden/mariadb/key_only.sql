-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_key_only_67a0ea19` (
  `team` int(11) NOT NULL,
  `person` int(11) NOT NULL,
  PRIMARY KEY (`team`, `person`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_key_only_67a0ea19` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `digest` bigint NULL,
  `b_team` int(11) NULL,
  `a_team` int(11) NULL,
  `b_person` int(11) NULL,
  `a_person` int(11) NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: baseline, events=False, 1
INSERT INTO `qbcd`.`replica_key_only_67a0ea19` (
  `team`,
  `person`
)
SELECT
  `team`,
  `person`
FROM `shop`.`members`
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`outbox_key_only_67a0ea19` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `a_team`,
  `a_person`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  `team`,
  `person`
FROM `shop`.`members`
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_key_only_67a0ea19` (
  `team`,
  `person`
)
SELECT
  o.`a_team`,
  o.`a_person`
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
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
    SUM(CASE WHEN `team` IS NULL OR `person` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`members`
  WHERE
    TRUE
  GROUP BY
    `team`,
    `person`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_key_only_67a0ea19` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_team`,
  `b_person`,
  `a_team`,
  `a_person`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_team`,
  d.`b_person`,
  d.`a_team`,
  d.`a_person`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN r.qbcd_present IS NULL THEN NULL ELSE '' END AS changed,
    r.`team` AS `b_team`,
    r.`person` AS `b_person`,
    t.`team` AS `a_team`,
    t.`person` AS `a_person`
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `shop`.`members`
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `qbcd`.`replica_key_only_67a0ea19`
  ) AS r
    ON t.`team` = r.`team` AND t.`person` = r.`person`
  WHERE
    r.qbcd_present IS NULL
  UNION ALL
  SELECT
    1,
    NULL,
    r.`team`,
    r.`person`,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `qbcd`.`replica_key_only_67a0ea19`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `team`,
          `person`
        FROM `shop`.`members`
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`team` = r.`team` AND t.`person` = r.`person`
    )
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
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
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
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
  cast(COALESCE(o.`a_team`, o.`b_team`) AS CHAR) AS k0,
  cast(COALESCE(o.`a_person`, o.`b_person`) AS CHAR) AS k1
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
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
DELETE FROM `r` USING   `qbcd`.`replica_key_only_67a0ea19` AS r,
  `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_team` = r.`team`
  AND o.`b_person` = r.`person`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_key_only_67a0ea19` (
  `team`,
  `person`
)
SELECT
  o.`a_team`,
  o.`a_person`
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
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
  cast(o.`b_team` AS SIGNED) AS b_0,
  cast(o.`b_person` AS SIGNED) AS b_1,
  cast(o.`a_team` AS SIGNED) AS a_0,
  cast(o.`a_person` AS SIGNED) AS a_1
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_key_only_67a0ea19` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  `b_team`,
  `a_team`,
  `b_person`,
  `a_person`
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
  o.`b_team`,
  o.`a_team`,
  o.`b_person`,
  o.`a_person`
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM `qbcd`.`outbox_key_only_67a0ea19`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_key_only_67a0ea19` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_team`,
  `b_person`,
  `a_team`,
  `a_person`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_team`,
  d.`b_person`,
  d.`a_team`,
  d.`a_person`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE WHEN r.qbcd_present IS NULL THEN NULL ELSE '' END AS changed,
    r.`team` AS `b_team`,
    r.`person` AS `b_person`,
    t.`team` AS `a_team`,
    t.`person` AS `a_person`
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `shop`.`members`
    WHERE
      TRUE AND ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `qbcd`.`replica_key_only_67a0ea19`
    WHERE
      ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS r
    ON t.`team` = r.`team` AND t.`person` = r.`person`
  WHERE
    r.qbcd_present IS NULL
  UNION ALL
  SELECT
    1,
    NULL,
    r.`team`,
    r.`person`,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`
    FROM `qbcd`.`replica_key_only_67a0ea19`
    WHERE
      ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `team`,
          `person`
        FROM `shop`.`members`
        WHERE
          TRUE AND ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
      ) AS t
      WHERE
        t.`team` = r.`team` AND t.`person` = r.`person`
    )
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_key_only_67a0ea19` AS r,
  `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_team` = r.`team`
  AND o.`b_person` = r.`person`
  AND ((r.`team` >= -5 AND ((r.`team` > -5) OR (r.`team` = -5 AND r.`person` >= -5))) AND (r.`team` <= 7 AND ((r.`team` < 7) OR (r.`team` = 7 AND r.`person` < 7))))

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_key_only_67a0ea19` (
  `team`,
  `person`
)
SELECT
  o.`a_team`,
  o.`a_person`
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_key_only_67a0ea19` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_team`,
  `b_person`,
  `a_team`,
  `a_person`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_team`,
  d.`b_person`,
  d.`a_team`,
  d.`a_person`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`team` AS `b_team`,
    r.`person` AS `b_person`,
    t.`team` AS `a_team`,
    t.`person` AS `a_person`
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`team`, 'N'), ',', ifnull(`person`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `shop`.`members`
    WHERE
      TRUE AND ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`,
      qbcd_digest
    FROM `qbcd`.`replica_key_only_67a0ea19`
    WHERE
      ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS r
    ON t.`team` = r.`team` AND t.`person` = r.`person`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`team`,
    r.`person`,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `team`,
      `person`,
      qbcd_digest
    FROM `qbcd`.`replica_key_only_67a0ea19`
    WHERE
      ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `team`,
          `person`
        FROM `shop`.`members`
        WHERE
          TRUE AND ((`team` >= -5 AND ((`team` > -5) OR (`team` = -5 AND `person` >= -5))) AND (`team` <= 7 AND ((`team` < 7) OR (`team` = 7 AND `person` < 7))))
      ) AS t
      WHERE
        t.`team` = r.`team` AND t.`person` = r.`person`
    )
) AS d

-- tlcs: apply 1
-- the text of: id: apply 1

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_key_only_67a0ea19` (
  `team`,
  `person`,
  qbcd_digest
)
SELECT
  o.`a_team`,
  o.`a_person`,
  o.digest
FROM `qbcd`.`outbox_key_only_67a0ea19` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `team`,
  `person`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`team`, 'N'), ',', ifnull(`person`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`members`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`team` <= -5 AND ((t.`team` < -5) OR (t.`team` = -5 AND t.`person` < -5))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`team` >= -5 AND ((t.`team` > -5) OR (t.`team` = -5 AND t.`person` >= -5))) AND (t.`team` <= 7 AND ((t.`team` < 7) OR (t.`team` = 7 AND t.`person` < 7))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`team` >= 7 AND ((t.`team` > 7) OR (t.`team` = 7 AND t.`person` >= 7))) LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `team`,
  `person`,
  concat(_binary'', length(convert(`team` USING binary)), ':', convert(`team` USING binary), length(convert(`person` USING binary)), ':', convert(`person` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`team`, 'N'), ',', ifnull(`person`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`team` AS SIGNED) AS qbcd_0,
  cast(`person` AS SIGNED) AS qbcd_1
FROM `shop`.`members`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1
FROM qbcd_relation AS t WHERE (t.`team` >= -5 AND ((t.`team` > -5) OR (t.`team` = -5 AND t.`person` >= -5))) AND (t.`team` <= 7 AND ((t.`team` < 7) OR (t.`team` = 7 AND t.`person` < 7)))
