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
  `digest` bigint NULL,
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
--   first = 0
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
  AND o.ordinal >= %(first)s
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

-- mds: columns that are captured from now on
UPDATE `qbcd`.`replica_restricted_7a0d9159` AS r
JOIN (
  SELECT
    `tenant`,
    `id`,
    `n` AS qbcd_0,
    `doc` AS qbcd_1
  FROM `shop`.`restricted`
  WHERE
    (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)
) AS t
  ON TRUE SET r.`n` = t.qbcd_0, r.`doc` = t.qbcd_1
WHERE
  t.`tenant` = r.`tenant` AND t.`id` = r.`id`

-- mds: their old values, which nobody was told
--   batch_seq = 2
--   epoch = 5
--   first = 0
UPDATE `qbcd`.`outbox_restricted_7a0d9159` SET `b_n` = NULL, `b_doc` = NULL
WHERE
  epoch = %(epoch)s
  AND batch_seq = %(batch_seq)s
  AND ordinal >= %(first)s

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

-- mds: counts
--   batch_seq = 2
--   epoch = 5
--   first = 0
SELECT
  o.op,
  COUNT(*) AS events
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
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
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c3,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c4,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c5
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
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

-- mds: apply 1
--   batch_seq = 2
--   epoch = 5
--   first = 0
DELETE FROM `r` USING   `qbcd`.`replica_restricted_7a0d9159` AS r,
  `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_tenant` = r.`tenant`
  AND o.`b_id` = r.`id`

-- mds: apply 2
--   batch_seq = 2
--   epoch = 5
--   first = 0
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
  AND o.ordinal >= %(first)s
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

-- mds: batch 1
--   batch_seq = 2
--   epoch = 5
INSERT INTO `qbcd`.`outbox_restricted_7a0d9159` (
  epoch,
  batch_seq,
  ordinal,
  op,
  reason,
  pair_id,
  changed,
  digest,
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
  o.epoch,
  %(batch_seq)s,
  ROW_NUMBER() OVER (ORDER BY CASE o.op WHEN 'd' THEN 1 WHEN 'u' THEN 2 ELSE 3 END, o.ordinal) - 1,
  o.op,
  o.reason,
  o.pair_id,
  o.changed,
  o.digest,
  o.`b_tenant`,
  o.`a_tenant`,
  o.`b_id`,
  o.`a_id`,
  o.`b_name`,
  o.`a_name`,
  o.`b_note`,
  o.`a_note`,
  o.`b_n`,
  o.`a_n`,
  o.`b_doc`,
  o.`a_doc`
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s AND o.batch_seq = 0

-- mds: batch 2
--   batch_seq = 0
--   epoch = 5
DELETE FROM `qbcd`.`outbox_restricted_7a0d9159`
WHERE
  epoch = %(epoch)s AND batch_seq = %(batch_seq)s

-- mds: batch 3
--   batch_seq = 2
--   epoch = 5
--   pair = '5:2:'
UPDATE `qbcd`.`outbox_restricted_7a0d9159` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_name`), ':', convert(d.`b_name` USING binary)), 'N'), ifnull(sha2(convert(d.`b_note` USING binary), 256), 'N'), ifnull(d.`b_n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(d.`b_doc` USING binary), ''), exp(length(d.`b_doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_name`), ':', convert(d.`a_name` USING binary)), 'N'), ifnull(sha2(convert(d.`a_note` USING binary), 256), 'N'), ifnull(d.`a_n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(d.`a_doc` USING binary), ''), exp(length(d.`a_doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_restricted_7a0d9159` AS d
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
UPDATE `qbcd`.`outbox_restricted_7a0d9159` AS o
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
        THEN cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`b_name`), ':', convert(d.`b_name` USING binary)), 'N'), ifnull(sha2(convert(d.`b_note` USING binary), 256), 'N'), ifnull(d.`b_n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(d.`b_doc` USING binary), ''), exp(length(d.`b_doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED)
        ELSE cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(d.`a_name`), ':', convert(d.`a_name` USING binary)), 'N'), ifnull(sha2(convert(d.`a_note` USING binary), 256), 'N'), ifnull(d.`a_n`, 'N'), ',', ifnull(sha2(coalesce(nullif(convert(d.`a_doc` USING binary), ''), exp(length(d.`a_doc`) + @@max_allowed_packet)), 256), 'N')), 256), 16), 16, -10) AS SIGNED)
      END AS content
    FROM `qbcd`.`outbox_restricted_7a0d9159` AS d
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
) AND ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
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
      ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
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
      ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
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
) AND ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

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

-- id: changes of range 3
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
) AND ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
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
      ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
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
      ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
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
) AND ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- id: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_restricted_7a0d9159` AS r,
  `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_tenant` = r.`tenant`
  AND o.`b_id` = r.`id`
  AND ((r.`tenant` >= X'00' AND ((r.`tenant` > X'00') OR (r.`tenant` = X'00' AND r.`id` >= -5))) AND (r.`tenant` <= X'FF27' AND ((r.`tenant` < X'FF27') OR (r.`tenant` = X'FF27' AND r.`id` < 7))))

-- id: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
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
  AND o.ordinal >= %(first)s
  AND o.op <> 'd'

-- id: key problems of a range
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
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  GROUP BY
    `tenant`,
    `id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

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

-- id: events of the ranges 1
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  o.op AS qbcd_op,
  o.`a_tenant` AS qbcd_0,
  o.`a_id` AS qbcd_1
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op <> 'd') AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` <= X'00' AND ((t.`qbcd_0` < X'00') OR (t.`qbcd_0` = X'00' AND t.`qbcd_1` < -5))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` >= X'00' AND ((t.`qbcd_0` > X'00') OR (t.`qbcd_0` = X'00' AND t.`qbcd_1` >= -5))) AND (t.`qbcd_0` <= X'FF27' AND ((t.`qbcd_0` < X'FF27') OR (t.`qbcd_0` = X'FF27' AND t.`qbcd_1` < 7))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` >= X'FF27' AND ((t.`qbcd_0` > X'FF27') OR (t.`qbcd_0` = X'FF27' AND t.`qbcd_1` >= 7))) LIMIT 18446744073709551615) AS t

