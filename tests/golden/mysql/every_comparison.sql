-- id_rcs: bounds
SELECT convert(o.`region` USING utf8mb4) AS k0, convert(o.`code` USING utf8mb4) AS k1, cast(o.`level` AS CHAR) AS k2, nullif(concat(json_extract(json_array(o.`weight` + 0e0), '$[0]')), 'null') AS k3, cast(o.qbcd_k4 AS CHAR) AS k4
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
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
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
  concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary)), ':', convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
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
  concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary)), ':', convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)) AS qbcd_key_id,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest,
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
  cast(cast((cast(conv(substr(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 1, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) * 9223372036854775808 + (cast(conv(substr(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 17, 16), 16, 10) AS UNSIGNED) & 9223372036854775807) AS DECIMAL(38, 0)) AS qbcd_digest
FROM `shop`.`mixed`
WHERE
  TRUE) AS r)
SELECT 1 AS range_id, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT t.* FROM qbcd_relation AS t WHERE TRUE LIMIT 18446744073709551615) AS t

-- id_rcs by hash: checksums, connection 1
SELECT cast(elt(1 + interval(g.qbcd_bucket, 1, 2, 4, 6), 7, 8, 4, 5, 6) AS SIGNED) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash ^ 9223372036854775808) >> 61) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  cast(conv(left(sha2(concat(_binary'', length(unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32))), ':', unhex(left(sha2(trim(TRAILING weight_string(concat(left(`region`, 0), ' ')) FROM weight_string(`region`)), 256), 32)), length(unhex(left(sha2(weight_string(`code`), 256), 32))), ':', unhex(left(sha2(weight_string(`code`), 256), 32)), length(convert(`level` USING binary)), ':', convert(`level` USING binary), length(convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary)), ':', convert(concat(json_extract(json_array(`weight` + 0e0), '$[0]')) USING binary), length(convert(cast(`grade` AS UNSIGNED) USING binary)), ':', convert(cast(`grade` AS UNSIGNED) USING binary)), 256), 16), 16, -10) AS SIGNED) AS qbcd_hash,
  cast(conv(left(sha2(concat(_binary'', ifnull(concat(length(`region`), ':', convert(`region` USING binary)), 'N'), ifnull(concat(length(`code`), ':', convert(`code` USING binary)), 'N'), ifnull(`level`, 'N'), ',', ifnull(concat(json_extract(json_array(`weight` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`grade` AS UNSIGNED), 'N'), ',', ifnull(`yes`, 'N'), ',', ifnull(`small`, 'N'), ',', ifnull(`huge`, 'N'), ',', ifnull(concat(json_extract(json_array(`single` + 0e0), '$[0]')), 'N'), ',', ifnull(cast(`few` AS UNSIGNED), 'N'), ',', ifnull(cast(`many` AS UNSIGNED), 'N'), ',', ifnull(`born`, 'N'), ',', ifnull(concat(length(`pad`), ':', convert(`pad` USING binary)), 'N'), ifnull(concat(length(`old`), ':', convert(`old` USING binary)), 'N'), ifnull(sha2(convert(`long` USING binary), 256), 'N'), ifnull(sha2(convert(`doc` USING binary), 256), 'N'), ifnull(sha2(coalesce(nullif(convert(`json` USING binary), ''), exp(length(`json`) + @@max_allowed_packet)), 256), 'N'), ifnull(concat(length(`raw`), ':', `raw`), 'N'), ifnull(sha2(`blob`, 256), 'N'), ifnull(`day`, 'N'), ',', ifnull(`clock`, 'N'), ',', ifnull(`stamp`, 'N'), ',', ifnull(`at`, 'N'), ',', ifnull(cast(`flags` AS UNSIGNED), 'N'), ',', ifnull(concat(`who`), 'N'), ',', ifnull(concat(`host`), 'N'), ',', ifnull(sha2(convert(`place` USING binary), 256), 'N')), 256), 16), 16, -10) AS SIGNED) AS qbcd_digest
FROM `shop`.`mixed`
WHERE
  TRUE) AS r LIMIT 18446744073709551615) AS t
GROUP BY 1) AS g
GROUP BY 1
