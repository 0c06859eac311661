-- mds: ddl 1
CREATE TABLE IF NOT EXISTS `qbcd`.`replica_every_comparison_10907314` (
  `region` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
  `code` varchar(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
  `level` decimal(65,30) NOT NULL,
  `weight` double NOT NULL,
  `grade` enum('low','it''s') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
  `yes` tinyint(1) NULL,
  `small` smallint(5) unsigned NULL,
  `huge` bigint(20) unsigned zerofill NULL,
  `single` float NULL,
  `few` bit(5) NULL,
  `many` bit(64) NULL,
  `born` year(4) NULL,
  `pad` char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `old` varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL,
  `long` varchar(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `doc` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `json` json NULL,
  `raw` varbinary(9) NULL,
  `blob` longblob NULL,
  `day` date NULL,
  `clock` time(3) NULL,
  `stamp` datetime(6) NULL,
  `at` timestamp NULL,
  `flags` set('x','y') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `who` uuid NULL,
  `host` inet6 NULL,
  `place` point NULL,
  PRIMARY KEY (`region`, `code`, `level`, `weight`, `grade`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS `qbcd`.`outbox_every_comparison_10907314` (
  `epoch` bigint NOT NULL,
  `batch_seq` bigint NOT NULL,
  `ordinal` bigint NOT NULL,
  `op` varchar(1) NULL,
  `reason` varchar(40) NULL,
  `pair_id` varchar(64) NULL,
  `changed` text NULL,
  `digest` bigint NULL,
  `b_region` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_region` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_code` varchar(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
  `a_code` varchar(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
  `b_level` decimal(65,30) NULL,
  `a_level` decimal(65,30) NULL,
  `b_weight` double NULL,
  `a_weight` double NULL,
  `b_grade` enum('low','it''s') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_grade` enum('low','it''s') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_yes` tinyint(1) NULL,
  `a_yes` tinyint(1) NULL,
  `b_small` smallint(5) unsigned NULL,
  `a_small` smallint(5) unsigned NULL,
  `b_huge` bigint(20) unsigned zerofill NULL,
  `a_huge` bigint(20) unsigned zerofill NULL,
  `b_single` float NULL,
  `a_single` float NULL,
  `b_few` bit(5) NULL,
  `a_few` bit(5) NULL,
  `b_many` bit(64) NULL,
  `a_many` bit(64) NULL,
  `b_born` year(4) NULL,
  `a_born` year(4) NULL,
  `b_pad` char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_pad` char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_old` varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL,
  `a_old` varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL,
  `b_long` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_long` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_doc` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `a_doc` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `b_json` json NULL,
  `a_json` json NULL,
  `b_raw` varbinary(9) NULL,
  `a_raw` varbinary(9) NULL,
  `b_blob` longblob NULL,
  `a_blob` longblob NULL,
  `b_day` date NULL,
  `a_day` date NULL,
  `b_clock` time(3) NULL,
  `a_clock` time(3) NULL,
  `b_stamp` datetime(6) NULL,
  `a_stamp` datetime(6) NULL,
  `b_at` timestamp NULL,
  `a_at` timestamp NULL,
  `b_flags` set('x','y') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `a_flags` set('x','y') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL,
  `b_who` uuid NULL,
  `a_who` uuid NULL,
  `b_host` inet6 NULL,
  `a_host` inet6 NULL,
  `b_place` point NULL,
  `a_place` point NULL,
  PRIMARY KEY (`epoch`, `batch_seq`, `ordinal`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO `qbcd`.`outbox_every_comparison_10907314` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_region`,
  `b_code`,
  `b_level`,
  `b_weight`,
  `b_grade`,
  `b_yes`,
  `b_small`,
  `b_huge`,
  `b_single`,
  `b_few`,
  `b_many`,
  `b_born`,
  `b_pad`,
  `b_old`,
  `b_long`,
  `b_doc`,
  `b_json`,
  `b_raw`,
  `b_blob`,
  `b_day`,
  `b_clock`,
  `b_stamp`,
  `b_at`,
  `b_flags`,
  `b_who`,
  `b_host`,
  `b_place`,
  `a_region`,
  `a_code`,
  `a_level`,
  `a_weight`,
  `a_grade`,
  `a_yes`,
  `a_small`,
  `a_huge`,
  `a_single`,
  `a_few`,
  `a_many`,
  `a_born`,
  `a_pad`,
  `a_old`,
  `a_long`,
  `a_doc`,
  `a_json`,
  `a_raw`,
  `a_blob`,
  `a_day`,
  `a_clock`,
  `a_stamp`,
  `a_at`,
  `a_flags`,
  `a_who`,
  `a_host`,
  `a_place`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_region`,
  d.`b_code`,
  d.`b_level`,
  d.`b_weight`,
  d.`b_grade`,
  d.`b_yes`,
  d.`b_small`,
  d.`b_huge`,
  d.`b_single`,
  d.`b_few`,
  d.`b_many`,
  d.`b_born`,
  d.`b_pad`,
  d.`b_old`,
  d.`b_long`,
  d.`b_doc`,
  d.`b_json`,
  d.`b_raw`,
  d.`b_blob`,
  d.`b_day`,
  d.`b_clock`,
  d.`b_stamp`,
  d.`b_at`,
  d.`b_flags`,
  d.`b_who`,
  d.`b_host`,
  d.`b_place`,
  d.`a_region`,
  d.`a_code`,
  d.`a_level`,
  d.`a_weight`,
  d.`a_grade`,
  d.`a_yes`,
  d.`a_small`,
  d.`a_huge`,
  d.`a_single`,
  d.`a_few`,
  d.`a_many`,
  d.`a_born`,
  d.`a_pad`,
  d.`a_old`,
  d.`a_long`,
  d.`a_doc`,
  d.`a_json`,
  d.`a_raw`,
  d.`a_blob`,
  d.`a_day`,
  d.`a_clock`,
  d.`a_stamp`,
  d.`a_at`,
  d.`a_flags`,
  d.`a_who`,
  d.`a_host`,
  d.`a_place`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`region` USING binary) <=> convert(r.`region` USING binary))
          THEN '0,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`code` USING binary) <=> convert(r.`code` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`yes` <=> r.`yes`) THEN '5,' ELSE '' END,
        CASE WHEN NOT (t.`small` <=> r.`small`) THEN '6,' ELSE '' END,
        CASE WHEN NOT (t.`huge` <=> r.`huge`) THEN '7,' ELSE '' END,
        CASE WHEN NOT (t.`single` <=> r.`single`) THEN '8,' ELSE '' END,
        CASE WHEN NOT (t.`few` <=> r.`few`) THEN '9,' ELSE '' END,
        CASE WHEN NOT (t.`many` <=> r.`many`) THEN '10,' ELSE '' END,
        CASE WHEN NOT (t.`born` <=> r.`born`) THEN '11,' ELSE '' END,
        CASE
          WHEN NOT (convert(t.`pad` USING binary) <=> convert(r.`pad` USING binary))
          THEN '12,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`old` USING binary) <=> convert(r.`old` USING binary))
          THEN '13,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`long` USING binary) <=> convert(r.`long` USING binary))
          THEN '14,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`doc` USING binary) <=> convert(r.`doc` USING binary))
          THEN '15,'
          ELSE ''
        END,
        CASE
          WHEN NOT (coalesce(nullif(convert(t.`json` USING binary), ''), exp(length(t.`json`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`json` USING binary), ''), exp(length(r.`json`) + @@max_allowed_packet)))
          THEN '16,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`raw` <=> r.`raw`) THEN '17,' ELSE '' END,
        CASE WHEN NOT (t.`blob` <=> r.`blob`) THEN '18,' ELSE '' END,
        CASE WHEN NOT (t.`day` <=> r.`day`) THEN '19,' ELSE '' END,
        CASE WHEN NOT (t.`clock` <=> r.`clock`) THEN '20,' ELSE '' END,
        CASE WHEN NOT (t.`stamp` <=> r.`stamp`) THEN '21,' ELSE '' END,
        CASE WHEN NOT (t.`at` <=> r.`at`) THEN '22,' ELSE '' END,
        CASE
          WHEN NOT (cast(t.`flags` AS UNSIGNED) <=> cast(r.`flags` AS UNSIGNED))
          THEN '23,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`who` <=> r.`who`) THEN '24,' ELSE '' END,
        CASE WHEN NOT (t.`host` <=> r.`host`) THEN '25,' ELSE '' END,
        CASE
          WHEN NOT (convert(t.`place` USING binary) <=> convert(r.`place` USING binary))
          THEN '26,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`region` AS `b_region`,
    r.`code` AS `b_code`,
    r.`level` AS `b_level`,
    r.`weight` AS `b_weight`,
    r.`grade` AS `b_grade`,
    r.`yes` AS `b_yes`,
    r.`small` AS `b_small`,
    r.`huge` AS `b_huge`,
    r.`single` AS `b_single`,
    r.`few` AS `b_few`,
    r.`many` AS `b_many`,
    r.`born` AS `b_born`,
    r.`pad` AS `b_pad`,
    r.`old` AS `b_old`,
    r.`long` AS `b_long`,
    r.`doc` AS `b_doc`,
    r.`json` AS `b_json`,
    r.`raw` AS `b_raw`,
    r.`blob` AS `b_blob`,
    r.`day` AS `b_day`,
    r.`clock` AS `b_clock`,
    r.`stamp` AS `b_stamp`,
    r.`at` AS `b_at`,
    r.`flags` AS `b_flags`,
    r.`who` AS `b_who`,
    r.`host` AS `b_host`,
    r.`place` AS `b_place`,
    t.`region` AS `a_region`,
    t.`code` AS `a_code`,
    t.`level` AS `a_level`,
    t.`weight` AS `a_weight`,
    t.`grade` AS `a_grade`,
    t.`yes` AS `a_yes`,
    t.`small` AS `a_small`,
    t.`huge` AS `a_huge`,
    t.`single` AS `a_single`,
    t.`few` AS `a_few`,
    t.`many` AS `a_many`,
    t.`born` AS `a_born`,
    t.`pad` AS `a_pad`,
    t.`old` AS `a_old`,
    t.`long` AS `a_long`,
    t.`doc` AS `a_doc`,
    t.`json` AS `a_json`,
    t.`raw` AS `a_raw`,
    t.`blob` AS `a_blob`,
    t.`day` AS `a_day`,
    t.`clock` AS `a_clock`,
    t.`stamp` AS `a_stamp`,
    t.`at` AS `a_at`,
    concat(t.`flags`) AS `a_flags`,
    t.`who` AS `a_who`,
    t.`host` AS `a_host`,
    t.`place` AS `a_place`
  FROM (
    SELECT
      1 AS qbcd_present,
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `shop`.`mixed`
    WHERE
      TRUE
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `qbcd`.`replica_every_comparison_10907314`
  ) AS r
    ON t.`region` = r.`region`
    AND t.`code` = r.`code`
    AND t.`level` = r.`level`
    AND t.`weight` = r.`weight`
    AND t.`grade` = r.`grade`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`region` USING binary) <=> convert(r.`region` USING binary))
    OR NOT (convert(t.`code` USING binary) <=> convert(r.`code` USING binary))
    OR NOT (t.`yes` <=> r.`yes`)
    OR NOT (t.`small` <=> r.`small`)
    OR NOT (t.`huge` <=> r.`huge`)
    OR NOT (t.`single` <=> r.`single`)
    OR NOT (t.`few` <=> r.`few`)
    OR NOT (t.`many` <=> r.`many`)
    OR NOT (t.`born` <=> r.`born`)
    OR NOT (convert(t.`pad` USING binary) <=> convert(r.`pad` USING binary))
    OR NOT (convert(t.`old` USING binary) <=> convert(r.`old` USING binary))
    OR NOT (convert(t.`long` USING binary) <=> convert(r.`long` USING binary))
    OR NOT (convert(t.`doc` USING binary) <=> convert(r.`doc` USING binary))
    OR NOT (coalesce(nullif(convert(t.`json` USING binary), ''), exp(length(t.`json`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`json` USING binary), ''), exp(length(r.`json`) + @@max_allowed_packet)))
    OR NOT (t.`raw` <=> r.`raw`)
    OR NOT (t.`blob` <=> r.`blob`)
    OR NOT (t.`day` <=> r.`day`)
    OR NOT (t.`clock` <=> r.`clock`)
    OR NOT (t.`stamp` <=> r.`stamp`)
    OR NOT (t.`at` <=> r.`at`)
    OR NOT (cast(t.`flags` AS UNSIGNED) <=> cast(r.`flags` AS UNSIGNED))
    OR NOT (t.`who` <=> r.`who`)
    OR NOT (t.`host` <=> r.`host`)
    OR NOT (convert(t.`place` USING binary) <=> convert(r.`place` USING binary))
  UNION ALL
  SELECT
    1,
    NULL,
    r.`region`,
    r.`code`,
    r.`level`,
    r.`weight`,
    r.`grade`,
    r.`yes`,
    r.`small`,
    r.`huge`,
    r.`single`,
    r.`few`,
    r.`many`,
    r.`born`,
    r.`pad`,
    r.`old`,
    r.`long`,
    r.`doc`,
    r.`json`,
    r.`raw`,
    r.`blob`,
    r.`day`,
    r.`clock`,
    r.`stamp`,
    r.`at`,
    r.`flags`,
    r.`who`,
    r.`host`,
    r.`place`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
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
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `qbcd`.`replica_every_comparison_10907314`
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `region`,
          `code`,
          `level`,
          `weight`,
          `grade`
        FROM `shop`.`mixed`
        WHERE
          TRUE
      ) AS t
      WHERE
        t.`region` = r.`region`
        AND t.`code` = r.`code`
        AND t.`level` = r.`level`
        AND t.`weight` = r.`weight`
        AND t.`grade` = r.`grade`
    )
) AS d

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
  ) AND TRUE THEN 0 ELSE 1 END) AS c5,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c6,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c7,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c8,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c9,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c10,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c11,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c12,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c13,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c14,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c15,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c16,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c17,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c18,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_day` IS NULL OR coalesce(o.`a_day` >= '0001-01-01' AND from_days(to_days(o.`a_day`)) = date(o.`a_day`), FALSE))
      )
      AND (o.`b_day` IS NULL OR coalesce(o.`b_day` >= '0001-01-01' AND from_days(to_days(o.`b_day`)) = date(o.`b_day`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c19,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c20,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_stamp` IS NULL OR coalesce(o.`a_stamp` >= '0001-01-01' AND from_days(to_days(o.`a_stamp`)) = date(o.`a_stamp`), FALSE))
      )
      AND (o.`b_stamp` IS NULL OR coalesce(o.`b_stamp` >= '0001-01-01' AND from_days(to_days(o.`b_stamp`)) = date(o.`b_stamp`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c21,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (o.`a_at` IS NULL OR coalesce(o.`a_at` >= '0001-01-01' AND from_days(to_days(o.`a_at`)) = date(o.`a_at`), FALSE))
      )
      AND (o.`b_at` IS NULL OR coalesce(o.`b_at` >= '0001-01-01' AND from_days(to_days(o.`b_at`)) = date(o.`b_at`), FALSE))
      THEN 0
      ELSE 1
    END
  ) AS c22,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c23,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c24,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c25,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c26
FROM `qbcd`.`outbox_every_comparison_10907314` AS o
WHERE
  o.epoch = %(epoch)s
  AND o.batch_seq = %(batch_seq)s
  AND o.ordinal >= %(first)s

-- mds: rows of the batch, by Spark
SELECT
  o.op,
  o.reason,
  o.pair_id,
  o.ordinal,
  o.changed,
  convert(o.`b_region` USING utf8mb4) AS b_0,
  convert(o.`b_code` USING utf8mb4) AS b_1,
  cast(o.`b_level` AS CHAR) AS b_2,
  o.`b_weight` + 0e0 AS b_3,
  cast(o.`b_grade` AS CHAR) AS b_4,
  cast(o.`b_yes` AS SIGNED) AS b_5,
  cast(o.`b_small` AS SIGNED) AS b_6,
  cast(cast(o.`b_huge` AS UNSIGNED) AS DECIMAL(20,0)) AS b_7,
  o.`b_single` + 0e0 AS b_8,
  cast(o.`b_few` AS SIGNED) AS b_9,
  cast(cast(o.`b_many` AS UNSIGNED) AS DECIMAL(20,0)) AS b_10,
  cast(o.`b_born` AS SIGNED) AS b_11,
  convert(o.`b_pad` USING utf8mb4) AS b_12,
  convert(o.`b_old` USING utf8mb4) AS b_13,
  convert(o.`b_long` USING utf8mb4) AS b_14,
  convert(o.`b_doc` USING utf8mb4) AS b_15,
  convert(coalesce(nullif(convert(o.`b_json` USING binary), ''), exp(length(o.`b_json`) + @@max_allowed_packet)) USING utf8mb4) AS b_16,
  convert(o.`b_raw` USING binary) AS b_17,
  convert(o.`b_blob` USING binary) AS b_18,
  cast(o.`b_day` AS CHAR) AS b_19,
  cast(cast(o.`b_clock` AS TIME(6)) AS CHAR) AS b_20,
  CASE WHEN coalesce(o.`b_stamp` >= '0001-01-01' AND from_days(to_days(o.`b_stamp`)) = date(o.`b_stamp`), FALSE) THEN date_format(o.`b_stamp`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(o.`b_stamp` AS CHAR) END AS b_21,
  CASE WHEN coalesce(o.`b_at` >= '0001-01-01' AND from_days(to_days(o.`b_at`)) = date(o.`b_at`), FALSE) THEN date_format(o.`b_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`b_at` AS CHAR) END AS b_22,
  cast(o.`b_flags` AS CHAR) AS b_23,
  cast(o.`b_who` AS CHAR) AS b_24,
  cast(o.`b_host` AS CHAR) AS b_25,
  coalesce(hex(o.`b_place`), exp(length(o.`b_place`) + @@max_allowed_packet)) AS b_26,
  convert(o.`a_region` USING utf8mb4) AS a_0,
  convert(o.`a_code` USING utf8mb4) AS a_1,
  cast(o.`a_level` AS CHAR) AS a_2,
  o.`a_weight` + 0e0 AS a_3,
  cast(o.`a_grade` AS CHAR) AS a_4,
  cast(o.`a_yes` AS SIGNED) AS a_5,
  cast(o.`a_small` AS SIGNED) AS a_6,
  cast(cast(o.`a_huge` AS UNSIGNED) AS DECIMAL(20,0)) AS a_7,
  o.`a_single` + 0e0 AS a_8,
  cast(o.`a_few` AS SIGNED) AS a_9,
  cast(cast(o.`a_many` AS UNSIGNED) AS DECIMAL(20,0)) AS a_10,
  cast(o.`a_born` AS SIGNED) AS a_11,
  convert(o.`a_pad` USING utf8mb4) AS a_12,
  convert(o.`a_old` USING utf8mb4) AS a_13,
  convert(o.`a_long` USING utf8mb4) AS a_14,
  convert(o.`a_doc` USING utf8mb4) AS a_15,
  convert(coalesce(nullif(convert(o.`a_json` USING binary), ''), exp(length(o.`a_json`) + @@max_allowed_packet)) USING utf8mb4) AS a_16,
  convert(o.`a_raw` USING binary) AS a_17,
  convert(o.`a_blob` USING binary) AS a_18,
  cast(o.`a_day` AS CHAR) AS a_19,
  cast(cast(o.`a_clock` AS TIME(6)) AS CHAR) AS a_20,
  CASE WHEN coalesce(o.`a_stamp` >= '0001-01-01' AND from_days(to_days(o.`a_stamp`)) = date(o.`a_stamp`), FALSE) THEN date_format(o.`a_stamp`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(o.`a_stamp` AS CHAR) END AS a_21,
  CASE WHEN coalesce(o.`a_at` >= '0001-01-01' AND from_days(to_days(o.`a_at`)) = date(o.`a_at`), FALSE) THEN date_format(o.`a_at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(o.`a_at` AS CHAR) END AS a_22,
  cast(o.`a_flags` AS CHAR) AS a_23,
  cast(o.`a_who` AS CHAR) AS a_24,
  cast(o.`a_host` AS CHAR) AS a_25,
  coalesce(hex(o.`a_place`), exp(length(o.`a_place`) + @@max_allowed_packet)) AS a_26
FROM `qbcd`.`outbox_every_comparison_10907314` AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO `qbcd`.`outbox_every_comparison_10907314` (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  `b_region`,
  `b_code`,
  `b_level`,
  `b_weight`,
  `b_grade`,
  `b_yes`,
  `b_small`,
  `b_huge`,
  `b_single`,
  `b_few`,
  `b_many`,
  `b_born`,
  `b_pad`,
  `b_old`,
  `b_long`,
  `b_doc`,
  `b_json`,
  `b_raw`,
  `b_blob`,
  `b_day`,
  `b_clock`,
  `b_stamp`,
  `b_at`,
  `b_flags`,
  `b_who`,
  `b_host`,
  `b_place`,
  `a_region`,
  `a_code`,
  `a_level`,
  `a_weight`,
  `a_grade`,
  `a_yes`,
  `a_small`,
  `a_huge`,
  `a_single`,
  `a_few`,
  `a_many`,
  `a_born`,
  `a_pad`,
  `a_old`,
  `a_long`,
  `a_doc`,
  `a_json`,
  `a_raw`,
  `a_blob`,
  `a_day`,
  `a_clock`,
  `a_stamp`,
  `a_at`,
  `a_flags`,
  `a_who`,
  `a_host`,
  `a_place`
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d.`b_region`,
  d.`b_code`,
  d.`b_level`,
  d.`b_weight`,
  d.`b_grade`,
  d.`b_yes`,
  d.`b_small`,
  d.`b_huge`,
  d.`b_single`,
  d.`b_few`,
  d.`b_many`,
  d.`b_born`,
  d.`b_pad`,
  d.`b_old`,
  d.`b_long`,
  d.`b_doc`,
  d.`b_json`,
  d.`b_raw`,
  d.`b_blob`,
  d.`b_day`,
  d.`b_clock`,
  d.`b_stamp`,
  d.`b_at`,
  d.`b_flags`,
  d.`b_who`,
  d.`b_host`,
  d.`b_place`,
  d.`a_region`,
  d.`a_code`,
  d.`a_level`,
  d.`a_weight`,
  d.`a_grade`,
  d.`a_yes`,
  d.`a_small`,
  d.`a_huge`,
  d.`a_single`,
  d.`a_few`,
  d.`a_many`,
  d.`a_born`,
  d.`a_pad`,
  d.`a_old`,
  d.`a_long`,
  d.`a_doc`,
  d.`a_json`,
  d.`a_raw`,
  d.`a_blob`,
  d.`a_day`,
  d.`a_clock`,
  d.`a_stamp`,
  d.`a_at`,
  d.`a_flags`,
  d.`a_who`,
  d.`a_host`,
  d.`a_place`
FROM (
  SELECT
    CASE WHEN r.qbcd_present IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN r.qbcd_present IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CONCAT(
        CASE
          WHEN NOT (convert(t.`region` USING binary) <=> convert(r.`region` USING binary))
          THEN '0,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`code` USING binary) <=> convert(r.`code` USING binary))
          THEN '1,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`yes` <=> r.`yes`) THEN '5,' ELSE '' END,
        CASE WHEN NOT (t.`small` <=> r.`small`) THEN '6,' ELSE '' END,
        CASE WHEN NOT (t.`huge` <=> r.`huge`) THEN '7,' ELSE '' END,
        CASE WHEN NOT (t.`single` <=> r.`single`) THEN '8,' ELSE '' END,
        CASE WHEN NOT (t.`few` <=> r.`few`) THEN '9,' ELSE '' END,
        CASE WHEN NOT (t.`many` <=> r.`many`) THEN '10,' ELSE '' END,
        CASE WHEN NOT (t.`born` <=> r.`born`) THEN '11,' ELSE '' END,
        CASE
          WHEN NOT (convert(t.`pad` USING binary) <=> convert(r.`pad` USING binary))
          THEN '12,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`old` USING binary) <=> convert(r.`old` USING binary))
          THEN '13,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`long` USING binary) <=> convert(r.`long` USING binary))
          THEN '14,'
          ELSE ''
        END,
        CASE
          WHEN NOT (convert(t.`doc` USING binary) <=> convert(r.`doc` USING binary))
          THEN '15,'
          ELSE ''
        END,
        CASE
          WHEN NOT (coalesce(nullif(convert(t.`json` USING binary), ''), exp(length(t.`json`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`json` USING binary), ''), exp(length(r.`json`) + @@max_allowed_packet)))
          THEN '16,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`raw` <=> r.`raw`) THEN '17,' ELSE '' END,
        CASE WHEN NOT (t.`blob` <=> r.`blob`) THEN '18,' ELSE '' END,
        CASE WHEN NOT (t.`day` <=> r.`day`) THEN '19,' ELSE '' END,
        CASE WHEN NOT (t.`clock` <=> r.`clock`) THEN '20,' ELSE '' END,
        CASE WHEN NOT (t.`stamp` <=> r.`stamp`) THEN '21,' ELSE '' END,
        CASE WHEN NOT (t.`at` <=> r.`at`) THEN '22,' ELSE '' END,
        CASE
          WHEN NOT (cast(t.`flags` AS UNSIGNED) <=> cast(r.`flags` AS UNSIGNED))
          THEN '23,'
          ELSE ''
        END,
        CASE WHEN NOT (t.`who` <=> r.`who`) THEN '24,' ELSE '' END,
        CASE WHEN NOT (t.`host` <=> r.`host`) THEN '25,' ELSE '' END,
        CASE
          WHEN NOT (convert(t.`place` USING binary) <=> convert(r.`place` USING binary))
          THEN '26,'
          ELSE ''
        END
      ))
    END AS changed,
    r.`region` AS `b_region`,
    r.`code` AS `b_code`,
    r.`level` AS `b_level`,
    r.`weight` AS `b_weight`,
    r.`grade` AS `b_grade`,
    r.`yes` AS `b_yes`,
    r.`small` AS `b_small`,
    r.`huge` AS `b_huge`,
    r.`single` AS `b_single`,
    r.`few` AS `b_few`,
    r.`many` AS `b_many`,
    r.`born` AS `b_born`,
    r.`pad` AS `b_pad`,
    r.`old` AS `b_old`,
    r.`long` AS `b_long`,
    r.`doc` AS `b_doc`,
    r.`json` AS `b_json`,
    r.`raw` AS `b_raw`,
    r.`blob` AS `b_blob`,
    r.`day` AS `b_day`,
    r.`clock` AS `b_clock`,
    r.`stamp` AS `b_stamp`,
    r.`at` AS `b_at`,
    r.`flags` AS `b_flags`,
    r.`who` AS `b_who`,
    r.`host` AS `b_host`,
    r.`place` AS `b_place`,
    t.`region` AS `a_region`,
    t.`code` AS `a_code`,
    t.`level` AS `a_level`,
    t.`weight` AS `a_weight`,
    t.`grade` AS `a_grade`,
    t.`yes` AS `a_yes`,
    t.`small` AS `a_small`,
    t.`huge` AS `a_huge`,
    t.`single` AS `a_single`,
    t.`few` AS `a_few`,
    t.`many` AS `a_many`,
    t.`born` AS `a_born`,
    t.`pad` AS `a_pad`,
    t.`old` AS `a_old`,
    t.`long` AS `a_long`,
    t.`doc` AS `a_doc`,
    t.`json` AS `a_json`,
    t.`raw` AS `a_raw`,
    t.`blob` AS `a_blob`,
    t.`day` AS `a_day`,
    t.`clock` AS `a_clock`,
    t.`stamp` AS `a_stamp`,
    t.`at` AS `a_at`,
    concat(t.`flags`) AS `a_flags`,
    t.`who` AS `a_who`,
    t.`host` AS `a_host`,
    t.`place` AS `a_place`
  FROM (
    SELECT
      1 AS qbcd_present,
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `shop`.`mixed`
    WHERE
      TRUE AND ((`region` >= _utf8mb4 X'69742773' AND ((`region` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` > -0.000000000000000000000000000001) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` > -0.5e0) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` = -0.5e0 AND `grade` IN (1, 2)))) AND (`region` <= _utf8mb4 X'313025205C203A78' AND ((`region` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` < 1.000000000000000000000000000000) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` < 1e308) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` = 1e308 AND `grade` IN (0, 1)))))
  ) AS t
  LEFT JOIN (
    SELECT
      1 AS qbcd_present,
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `qbcd`.`replica_every_comparison_10907314`
    WHERE
      ((`region` >= _utf8mb4 X'69742773' AND ((`region` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` > -0.000000000000000000000000000001) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` > -0.5e0) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` = -0.5e0 AND `grade` IN (1, 2)))) AND (`region` <= _utf8mb4 X'313025205C203A78' AND ((`region` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` < 1.000000000000000000000000000000) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` < 1e308) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` = 1e308 AND `grade` IN (0, 1)))))
  ) AS r
    ON t.`region` = r.`region`
    AND t.`code` = r.`code`
    AND t.`level` = r.`level`
    AND t.`weight` = r.`weight`
    AND t.`grade` = r.`grade`
  WHERE
    r.qbcd_present IS NULL
    OR NOT (convert(t.`region` USING binary) <=> convert(r.`region` USING binary))
    OR NOT (convert(t.`code` USING binary) <=> convert(r.`code` USING binary))
    OR NOT (t.`yes` <=> r.`yes`)
    OR NOT (t.`small` <=> r.`small`)
    OR NOT (t.`huge` <=> r.`huge`)
    OR NOT (t.`single` <=> r.`single`)
    OR NOT (t.`few` <=> r.`few`)
    OR NOT (t.`many` <=> r.`many`)
    OR NOT (t.`born` <=> r.`born`)
    OR NOT (convert(t.`pad` USING binary) <=> convert(r.`pad` USING binary))
    OR NOT (convert(t.`old` USING binary) <=> convert(r.`old` USING binary))
    OR NOT (convert(t.`long` USING binary) <=> convert(r.`long` USING binary))
    OR NOT (convert(t.`doc` USING binary) <=> convert(r.`doc` USING binary))
    OR NOT (coalesce(nullif(convert(t.`json` USING binary), ''), exp(length(t.`json`) + @@max_allowed_packet)) <=> coalesce(nullif(convert(r.`json` USING binary), ''), exp(length(r.`json`) + @@max_allowed_packet)))
    OR NOT (t.`raw` <=> r.`raw`)
    OR NOT (t.`blob` <=> r.`blob`)
    OR NOT (t.`day` <=> r.`day`)
    OR NOT (t.`clock` <=> r.`clock`)
    OR NOT (t.`stamp` <=> r.`stamp`)
    OR NOT (t.`at` <=> r.`at`)
    OR NOT (cast(t.`flags` AS UNSIGNED) <=> cast(r.`flags` AS UNSIGNED))
    OR NOT (t.`who` <=> r.`who`)
    OR NOT (t.`host` <=> r.`host`)
    OR NOT (convert(t.`place` USING binary) <=> convert(r.`place` USING binary))
  UNION ALL
  SELECT
    1,
    NULL,
    r.`region`,
    r.`code`,
    r.`level`,
    r.`weight`,
    r.`grade`,
    r.`yes`,
    r.`small`,
    r.`huge`,
    r.`single`,
    r.`few`,
    r.`many`,
    r.`born`,
    r.`pad`,
    r.`old`,
    r.`long`,
    r.`doc`,
    r.`json`,
    r.`raw`,
    r.`blob`,
    r.`day`,
    r.`clock`,
    r.`stamp`,
    r.`at`,
    r.`flags`,
    r.`who`,
    r.`host`,
    r.`place`,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
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
      `region`,
      `code`,
      `level`,
      `weight`,
      `grade`,
      `yes`,
      `small`,
      `huge`,
      `single`,
      `few`,
      `many`,
      `born`,
      `pad`,
      `old`,
      `long`,
      `doc`,
      `json`,
      `raw`,
      `blob`,
      `day`,
      `clock`,
      `stamp`,
      `at`,
      `flags`,
      `who`,
      `host`,
      `place`
    FROM `qbcd`.`replica_every_comparison_10907314`
    WHERE
      ((`region` >= _utf8mb4 X'69742773' AND ((`region` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` > -0.000000000000000000000000000001) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` > -0.5e0) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` = -0.5e0 AND `grade` IN (1, 2)))) AND (`region` <= _utf8mb4 X'313025205C203A78' AND ((`region` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` < 1.000000000000000000000000000000) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` < 1e308) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` = 1e308 AND `grade` IN (0, 1)))))
  ) AS r
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          `region`,
          `code`,
          `level`,
          `weight`,
          `grade`
        FROM `shop`.`mixed`
        WHERE
          TRUE AND ((`region` >= _utf8mb4 X'69742773' AND ((`region` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` > _utf8mb4 X'69742773') OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` > -0.000000000000000000000000000001) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` > -0.5e0) OR (`region` = _utf8mb4 X'69742773' AND `code` = _utf8mb4 X'69742773' AND `level` = -0.000000000000000000000000000001 AND `weight` = -0.5e0 AND `grade` IN (1, 2)))) AND (`region` <= _utf8mb4 X'313025205C203A78' AND ((`region` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` < _utf8mb4 X'313025205C203A78') OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` < 1.000000000000000000000000000000) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` < 1e308) OR (`region` = _utf8mb4 X'313025205C203A78' AND `code` = _utf8mb4 X'313025205C203A78' AND `level` = 1.000000000000000000000000000000 AND `weight` = 1e308 AND `grade` IN (0, 1)))))
      ) AS t
      WHERE
        t.`region` = r.`region`
        AND t.`code` = r.`code`
        AND t.`level` = r.`level`
        AND t.`weight` = r.`weight`
        AND t.`grade` = r.`grade`
    )
) AS d