-- id: events of the ranges 2
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  o.op AS qbcd_op,
  o.`b_tenant` AS qbcd_0,
  o.`b_id` AS qbcd_1
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 0 AND o.ordinal >= 7 AND o.op = 'd') AS r)
SELECT 1 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` <= X'00' AND ((t.`qbcd_0` < X'00') OR (t.`qbcd_0` = X'00' AND t.`qbcd_1` < -5))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` >= X'00' AND ((t.`qbcd_0` > X'00') OR (t.`qbcd_0` = X'00' AND t.`qbcd_1` >= -5))) AND (t.`qbcd_0` <= X'FF27' AND ((t.`qbcd_0` < X'FF27') OR (t.`qbcd_0` = X'FF27' AND t.`qbcd_1` < 7))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, -COUNT(*) AS net
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`qbcd_0` >= X'FF27' AND ((t.`qbcd_0` > X'FF27') OR (t.`qbcd_0` = X'FF27' AND t.`qbcd_1` >= 7))) LIMIT 18446744073709551615) AS t

-- tlcs: changes of range 1
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
) AND ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      qbcd_digest
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
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
      ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
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
) AND ((`tenant` <= X'00' AND ((`tenant` < X'00') OR (`tenant` = X'00' AND `id` < -5))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

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

-- tlcs: changes of range 3
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
) AND ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `tenant`,
      `id`,
      qbcd_digest
    FROM `qbcd`.`replica_restricted_7a0d9159`
    WHERE
      ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
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
      ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
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
) AND ((`tenant` >= X'FF27' AND ((`tenant` > X'FF27') OR (`tenant` = X'FF27' AND `id` >= 7))))
      ) AS t
      WHERE
        t.`tenant` = r.`tenant` AND t.`id` = r.`id`
    )
) AS d

-- tlcs: apply 1
--   batch_seq = 0
--   epoch = 5
--   first = 7
DELETE FROM `r` USING   `qbcd`.`replica_restricted_7a0d9159` AS r,
  `qbcd`.`outbox_restricted_7a0d9159` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s
  AND o.op IN ('d', 'u')
  AND o.`b_tenant` = r.`tenant`
  AND o.`b_id` = r.`id`
  AND ((r.`tenant` >= X'00' AND ((r.`tenant` > X'00') OR (r.`tenant` = X'00' AND r.`id` >= -5))) AND (r.`tenant` <= X'FF27' AND ((r.`tenant` < X'FF27') OR (r.`tenant` = X'FF27' AND r.`id` < 7))))

-- tlcs: apply 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`replica_restricted_7a0d9159` (
  `tenant`,
  `id`,
  qbcd_digest
)
SELECT
  o.`a_tenant`,
  o.`a_id`,
  o.digest
FROM `qbcd`.`outbox_restricted_7a0d9159` AS o
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
    SUM(CASE WHEN `tenant` IS NULL OR `id` IS NULL THEN 1 ELSE 0 END) AS nulls
  FROM `shop`.`restricted`
  WHERE
    (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
) AND ((`tenant` >= X'00' AND ((`tenant` > X'00') OR (`tenant` = X'00' AND `id` >= -5))) AND (`tenant` <= X'FF27' AND ((`tenant` < X'FF27') OR (`tenant` = X'FF27' AND `id` < 7))))
  GROUP BY
    `tenant`,
    `id`
) AS d
WHERE
  d.copies > 1 OR d.nulls > 0

-- tlcs: rows
SELECT
  COUNT(*) AS n
FROM `shop`.`restricted`
WHERE
  (
name LIKE "100%" AND doc->>'$.a' = 'a:b'
  AND note <> ':epoch' AND note <> '%(epoch)s' AND n % 2 = 0 || n IS NULL
)

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
