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
-- the text of: ts: sweep of a range

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
-- the text of: ts, under Spark: key sums

-- ts of two columns, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts of two columns, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts, under Spark: key sums

-- ts in a zone, of seconds, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts in a zone, of seconds, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts: sweep of a range

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
-- the text of: ts, under Spark: key sums

-- ts by a counter, under Spark: keys
-- the text of: ts, under Spark: keys

-- ts by a counter, under Spark: images
-- the text of: ts, under Spark: images

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
-- the text of: ts: sweep of a range

-- tdi: index
-- the text of: ts: index

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
-- the text of: tdi: window

-- atdi: audit
-- the text of: tdi: audit

-- atdi: window alone
-- the text of: tdi: window alone

-- atdi: sweep of a range
-- the text of: ts: sweep of a range

-- atdi: index
CREATE INDEX IF NOT EXISTS `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`, `gone`, `order_id`, `status`, `created at`, `written`)

-- atdi: view
-- the text of: tdi: view

-- atdi: note
-- the text of: tdi: note

-- atdi: purge
-- the text of: tdi: purge

-- atdi: told
-- the text of: tdi: told

-- atdi: anything to purge
-- the text of: tdi: anything to purge

-- atdi: purged
-- the text of: tdi: purged