-- id_rcs: bounds
SELECT convert(o.`region` USING utf8mb4) AS k0, convert(o.`code` USING utf8mb4) AS k1, cast(o.`level` AS CHAR) AS k2, nullif(concat(o.`weight` + 0e0), 'null') AS k3, cast(o.qbcd_k4 AS CHAR) AS k4
FROM (SELECT t.`region`, t.`code`, t.`level`, t.`weight`, cast(t.`grade` AS UNSIGNED) AS qbcd_k4, row_number() OVER (ORDER BY t.`region`, t.`code`, t.`level`, t.`weight`, cast(t.`grade` AS UNSIGNED)) AS qbcd_row
FROM (SELECT
  `region`,
  `code`,
  `level`,
  `weight`,
  `grade`
FROM `shop`.`mixed`
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: checksums
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `region`,
  `code`,
  `level`,
  `weight`,
  `grade`,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`mixed`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`region` <= _utf8mb4 X'69742773' AND ((t.`region` < _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` < _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` < -0.000000000000000000000000000001) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` < -0.5e0) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` = -0.5e0 AND t.`grade` IN (0)))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 2 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`region` >= _utf8mb4 X'69742773' AND ((t.`region` > _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` > _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` > -0.000000000000000000000000000001) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` > -0.5e0) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` = -0.5e0 AND t.`grade` IN (1, 2)))) AND (t.`region` <= _utf8mb4 X'313025205C203A78' AND ((t.`region` < _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` < _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` < 1.000000000000000000000000000000) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` < 1e308) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` = 1e308 AND t.`grade` IN (0, 1)))) LIMIT 18446744073709551615) AS t
