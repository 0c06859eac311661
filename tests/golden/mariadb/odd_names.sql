-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_odd_names_3c8f564f` (
  `se``lect` int(11) NOT NULL,
  `%(x)s` date NOT NULL,
  `:epoch` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `quote"d` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `it's \` int(11) NULL,
  `{{ jinja }} {v}` int(11) NULL,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` int(11) NULL,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` int(11) NULL,
  PRIMARY KEY (`se``lect`, `%(x)s`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_odd_names_3c8f564f` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `digest` bigint NULL,
  `b_se``lect` int(11) NULL,
  `a_se``lect` int(11) NULL,
  `b_%(x)s` date NULL,
  `a_%(x)s` date NULL,
  `b_:epoch` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_:epoch` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_quote"d` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_quote"d` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_it's \` int(11) NULL,
  `a_it's \` int(11) NULL,
  `b_{{ jinja }} {v}` int(11) NULL,
  `a_{{ jinja }} {v}` int(11) NULL,
  `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996` int(11) NULL,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996` int(11) NULL,
  `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6` int(11) NULL,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6` int(11) NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: baseline, events=False, 1
INSERT INTO `qbcd`.`replica_odd_names_3c8f564f` (
  `se``lect`,
  `%(x)s`,
  `:epoch`,
  `quote"d`,
  `it's \`,
  `{{ jinja }} {v}`,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
)
SELECT
  `se``lect`,
  `%(x)s`,
  `:epoch`,
  `quote"d`,
  `it's \`,
  `{{ jinja }} {v}`,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE

-- mds: baseline, events=True, 1
--   batch_seq = 1
--   epoch = 5
INSERT INTO `qbcd`.`outbox_odd_names_3c8f564f` (
  epoch,
  batch_seq,
  ordinal,
  op,
  `a_se``lect`,
  `a_%%(x)s`,
  `a_:epoch`,
  `a_quote"d`,
  `a_it's \`,
  `a_{{ jinja }} {v}`,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  ROW_NUMBER() OVER () - 1,
  'r',
  `se``lect`,
  `%%(x)s`,
  `:epoch`,
  `quote"d`,
  `it's \`,
  `{{ jinja }} {v}`,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
FROM `My ``Schema```.`a.b %% :c`
WHERE
  TRUE

-- mds: baseline, events=True, 2
--   batch_seq = 1
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_odd_names_3c8f564f` (
  `se``lect`,
  `%%(x)s`,
  `:epoch`,
  `quote"d`,
  `it's \`,
  `{{ jinja }} {v}`,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
)
SELECT
  o.`a_se``lect`,
  o.`a_%%(x)s`,
  o.`a_:epoch`,
  o.`a_quote"d`,
  o.`a_it's \`,
  o.`a_{{ jinja }} {v}`,
  o.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  o.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
    SUM(CASE WHEN `se``lect` IS NULL OR `%(x)s` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `My ``Schema```.`a.b % :c`
  WHERE
    TRUE
  GROUP BY
    `se``lect`,
    `%(x)s`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- mds: columns that are captured from now on
UPDATE `qbcd`.`replica_odd_names_3c8f564f` AS r
JOIN (
  SELECT
    `se``lect`,
    `%(x)s`,
    `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS qbcd_0,
    `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS qbcd_1
  FROM `My ``Schema```.`a.b % :c`
  WHERE
    TRUE
) AS t
  ON TRUE SET r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` = t.qbcd_0, r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` = t.qbcd_1
WHERE
  t.`se``lect` = r.`se``lect` AND t.`%(x)s` = r.`%(x)s`

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_odd_names_3c8f564f` SET `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996` = NULL, `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6` = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_odd_names_3c8f564f` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_se``lect`,
  `b_%%(x)s`,
  `b_:epoch`,
  `b_quote"d`,
  `b_it's \`,
  `b_{{ jinja }} {v}`,
  `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  `a_se``lect`,
  `a_%%(x)s`,
  `a_:epoch`,
  `a_quote"d`,
  `a_it's \`,
  `a_{{ jinja }} {v}`,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_se``lect`,
  d.`b_%%(x)s`,
  d.`b_:epoch`,
  d.`b_quote"d`,
  d.`b_it's \`,
  d.`b_{{ jinja }} {v}`,
  d.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  d.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  d.`a_se``lect`,
  d.`a_%%(x)s`,
  d.`a_:epoch`,
  d.`a_quote"d`,
  d.`a_it's \`,
  d.`a_{{ jinja }} {v}`,
  d.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  d.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`:epoch` USING binary) <=> convert(r.`:epoch` USING binary))
          THEN '2,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`quote"d` USING binary) <=> convert(r.`quote"d` USING binary))
          THEN '3,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`it's \` <=> r.`it's \`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`{{ jinja }} {v}` <=> r.`{{ jinja }} {v}`) THEN '5,' ELSE '' END,
        CASE
          WHEN NOT (t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` <=> r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`)
          THEN '6,'
          ELSE ''
        END,
        CASE
          WHEN NOT (t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` <=> r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`)
          THEN '7,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`se``lect` AS `b_se``lect`,
    r.`%%(x)s` AS `b_%%(x)s`,
    r.`:epoch` AS `b_:epoch`,
    r.`quote"d` AS `b_quote"d`,
    r.`it's \` AS `b_it's \`,
    r.`{{ jinja }} {v}` AS `b_{{ jinja }} {v}`,
    r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
    r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
    t.`se``lect` AS `a_se``lect`,
    t.`%%(x)s` AS `a_%%(x)s`,
    t.`:epoch` AS `a_:epoch`,
    t.`quote"d` AS `a_quote"d`,
    t.`it's \` AS `a_it's \`,
    t.`{{ jinja }} {v}` AS `a_{{ jinja }} {v}`,
    t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
    t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `My ``Schema```.`a.b %% :c`
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `qbcd`.`replica_odd_names_3c8f564f`
  ) AS r
    ON t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`:epoch` USING binary) <=> convert(r.`:epoch` USING binary))
    OR NOT (convert(t.`quote"d` USING binary) <=> convert(r.`quote"d` USING binary))
    OR NOT (t.`it's \` <=> r.`it's \`)
    OR NOT (t.`{{ jinja }} {v}` <=> r.`{{ jinja }} {v}`)
    OR NOT (t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` <=> r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`)
    OR NOT (t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` <=> r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`se``lect`,
    r.`%%(x)s`,
    r.`:epoch`,
    r.`quote"d`,
    r.`it's \`,
    r.`{{ jinja }} {v}`,
    r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
    r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `qbcd`.`replica_odd_names_3c8f564f`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `se``lect`,
          `%%(x)s`
        FROM `My ``Schema```.`a.b %% :c`
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
    )
) AS d

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
        OR (o.`a_%%(x)s` IS NULL OR coalesce(o.`a_%%(x)s` >= '0001-01-01' AND from_days(to_days(o.`a_%%(x)s`)) = date(o.`a_%%(x)s`), FALSE))
      )
      AND (o.`b_%%(x)s` IS NULL OR coalesce(o.`b_%%(x)s` >= '0001-01-01' AND from_days(to_days(o.`b_%%(x)s`)) = date(o.`b_%%(x)s`), FALSE))
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
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
  cast(COALESCE(o.`a_se``lect`, o.`b_se``lect`) AS CHAR) AS k0,
  cast(COALESCE(o.`a_%%(x)s`, o.`b_%%(x)s`) AS CHAR) AS k1
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
DELETE FROM `r` USING   `qbcd`.`replica_odd_names_3c8f564f` AS r,
  `qbcd`.`outbox_odd_names_3c8f564f` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_se``lect` = r.`se``lect`
  AND o.`b_%%(x)s` = r.`%%(x)s`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`replica_odd_names_3c8f564f` (
  `se``lect`,
  `%%(x)s`,
  `:epoch`,
  `quote"d`,
  `it's \`,
  `{{ jinja }} {v}`,
  `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
  `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
)
SELECT
  o.`a_se``lect`,
  o.`a_%%(x)s`,
  o.`a_:epoch`,
  o.`a_quote"d`,
  o.`a_it's \`,
  o.`a_{{ jinja }} {v}`,
  o.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  o.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
  cast(o.`b_se``lect` AS SIGNED) AS b_0,
  cast(o.`b_%(x)s` AS CHAR) AS b_1,
  convert(o.`b_:epoch` USING utf8mb4) AS b_2,
  convert(o.`b_quote"d` USING utf8mb4) AS b_3,
  cast(o.`b_it's \` AS SIGNED) AS b_4,
  cast(o.`b_{{ jinja }} {v}` AS SIGNED) AS b_5,
  cast(o.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996` AS SIGNED) AS b_6,
  cast(o.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6` AS SIGNED) AS b_7,
  cast(o.`a_se``lect` AS SIGNED) AS a_0,
  cast(o.`a_%(x)s` AS CHAR) AS a_1,
  convert(o.`a_:epoch` USING utf8mb4) AS a_2,
  convert(o.`a_quote"d` USING utf8mb4) AS a_3,
  cast(o.`a_it's \` AS SIGNED) AS a_4,
  cast(o.`a_{{ jinja }} {v}` AS SIGNED) AS a_5,
  cast(o.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996` AS SIGNED) AS a_6,
  cast(o.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6` AS SIGNED) AS a_7
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_odd_names_3c8f564f` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
  `b_se``lect`,
  `a_se``lect`,
  `b_%%(x)s`,
  `a_%%(x)s`,
  `b_:epoch`,
  `a_:epoch`,
  `b_quote"d`,
  `a_quote"d`,
  `b_it's \`,
  `a_it's \`,
  `b_{{ jinja }} {v}`,
  `a_{{ jinja }} {v}`,
  `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
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
  o.`b_se``lect`,
  o.`a_se``lect`,
  o.`b_%%(x)s`,
  o.`a_%%(x)s`,
  o.`b_:epoch`,
  o.`a_:epoch`,
  o.`b_quote"d`,
  o.`a_quote"d`,
  o.`b_it's \`,
  o.`a_it's \`,
  o.`b_{{ jinja }} {v}`,
  o.`a_{{ jinja }} {v}`,
  o.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  o.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  o.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  o.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM `qbcd`.`outbox_odd_names_3c8f564f`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_:epoch`), ':', convert(d.`b_:epoch` USING binary)), 'N'), ifnull(concat(length(d.`b_quote"d`), ':', convert(d.`b_quote"d` USING binary)), 'N'), ifnull(d.`b_it's \`, 'N'), ',', ifnull(d.`b_{{ jinja }} {v}`, 'N'), ',', ifnull(d.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`, 'N'), ',', ifnull(d.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_:epoch`), ':', convert(d.`a_:epoch` USING binary)), 'N'), ifnull(concat(length(d.`a_quote"d`), ':', convert(d.`a_quote"d` USING binary)), 'N'), ifnull(d.`a_it's \`, 'N'), ',', ifnull(d.`a_{{ jinja }} {v}`, 'N'), ',', ifnull(d.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`, 'N'), ',', ifnull(d.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_odd_names_3c8f564f` AS d
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
UPDATE `qbcd`.`outbox_odd_names_3c8f564f` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_:epoch`), ':', convert(d.`b_:epoch` USING binary)), 'N'), ifnull(concat(length(d.`b_quote"d`), ':', convert(d.`b_quote"d` USING binary)), 'N'), ifnull(d.`b_it's \`, 'N'), ',', ifnull(d.`b_{{ jinja }} {v}`, 'N'), ',', ifnull(d.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`, 'N'), ',', ifnull(d.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_:epoch`), ':', convert(d.`a_:epoch` USING binary)), 'N'), ifnull(concat(length(d.`a_quote"d`), ':', convert(d.`a_quote"d` USING binary)), 'N'), ifnull(d.`a_it's \`, 'N'), ',', ifnull(d.`a_{{ jinja }} {v}`, 'N'), ',', ifnull(d.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`, 'N'), ',', ifnull(d.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`, 'N'), ','), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_odd_names_3c8f564f` AS d
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

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_odd_names_3c8f564f` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_se``lect`,
  `b_%%(x)s`,
  `b_:epoch`,
  `b_quote"d`,
  `b_it's \`,
  `b_{{ jinja }} {v}`,
  `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  `a_se``lect`,
  `a_%%(x)s`,
  `a_:epoch`,
  `a_quote"d`,
  `a_it's \`,
  `a_{{ jinja }} {v}`,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_se``lect`,
  d.`b_%%(x)s`,
  d.`b_:epoch`,
  d.`b_quote"d`,
  d.`b_it's \`,
  d.`b_{{ jinja }} {v}`,
  d.`b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  d.`b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
  d.`a_se``lect`,
  d.`a_%%(x)s`,
  d.`a_:epoch`,
  d.`a_quote"d`,
  d.`a_it's \`,
  d.`a_{{ jinja }} {v}`,
  d.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  d.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`:epoch` USING binary) <=> convert(r.`:epoch` USING binary))
          THEN '2,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`quote"d` USING binary) <=> convert(r.`quote"d` USING binary))
          THEN '3,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`it's \` <=> r.`it's \`) THEN '4,' ELSE '' END,
        CASE WHEN NOT (t.`{{ jinja }} {v}` <=> r.`{{ jinja }} {v}`) THEN '5,' ELSE '' END,
        CASE
          WHEN NOT (t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` <=> r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`)
          THEN '6,'
          ELSE ''
        END,
        CASE
          WHEN NOT (t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` <=> r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`)
          THEN '7,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`se``lect` AS `b_se``lect`,
    r.`%%(x)s` AS `b_%%(x)s`,
    r.`:epoch` AS `b_:epoch`,
    r.`quote"d` AS `b_quote"d`,
    r.`it's \` AS `b_it's \`,
    r.`{{ jinja }} {v}` AS `b_{{ jinja }} {v}`,
    r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS `b_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
    r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS `b_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`,
    t.`se``lect` AS `a_se``lect`,
    t.`%%(x)s` AS `a_%%(x)s`,
    t.`:epoch` AS `a_:epoch`,
    t.`quote"d` AS `a_quote"d`,
    t.`it's \` AS `a_it's \`,
    t.`{{ jinja }} {v}` AS `a_{{ jinja }} {v}`,
    t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
    t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `My ``Schema```.`a.b %% :c`
    WHERE
      TRUE AND ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `qbcd`.`replica_odd_names_3c8f564f`
    WHERE
      ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS r
    ON t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`:epoch` USING binary) <=> convert(r.`:epoch` USING binary))
    OR NOT (convert(t.`quote"d` USING binary) <=> convert(r.`quote"d` USING binary))
    OR NOT (t.`it's \` <=> r.`it's \`)
    OR NOT (t.`{{ jinja }} {v}` <=> r.`{{ jinja }} {v}`)
    OR NOT (t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` <=> r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`)
    OR NOT (t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` <=> r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`)
  UNION ALL
  SELECT
    1,
    NULL,
    r.`se``lect`,
    r.`%%(x)s`,
    r.`:epoch`,
    r.`quote"d`,
    r.`it's \`,
    r.`{{ jinja }} {v}`,
    r.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
    r.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`
    FROM `qbcd`.`replica_odd_names_3c8f564f`
    WHERE
      ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `se``lect`,
          `%%(x)s`
        FROM `My ``Schema```.`a.b %% :c`
        WHERE
          TRUE AND ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
      ) AS t
      WHERE
        t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
    )
) AS d