UNION ALL
SELECT 3 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE (t.`region` >= _utf8mb4 X'313025205C203A78' AND ((t.`region` > _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` > _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` > 1.000000000000000000000000000000) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` > 1e308) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` = 1e308 AND t.`grade` IN (2)))) LIMIT 18446744073709551615) AS t

-- id_rcs: images
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `region`,
  `code`,
  `level`,
  `weight`,
  `grade`,
  concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(`weight` + 0e0) USING binary)), ':', convert(concat(`weight` + 0e0) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`region` USING utf8mb4) AS qbcd_0,
  convert(`code` USING utf8mb4) AS qbcd_1,
  cast(`level` AS CHAR) AS qbcd_2,
  `weight` + 0e0 AS qbcd_3,
  cast(`grade` AS CHAR) AS qbcd_4,
  cast(`yes` AS SIGNED) AS qbcd_5,
  cast(`small` AS SIGNED) AS qbcd_6,
  cast(cast(`huge` AS UNSIGNED) AS DECIMAL(20,0)) AS qbcd_7,
  `single` + 0e0 AS qbcd_8,
  cast(`few` AS SIGNED) AS qbcd_9,
  cast(cast(`many` AS UNSIGNED) AS DECIMAL(20,0)) AS qbcd_10,
  cast(`born` AS SIGNED) AS qbcd_11,
  convert(`pad` USING utf8mb4) AS qbcd_12,
  convert(`old` USING utf8mb4) AS qbcd_13,
  convert(`long` USING utf8mb4) AS qbcd_14,
  convert(`doc` USING utf8mb4) AS qbcd_15,
  convert(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_16,
  convert(`raw` USING binary) AS qbcd_17,
  convert(`blob` USING binary) AS qbcd_18,
  cast(`day` AS CHAR) AS qbcd_19,
  cast(cast(`clock` AS TIME(6)) AS CHAR) AS qbcd_20,
  CASE WHEN coalesce(`stamp` >= '0001-01-01' AND from_days(to_days(`stamp`)) = date(`stamp`), FALSE) THEN date_format(`stamp`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`stamp` AS CHAR) END AS qbcd_21,
  CASE WHEN coalesce(`at` >= '0001-01-01' AND from_days(to_days(`at`)) = date(`at`), FALSE) THEN date_format(`at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`at` AS CHAR) END AS qbcd_22,
  cast(`flags` AS CHAR) AS qbcd_23,
  cast(`who` AS CHAR) AS qbcd_24,
  cast(`host` AS CHAR) AS qbcd_25,
  coalesce(hex(`place`), exp(length(`place`) + @@max_allowed_packet)) AS qbcd_26
FROM `shop`.`mixed`
WHERE
  TRUE) AS r)
SELECT 2 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7, t.qbcd_8 AS c8, t.qbcd_9 AS c9, t.qbcd_10 AS c10, t.qbcd_11 AS c11, t.qbcd_12 AS c12, t.qbcd_13 AS c13, t.qbcd_14 AS c14, t.qbcd_15 AS c15, t.qbcd_16 AS c16, t.qbcd_17 AS c17, t.qbcd_18 AS c18, t.qbcd_19 AS c19, t.qbcd_20 AS c20, t.qbcd_21 AS c21, t.qbcd_22 AS c22, t.qbcd_23 AS c23, t.qbcd_24 AS c24, t.qbcd_25 AS c25, t.qbcd_26 AS c26
FROM qbcd_relation AS t WHERE (t.`region` >= _utf8mb4 X'69742773' AND ((t.`region` > _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` > _utf8mb4 X'69742773') OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` > -0.000000000000000000000000000001) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` > -0.5e0) OR (t.`region` = _utf8mb4 X'69742773' AND t.`code` = _utf8mb4 X'69742773' AND t.`level` = -0.000000000000000000000000000001 AND t.`weight` = -0.5e0 AND t.`grade` IN (1, 2)))) AND (t.`region` <= _utf8mb4 X'313025205C203A78' AND ((t.`region` < _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` < _utf8mb4 X'313025205C203A78') OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` < 1.000000000000000000000000000000) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` < 1e308) OR (t.`region` = _utf8mb4 X'313025205C203A78' AND t.`code` = _utf8mb4 X'313025205C203A78' AND t.`level` = 1.000000000000000000000000000000 AND t.`weight` = 1e308 AND t.`grade` IN (0, 1))))

-- id_rcs: images for typed sinks, as the JDBC driver takes them
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `region`,
  `code`,
  `level`,
  `weight`,
  `grade`,
  concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(`weight` + 0e0) USING binary)), ':', convert(concat(`weight` + 0e0) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
  convert(`region` USING utf8mb4) AS qbcd_0,
  convert(`code` USING utf8mb4) AS qbcd_1,
  cast(`level` AS CHAR) AS qbcd_2,
  `weight` + 0e0 AS qbcd_3,
  cast(`grade` AS CHAR) AS qbcd_4,
  cast(`yes` AS SIGNED) AS qbcd_5,
  cast(`small` AS SIGNED) AS qbcd_6,
  cast(cast(`huge` AS UNSIGNED) AS DECIMAL(20,0)) AS qbcd_7,
  `single` + 0e0 AS qbcd_8,
  cast(`few` AS SIGNED) AS qbcd_9,
  cast(cast(`many` AS UNSIGNED) AS DECIMAL(20,0)) AS qbcd_10,
  cast(`born` AS SIGNED) AS qbcd_11,
  convert(`pad` USING utf8mb4) AS qbcd_12,
  convert(`old` USING utf8mb4) AS qbcd_13,
  convert(`long` USING utf8mb4) AS qbcd_14,
  convert(`doc` USING utf8mb4) AS qbcd_15,
  convert(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)) USING utf8mb4) AS qbcd_16,
  convert(`raw` USING binary) AS qbcd_17,
  convert(`blob` USING binary) AS qbcd_18,
  cast(`day` AS CHAR) AS qbcd_19,
  cast(cast(`clock` AS TIME(6)) AS CHAR) AS qbcd_20,
  CASE WHEN coalesce(`stamp` >= '0001-01-01' AND from_days(to_days(`stamp`)) = date(`stamp`), FALSE) THEN date_format(`stamp`, '%Y-%m-%dT%H:%i:%s.%f') ELSE cast(`stamp` AS CHAR) END AS qbcd_21,
  CASE WHEN coalesce(`at` >= '0001-01-01' AND from_days(to_days(`at`)) = date(`at`), FALSE) THEN date_format(`at`, '%Y-%m-%dT%H:%i:%s.%fZ') ELSE cast(`at` AS CHAR) END AS qbcd_22,
  cast(`flags` AS CHAR) AS qbcd_23,
  cast(`who` AS CHAR) AS qbcd_24,
  cast(`host` AS CHAR) AS qbcd_25,
  coalesce(hex(`place`), exp(length(`place`) + @@max_allowed_packet)) AS qbcd_26,
  CONCAT(
    CASE WHEN TRUE THEN '' ELSE '0,' END,
    CASE WHEN TRUE THEN '' ELSE '1,' END,
    CASE WHEN TRUE THEN '' ELSE '2,' END,
    CASE WHEN TRUE THEN '' ELSE '3,' END,
    CASE WHEN TRUE THEN '' ELSE '4,' END,
    CASE WHEN TRUE THEN '' ELSE '5,' END,
    CASE WHEN TRUE THEN '' ELSE '6,' END,
    CASE WHEN TRUE THEN '' ELSE '7,' END,
    CASE WHEN TRUE THEN '' ELSE '8,' END,
    CASE WHEN TRUE THEN '' ELSE '9,' END,
    CASE WHEN TRUE THEN '' ELSE '10,' END,
    CASE WHEN TRUE THEN '' ELSE '11,' END,
    CASE WHEN TRUE THEN '' ELSE '12,' END,
    CASE WHEN TRUE THEN '' ELSE '13,' END,
    CASE WHEN TRUE THEN '' ELSE '14,' END,
    CASE WHEN TRUE THEN '' ELSE '15,' END,
    CASE WHEN TRUE THEN '' ELSE '16,' END,
    CASE WHEN TRUE THEN '' ELSE '17,' END,
    CASE WHEN TRUE THEN '' ELSE '18,' END,
    CASE
      WHEN (`day` IS NULL OR coalesce(`day` >= '0001-01-01' AND from_days(to_days(`day`)) = date(`day`), FALSE))
      THEN ''
      ELSE '19,'
    END,
    CASE WHEN TRUE THEN '' ELSE '20,' END,
    CASE
      WHEN (`stamp` IS NULL OR coalesce(`stamp` >= '0001-01-01' AND from_days(to_days(`stamp`)) = date(`stamp`), FALSE))
      THEN ''
      ELSE '21,'
    END,
    CASE
      WHEN (`at` IS NULL OR coalesce(`at` >= '0001-01-01' AND from_days(to_days(`at`)) = date(`at`), FALSE))
      THEN ''
      ELSE '22,'
    END,
    CASE WHEN TRUE THEN '' ELSE '23,' END,
    CASE WHEN TRUE THEN '' ELSE '24,' END,
    CASE WHEN TRUE THEN '' ELSE '25,' END,
    CASE WHEN TRUE THEN '' ELSE '26,' END
  ) AS qbcd_untravelled
FROM `shop`.`mixed`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7, t.qbcd_8 AS c8, t.qbcd_9 AS c9, t.qbcd_10 AS c10, t.qbcd_11 AS c11, t.qbcd_12 AS c12, t.qbcd_13 AS c13, t.qbcd_14 AS c14, t.qbcd_15 AS c15, t.qbcd_16 AS c16, t.qbcd_17 AS c17, t.qbcd_18 AS c18, t.qbcd_19 AS c19, t.qbcd_20 AS c20, t.qbcd_21 AS c21, t.qbcd_22 AS c22, t.qbcd_23 AS c23, t.qbcd_24 AS c24, t.qbcd_25 AS c25, t.qbcd_26 AS c26, t.qbcd_untravelled AS untravelled
FROM qbcd_relation AS t WHERE TRUE

-- id_rcs: checksums of 128 bits
WITH qbcd_relation AS (SELECT r.* FROM (SELECT
  `region`,
  `code`,
  `level`,
  `weight`,
  `grade`,
  cast(cast((cast(conv(substr(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 1, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) * 9223372036854775808 + (cast(conv(substr(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 17, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) AS qbcd_digest
FROM `shop`.`mixed`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- id_rcs by hash: checksums, connection 1
SELECT cast(elt(1 + interval(g.qbcd_bucket, 1, 2, 4, 6), 7, 8, 4, 5, 6) AS SIGNED) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash ^ 9223372036854775808) >> 61) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(`weight` + 0e0) USING binary)), ':', convert(concat(`weight` + 0e0) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(`weight` + 0e0), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(`single` + 0e0), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`mixed`
WHERE
  TRUE) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1