-- id: bounds in a range
SELECT cast(o.`qbcd_0` AS CHAR) AS k0, cast(o.`qbcd_1` AS CHAR) AS k1
FROM (SELECT t.`qbcd_0`, t.`qbcd_1`, row_number() OVER (ORDER BY t.`qbcd_0`, t.`qbcd_1`) AS qbcd_row
FROM (WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `se``lect`,
  `%(x)s`
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.`se``lect` AS qbcd_0, t.`%(x)s` AS qbcd_1
FROM qbcd_relation AS t WHERE (t.`se``lect` >= -5 AND ((t.`se``lect` > -5) OR (t.`se``lect` = -5 AND t.`%(x)s` >= '0000-00-00'))) AND (t.`se``lect` <= 7 AND ((t.`se``lect` < 7) OR (t.`se``lect` = 7 AND t.`%(x)s` < '9999-12-31')))) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- tlcs: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_odd_names_3c8f564f` (
  epoch,
  batch_seq,
  ordinal,
  op,
  digest,
  `b_se``lect`,
  `b_%%(x)s`,
  `a_se``lect`,
  `a_%%(x)s`,
  `a_:epoch`,
  `a_quote"d`,
  `a_it's \`,
  `a_{{ jinja }} {v}`,
  `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.qbcd_digest,
  d.`b_se``lect`,
  d.`b_%%(x)s`,
  d.`a_se``lect`,
  d.`a_%%(x)s`,
  d.`a_:epoch`,
  d.`a_quote"d`,
  d.`a_it's \`,
  d.`a_{{ jinja }} {v}`,
  d.`a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
  d.`a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    t.qbcd_digest,
    r.`se``lect` AS `b_se``lect`,
    r.`%%(x)s` AS `b_%%(x)s`,
    t.`se``lect` AS `a_se``lect`,
    t.`%%(x)s` AS `a_%%(x)s`,
    t.`:epoch` AS `a_:epoch`,
    t.`quote"d` AS `a_quote"d`,
    t.`it's \` AS `a_it's \`,
    t.`{{ jinja }} {v}` AS `a_{{ jinja }} {v}`,
    t.`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS `a_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn_73dcf996`,
    t.`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS `a_üüüüüüüüüüüüüüüüüüüüüüüüüü_fca466b6`
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      `:epoch`,
      `quote"d`,
      `it's \`,
      `{{ jinja }} {v}`,
      `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`,
      `üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`,
      cast(conv(left(sha2(concat(_binary'', ifnull(`se``lect`, 'N'), ',', ifnull(`%%(x)s`, 'N'), ',', ifnull(concat(length(`:epoch`), ':', convert(`:epoch` USING binary)), 'N'), ifnull(concat(length(`quote"d`), ':', convert(`quote"d` USING binary)), 'N'), ifnull(`it's \`, 'N'), ',', ifnull(`{{ jinja }} {v}`, 'N'), ',', ifnull(`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`, 'N'), ',', ifnull(`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
    FROM `My ``Schema```.`a.b %% :c`
    WHERE
      TRUE AND ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      qbcd_digest
    FROM `qbcd`.`replica_odd_names_3c8f564f`
    WHERE
      ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS r
    ON t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
  WHERE
    r.qbcd_present IS NULL OR t.qbcd_digest <> r.qbcd_digest
  UNION ALL
  SELECT
    1,
    NULL,
    r.`se``lect`,
    r.`%%(x)s`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM (
    SELECT
      1 AS qbcd_present,
      `se``lect`,
      `%%(x)s`,
      qbcd_digest
    FROM `qbcd`.`replica_odd_names_3c8f564f`
    WHERE
      ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `se``lect`,
          `%%(x)s`
        FROM `My ``Schema```.`a.b %% :c`
        WHERE
          TRUE AND ((`se``lect` >= -5 AND ((`se``lect` > -5) OR (`se``lect` = -5 AND `%%(x)s` >= '0000-00-00'))) AND (`se``lect` <= 7 AND ((`se``lect` < 7) OR (`se``lect` = 7 AND `%%(x)s` < '9999-12-31'))))
      ) AS t
      WHERE
        t.`se``lect` = r.`se``lect` AND t.`%%(x)s` = r.`%%(x)s`
    )
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_odd_names_3c8f564f` AS r,
  `qbcd`.`outbox_odd_names_3c8f564f` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_se``lect` = r.`se``lect`
  AND o.`b_%%(x)s` = r.`%%(x)s`
  AND ((r.`se``lect` >= -5 AND ((r.`se``lect` > -5) OR (r.`se``lect` = -5 AND r.`%%(x)s` >= '0000-00-00'))) AND (r.`se``lect` <= 7 AND ((r.`se``lect` < 7) OR (r.`se``lect` = 7 AND r.`%%(x)s` < '9999-12-31'))))

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_odd_names_3c8f564f` (
  `se``lect`,
  `%%(x)s`,
  qbcd_digest
)
SELECT
  o.`a_se``lect`,
  o.`a_%%(x)s`,
  o.digest
FROM `qbcd`.`outbox_odd_names_3c8f564f` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- id_rcs: bounds
SELECT cast(o.`se``lect` AS CHAR) AS k0, cast(o.`%(x)s` AS CHAR) AS k1
FROM (SELECT t.`se``lect`, t.`%(x)s`, row_number() OVER (ORDER BY t.`se``lect`, t.`%(x)s`) AS qbcd_row
FROM (SELECT
  `se``lect`,
  `%(x)s`
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `se``lect`,
  `%(x)s`,
  cast(conv(left(sha2(concat(_binary'', ifnull(`se``lect`, 'N'), ',', ifnull(`%(x)s`, 'N'), ',', ifnull(concat(length(`:epoch`), ':', convert(`:epoch` USING binary)), 'N'), ifnull(concat(length(`quote"d`), ':', convert(`quote"d` USING binary)), 'N'), ifnull(`it's \`, 'N'), ',', ifnull(`{{ jinja }} {v}`, 'N'), ',', ifnull(`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`, 'N'), ',', ifnull(`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`se``lect` <= -5 AND ((t.`se``lect` < -5) OR (t.`se``lect` = -5 AND t.`%(x)s` < '0000-00-00'))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`se``lect` >= -5 AND ((t.`se``lect` > -5) OR (t.`se``lect` = -5 AND t.`%(x)s` >= '0000-00-00'))) AND (t.`se``lect` <= 7 AND ((t.`se``lect` < 7) OR (t.`se``lect` = 7 AND t.`%(x)s` < '9999-12-31'))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`se``lect` >= 7 AND ((t.`se``lect` > 7) OR (t.`se``lect` = 7 AND t.`%(x)s` >= '9999-12-31'))) LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `se``lect`,
  `%(x)s`,
  concat(_binary'', length(convert(`se``lect` USING binary)), ':', convert(`se``lect` USING binary), length(convert(`%(x)s` USING binary)), ':', convert(`%(x)s` USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(`se``lect`, 'N'), ',', ifnull(`%(x)s`, 'N'), ',', ifnull(concat(length(`:epoch`), ':', convert(`:epoch` USING binary)), 'N'), ifnull(concat(length(`quote"d`), ':', convert(`quote"d` USING binary)), 'N'), ifnull(`it's \`, 'N'), ',', ifnull(`{{ jinja }} {v}`, 'N'), ',', ifnull(`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn`, 'N'), ',', ifnull(`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz`, 'N'), ','), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  cast(`se``lect` AS SIGNED) AS qbcd_0,
  cast(`%(x)s` AS CHAR) AS qbcd_1,
  convert(`:epoch` USING utf8mb4) AS qbcd_2,
  convert(`quote"d` USING utf8mb4) AS qbcd_3,
  cast(`it's \` AS SIGNED) AS qbcd_4,
  cast(`{{ jinja }} {v}` AS SIGNED) AS qbcd_5,
  cast(`nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS SIGNED) AS qbcd_6,
  cast(`üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüz` AS SIGNED) AS qbcd_7
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7
FROM qbcd_relation AS t WHERE (t.`se``lect` >= -5 AND ((t.`se``lect` > -5) OR (t.`se``lect` = -5 AND t.`%(x)s` >= '0000-00-00'))) AND (t.`se``lect` <= 7 AND ((t.`se``lect` < 7) OR (t.`se``lect` = 7 AND t.`%(x)s` < '9999-12-31')))

-- restriction, for EXPLAIN
SELECT
  1
FROM `My ``Schema```.`a.b % :c`
WHERE
  TRUE
