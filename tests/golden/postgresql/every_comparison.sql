-- mds: ddl 1
CREATE TABLE IF NOT EXISTS "qbcd"."replica_every_comparison_10907314" (
  "region" text COLLATE public.ci,
  "code" public.citext,
  "level" numeric,
  "weight" double precision,
  "yes" boolean,
  "small" smallint,
  "pad" character(5),
  "letter" "char",
  "raw" bytea,
  "day" date,
  "clock" time without time zone,
  "stamp" timestamp(3) without time zone,
  "who" uuid,
  "host" inet,
  "mood" public.mood,
  "place" regclass,
  "doc" jsonb,
  "pair" public.pair,
  "numbers" integer[],
  "prices" numeric(10,2)[],
  "blobs" bytea[],
  PRIMARY KEY ("region", "code", "level", "weight")
)

-- mds: ddl 2
CREATE TABLE IF NOT EXISTS "qbcd"."outbox_every_comparison_10907314" (
  "epoch" bigint,
  "batch_seq" bigint,
  "ordinal" bigint,
  "op" varchar(1),
  "reason" varchar(40),
  "pair_id" varchar(64),
  "changed" text,
  "digest" bigint,
  "b_region" text COLLATE public.ci,
  "a_region" text COLLATE public.ci,
  "b_code" public.citext,
  "a_code" public.citext,
  "b_level" numeric,
  "a_level" numeric,
  "b_weight" double precision,
  "a_weight" double precision,
  "b_yes" boolean,
  "a_yes" boolean,
  "b_small" smallint,
  "a_small" smallint,
  "b_pad" character(5),
  "a_pad" character(5),
  "b_letter" "char",
  "a_letter" "char",
  "b_raw" bytea,
  "a_raw" bytea,
  "b_day" date,
  "a_day" date,
  "b_clock" time without time zone,
  "a_clock" time without time zone,
  "b_stamp" timestamp(3) without time zone,
  "a_stamp" timestamp(3) without time zone,
  "b_who" uuid,
  "a_who" uuid,
  "b_host" inet,
  "a_host" inet,
  "b_mood" public.mood,
  "a_mood" public.mood,
  "b_place" regclass,
  "a_place" regclass,
  "b_doc" jsonb,
  "a_doc" jsonb,
  "b_pair" public.pair,
  "a_pair" public.pair,
  "b_numbers" integer[],
  "a_numbers" integer[],
  "b_prices" numeric(10,2)[],
  "a_prices" numeric(10,2)[],
  "b_blobs" bytea[],
  "a_blobs" bytea[],
  PRIMARY KEY ("epoch", "batch_seq", "ordinal")
)

-- mds: changes
--   batch_seq = 2
--   epoch = 5
--   first = 0
INSERT INTO "qbcd"."outbox_every_comparison_10907314" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_region",
  "b_code",
  "b_level",
  "b_weight",
  "b_yes",
  "b_small",
  "b_pad",
  "b_letter",
  "b_raw",
  "b_day",
  "b_clock",
  "b_stamp",
  "b_who",
  "b_host",
  "b_mood",
  "b_place",
  "b_doc",
  "b_pair",
  "b_numbers",
  "b_prices",
  "b_blobs",
  "a_region",
  "a_code",
  "a_level",
  "a_weight",
  "a_yes",
  "a_small",
  "a_pad",
  "a_letter",
  "a_raw",
  "a_day",
  "a_clock",
  "a_stamp",
  "a_who",
  "a_host",
  "a_mood",
  "a_place",
  "a_doc",
  "a_pair",
  "a_numbers",
  "a_prices",
  "a_blobs"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_region",
  d."b_code",
  d."b_level",
  d."b_weight",
  d."b_yes",
  d."b_small",
  d."b_pad",
  d."b_letter",
  d."b_raw",
  d."b_day",
  d."b_clock",
  d."b_stamp",
  d."b_who",
  d."b_host",
  d."b_mood",
  d."b_place",
  d."b_doc",
  d."b_pair",
  d."b_numbers",
  d."b_prices",
  d."b_blobs",
  d."a_region",
  d."a_code",
  d."a_level",
  d."a_weight",
  d."a_yes",
  d."a_small",
  d."a_pad",
  d."a_letter",
  d."a_raw",
  d."a_day",
  d."a_clock",
  d."a_stamp",
  d."a_who",
  d."a_host",
  d."a_mood",
  d."a_place",
  d."a_doc",
  d."a_pair",
  d."a_numbers",
  d."a_prices",
  d."a_blobs"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."region" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."region" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."region" COLLATE "C" IS DISTINCT FROM r."region" COLLATE "C"
        THEN '0,'
        ELSE ''
      END || CASE
        WHEN CAST(t."code" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."code" AS text) COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."yes" IS DISTINCT FROM r."yes" THEN '4,' ELSE '' END || CASE WHEN t."small" IS DISTINCT FROM r."small" THEN '5,' ELSE '' END || CASE
        WHEN BPCHARSEND(t."pad") IS DISTINCT FROM BPCHARSEND(r."pad")
        THEN '6,'
        ELSE ''
      END || CASE
        WHEN CHARSEND(t."letter") IS DISTINCT FROM CHARSEND(r."letter")
        THEN '7,'
        ELSE ''
      END || CASE WHEN t."raw" IS DISTINCT FROM r."raw" THEN '8,' ELSE '' END || CASE WHEN t."day" IS DISTINCT FROM r."day" THEN '9,' ELSE '' END || CASE WHEN t."clock" IS DISTINCT FROM r."clock" THEN '10,' ELSE '' END || CASE WHEN t."stamp" IS DISTINCT FROM r."stamp" THEN '11,' ELSE '' END || CASE WHEN t."who" IS DISTINCT FROM r."who" THEN '12,' ELSE '' END || CASE WHEN t."host" IS DISTINCT FROM r."host" THEN '13,' ELSE '' END || CASE
        WHEN CAST(t."mood" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."mood" AS text) COLLATE "C"
        THEN '14,'
        ELSE ''
      END || CASE
        WHEN CAST(t."place" AS oid) IS DISTINCT FROM CAST(r."place" AS oid)
        THEN '15,'
        ELSE ''
      END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '16,'
        ELSE ''
      END || CASE
        WHEN CAST(t."pair" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."pair" AS text) COLLATE "C"
        THEN '17,'
        ELSE ''
      END || CASE
        WHEN CAST(t."numbers" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."numbers" AS text) COLLATE "C"
        THEN '18,'
        ELSE ''
      END || CASE
        WHEN CAST(t."prices" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."prices" AS text) COLLATE "C"
        THEN '19,'
        ELSE ''
      END || CASE
        WHEN CAST(t."blobs" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."blobs" AS text) COLLATE "C"
        THEN '20,'
        ELSE ''
      END)
    END AS changed,
    r."region" AS "b_region",
    r."code" AS "b_code",
    r."level" AS "b_level",
    r."weight" AS "b_weight",
    r."yes" AS "b_yes",
    r."small" AS "b_small",
    r."pad" AS "b_pad",
    r."letter" AS "b_letter",
    r."raw" AS "b_raw",
    r."day" AS "b_day",
    r."clock" AS "b_clock",
    r."stamp" AS "b_stamp",
    r."who" AS "b_who",
    r."host" AS "b_host",
    r."mood" AS "b_mood",
    r."place" AS "b_place",
    r."doc" AS "b_doc",
    r."pair" AS "b_pair",
    r."numbers" AS "b_numbers",
    r."prices" AS "b_prices",
    r."blobs" AS "b_blobs",
    t."region" AS "a_region",
    t."code" AS "a_code",
    t."level" AS "a_level",
    t."weight" AS "a_weight",
    t."yes" AS "a_yes",
    t."small" AS "a_small",
    t."pad" AS "a_pad",
    t."letter" AS "a_letter",
    t."raw" AS "a_raw",
    t."day" AS "a_day",
    t."clock" AS "a_clock",
    t."stamp" AS "a_stamp",
    t."who" AS "a_who",
    t."host" AS "a_host",
    t."mood" AS "a_mood",
    t."place" AS "a_place",
    t."doc" AS "a_doc",
    t."pair" AS "a_pair",
    t."numbers" AS "a_numbers",
    t."prices" AS "a_prices",
    t."blobs" AS "a_blobs"
  FROM (
    SELECT
      1 AS qbcd_present,
      "region",
      "code",
      "level",
      "weight",
      "yes",
      "small",
      "pad",
      "letter",
      "raw",
      "day",
      "clock",
      "stamp",
      "who",
      "host",
      "mood",
      "place",
      "doc",
      "pair",
      "numbers",
      "prices",
      "blobs"
    FROM "public"."mixed"
    WHERE
      TRUE
  ) AS t
  FULL JOIN "qbcd"."replica_every_comparison_10907314" AS r
    ON t."region" = r."region"
    AND t."code" OPERATOR(public.=) r."code"
    AND t."level" = r."level"
    AND t."weight" = r."weight"
  WHERE
    t.qbcd_present IS NULL
    OR r."region" IS NULL
    OR t."region" COLLATE "C" IS DISTINCT FROM r."region" COLLATE "C"
    OR CAST(t."code" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."code" AS text) COLLATE "C"
    OR t."yes" IS DISTINCT FROM r."yes"
    OR t."small" IS DISTINCT FROM r."small"
    OR BPCHARSEND(t."pad") IS DISTINCT FROM BPCHARSEND(r."pad")
    OR CHARSEND(t."letter") IS DISTINCT FROM CHARSEND(r."letter")
    OR t."raw" IS DISTINCT FROM r."raw"
    OR t."day" IS DISTINCT FROM r."day"
    OR t."clock" IS DISTINCT FROM r."clock"
    OR t."stamp" IS DISTINCT FROM r."stamp"
    OR t."who" IS DISTINCT FROM r."who"
    OR t."host" IS DISTINCT FROM r."host"
    OR CAST(t."mood" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."mood" AS text) COLLATE "C"
    OR CAST(t."place" AS oid) IS DISTINCT FROM CAST(r."place" AS oid)
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
    OR CAST(t."pair" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."pair" AS text) COLLATE "C"
    OR CAST(t."numbers" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."numbers" AS text) COLLATE "C"
    OR CAST(t."prices" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."prices" AS text) COLLATE "C"
    OR CAST(t."blobs" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."blobs" AS text) COLLATE "C"
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
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(o."a_day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE), TRUE)
      )
      AND COALESCE(o."b_day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE), TRUE)
      THEN 0
      ELSE 1
    END
  ) AS c9,
  MAX(CASE WHEN (
    o.op = 'd' OR TRUE
  ) AND TRUE THEN 0 ELSE 1 END) AS c10,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          o."a_stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
          TRUE
        )
      )
      AND COALESCE(
        o."b_stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
        TRUE
      )
      THEN 0
      ELSE 1
    END
  ) AS c11,
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
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          ARRAY_NDIMS(o."a_numbers") = 1 AND ARRAY_LOWER(o."a_numbers", 1) = 1,
          ARRAY_NDIMS(o."a_numbers") IS NULL
        )
      )
      AND COALESCE(
        ARRAY_NDIMS(o."b_numbers") = 1 AND ARRAY_LOWER(o."b_numbers", 1) = 1,
        ARRAY_NDIMS(o."b_numbers") IS NULL
      )
      THEN 0
      ELSE 1
    END
  ) AS c18,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR (
          COALESCE(
            ARRAY_NDIMS(o."a_prices") = 1 AND ARRAY_LOWER(o."a_prices", 1) = 1,
            ARRAY_NDIMS(o."a_prices") IS NULL
          )
          AND NOT EXISTS(
            SELECT
              1
            FROM UNNEST(o."a_prices") AS e(x)
            WHERE
              NOT COALESCE(e.x <> CAST('NaN' AS DECIMAL), TRUE)
          )
        )
      )
      AND (
        COALESCE(
          ARRAY_NDIMS(o."b_prices") = 1 AND ARRAY_LOWER(o."b_prices", 1) = 1,
          ARRAY_NDIMS(o."b_prices") IS NULL
        )
        AND NOT EXISTS(
          SELECT
            1
          FROM UNNEST(o."b_prices") AS e(x)
          WHERE
            NOT COALESCE(e.x <> CAST('NaN' AS DECIMAL), TRUE)
        )
      )
      THEN 0
      ELSE 1
    END
  ) AS c19,
  MAX(
    CASE
      WHEN (
        o.op = 'd'
        OR COALESCE(
          ARRAY_NDIMS(o."a_blobs") = 1 AND ARRAY_LOWER(o."a_blobs", 1) = 1,
          ARRAY_NDIMS(o."a_blobs") IS NULL
        )
      )
      AND COALESCE(
        ARRAY_NDIMS(o."b_blobs") = 1 AND ARRAY_LOWER(o."b_blobs", 1) = 1,
        ARRAY_NDIMS(o."b_blobs") IS NULL
      )
      THEN 0
      ELSE 1
    END
  ) AS c20
FROM "qbcd"."outbox_every_comparison_10907314" AS o
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
  CAST(o."b_region" AS text) AS b_0,
  CAST(o."b_code" AS text) AS b_1,
  CAST(o."b_level" AS text) AS b_2,
  o."b_weight" AS b_3,
  o."b_yes" AS b_4,
  CAST(o."b_small" AS smallint) AS b_5,
  CONVERT_FROM(BPCHARSEND(o."b_pad"), 'UTF8') AS b_6,
  CAST(o."b_letter" AS text) AS b_7,
  o."b_raw" AS b_8,
  CAST(o."b_day" AS text) AS b_9,
  TO_CHAR(o."b_clock", 'HH24:MI:SS.US') AS b_10,
  CASE
    WHEN o."b_stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR(o."b_stamp", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST(o."b_stamp" AS TEXT)
  END AS b_11,
  CAST(o."b_who" AS text) AS b_12,
  CAST(o."b_host" AS text) AS b_13,
  CAST(o."b_mood" AS text) AS b_14,
  CAST(o."b_place" AS text) AS b_15,
  CAST(o."b_doc" AS text) AS b_16,
  CAST(o."b_pair" AS text) AS b_17,
  CASE
    WHEN o."b_numbers" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."b_numbers") = 1 AND ARRAY_LOWER(o."b_numbers", 1) = 1,
      ARRAY_NDIMS(o."b_numbers") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(STRING_AGG(COALESCE(CAST(e.x AS text), 'null'), ','
        ORDER BY
          e.n), '') || ']'
      FROM UNNEST(o."b_numbers") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."b_numbers" AS TEXT)) AS TEXT)
  END AS b_18,
  CASE
    WHEN o."b_prices" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."b_prices") = 1 AND ARRAY_LOWER(o."b_prices", 1) = 1,
      ARRAY_NDIMS(o."b_prices") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(COALESCE(CAST(TO_JSON(CAST(e.x AS text)) AS TEXT), 'null'), ','
          ORDER BY
            e.n),
          ''
        ) || ']'
      FROM UNNEST(o."b_prices") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."b_prices" AS TEXT)) AS TEXT)
  END AS b_19,
  CASE
    WHEN o."b_blobs" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."b_blobs") = 1 AND ARRAY_LOWER(o."b_blobs", 1) = 1,
      ARRAY_NDIMS(o."b_blobs") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(
            
              COALESCE(CAST(TO_JSON(REPLACE(ENCODE(e.x, 'base64'), CHR(  10), '')) AS TEXT), 'null'),
              ','
            
            ORDER BY
              e.n
          ),
          ''
        ) || ']'
      FROM UNNEST(o."b_blobs") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."b_blobs" AS TEXT)) AS TEXT)
  END AS b_20,
  CAST(o."a_region" AS text) AS a_0,
  CAST(o."a_code" AS text) AS a_1,
  CAST(o."a_level" AS text) AS a_2,
  o."a_weight" AS a_3,
  o."a_yes" AS a_4,
  CAST(o."a_small" AS smallint) AS a_5,
  CONVERT_FROM(BPCHARSEND(o."a_pad"), 'UTF8') AS a_6,
  CAST(o."a_letter" AS text) AS a_7,
  o."a_raw" AS a_8,
  CAST(o."a_day" AS text) AS a_9,
  TO_CHAR(o."a_clock", 'HH24:MI:SS.US') AS a_10,
  CASE
    WHEN o."a_stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR(o."a_stamp", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST(o."a_stamp" AS TEXT)
  END AS a_11,
  CAST(o."a_who" AS text) AS a_12,
  CAST(o."a_host" AS text) AS a_13,
  CAST(o."a_mood" AS text) AS a_14,
  CAST(o."a_place" AS text) AS a_15,
  CAST(o."a_doc" AS text) AS a_16,
  CAST(o."a_pair" AS text) AS a_17,
  CASE
    WHEN o."a_numbers" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."a_numbers") = 1 AND ARRAY_LOWER(o."a_numbers", 1) = 1,
      ARRAY_NDIMS(o."a_numbers") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(STRING_AGG(COALESCE(CAST(e.x AS text), 'null'), ','
        ORDER BY
          e.n), '') || ']'
      FROM UNNEST(o."a_numbers") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."a_numbers" AS TEXT)) AS TEXT)
  END AS a_18,
  CASE
    WHEN o."a_prices" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."a_prices") = 1 AND ARRAY_LOWER(o."a_prices", 1) = 1,
      ARRAY_NDIMS(o."a_prices") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(COALESCE(CAST(TO_JSON(CAST(e.x AS text)) AS TEXT), 'null'), ','
          ORDER BY
            e.n),
          ''
        ) || ']'
      FROM UNNEST(o."a_prices") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."a_prices" AS TEXT)) AS TEXT)
  END AS a_19,
  CASE
    WHEN o."a_blobs" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS(o."a_blobs") = 1 AND ARRAY_LOWER(o."a_blobs", 1) = 1,
      ARRAY_NDIMS(o."a_blobs") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(
            
              COALESCE(CAST(TO_JSON(REPLACE(ENCODE(e.x, 'base64'), CHR(  10), '')) AS TEXT), 'null'),
              ','
            
            ORDER BY
              e.n
          ),
          ''
        ) || ']'
      FROM UNNEST(o."a_blobs") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST(o."a_blobs" AS TEXT)) AS TEXT)
  END AS a_20
FROM "qbcd"."outbox_every_comparison_10907314" AS o
WHERE
  o.epoch = 5 AND o.batch_seq = 2

-- id: changes of range 2
--   batch_seq = 0
--   epoch = 5
--   first = 7
INSERT INTO "qbcd"."outbox_every_comparison_10907314" (
  epoch,
  batch_seq,
  ordinal,
  op,
  changed,
  "b_region",
  "b_code",
  "b_level",
  "b_weight",
  "b_yes",
  "b_small",
  "b_pad",
  "b_letter",
  "b_raw",
  "b_day",
  "b_clock",
  "b_stamp",
  "b_who",
  "b_host",
  "b_mood",
  "b_place",
  "b_doc",
  "b_pair",
  "b_numbers",
  "b_prices",
  "b_blobs",
  "a_region",
  "a_code",
  "a_level",
  "a_weight",
  "a_yes",
  "a_small",
  "a_pad",
  "a_letter",
  "a_raw",
  "a_day",
  "a_clock",
  "a_stamp",
  "a_who",
  "a_host",
  "a_mood",
  "a_place",
  "a_doc",
  "a_pair",
  "a_numbers",
  "a_prices",
  "a_blobs"
)
SELECT
  %(epoch)s,
  %(batch_seq)s,
  %(first)s + ROW_NUMBER() OVER (ORDER BY d.op_rank NULLS FIRST) - 1,
  CASE d.op_rank WHEN 1 THEN 'd' WHEN 2 THEN 'u' ELSE 'c' END,
  d.changed,
  d."b_region",
  d."b_code",
  d."b_level",
  d."b_weight",
  d."b_yes",
  d."b_small",
  d."b_pad",
  d."b_letter",
  d."b_raw",
  d."b_day",
  d."b_clock",
  d."b_stamp",
  d."b_who",
  d."b_host",
  d."b_mood",
  d."b_place",
  d."b_doc",
  d."b_pair",
  d."b_numbers",
  d."b_prices",
  d."b_blobs",
  d."a_region",
  d."a_code",
  d."a_level",
  d."a_weight",
  d."a_yes",
  d."a_small",
  d."a_pad",
  d."a_letter",
  d."a_raw",
  d."a_day",
  d."a_clock",
  d."a_stamp",
  d."a_who",
  d."a_host",
  d."a_mood",
  d."a_place",
  d."a_doc",
  d."a_pair",
  d."a_numbers",
  d."a_prices",
  d."a_blobs"
FROM (
  SELECT
    CASE WHEN t.qbcd_present IS NULL THEN 1 WHEN r."region" IS NULL THEN 3 ELSE 2 END AS op_rank,
    CASE
      WHEN t.qbcd_present IS NULL OR r."region" IS NULL
      THEN NULL
      ELSE TRIM(BOTH ',' FROM CASE
        WHEN t."region" COLLATE "C" IS DISTINCT FROM r."region" COLLATE "C"
        THEN '0,'
        ELSE ''
      END || CASE
        WHEN CAST(t."code" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."code" AS text) COLLATE "C"
        THEN '1,'
        ELSE ''
      END || CASE WHEN t."yes" IS DISTINCT FROM r."yes" THEN '4,' ELSE '' END || CASE WHEN t."small" IS DISTINCT FROM r."small" THEN '5,' ELSE '' END || CASE
        WHEN BPCHARSEND(t."pad") IS DISTINCT FROM BPCHARSEND(r."pad")
        THEN '6,'
        ELSE ''
      END || CASE
        WHEN CHARSEND(t."letter") IS DISTINCT FROM CHARSEND(r."letter")
        THEN '7,'
        ELSE ''
      END || CASE WHEN t."raw" IS DISTINCT FROM r."raw" THEN '8,' ELSE '' END || CASE WHEN t."day" IS DISTINCT FROM r."day" THEN '9,' ELSE '' END || CASE WHEN t."clock" IS DISTINCT FROM r."clock" THEN '10,' ELSE '' END || CASE WHEN t."stamp" IS DISTINCT FROM r."stamp" THEN '11,' ELSE '' END || CASE WHEN t."who" IS DISTINCT FROM r."who" THEN '12,' ELSE '' END || CASE WHEN t."host" IS DISTINCT FROM r."host" THEN '13,' ELSE '' END || CASE
        WHEN CAST(t."mood" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."mood" AS text) COLLATE "C"
        THEN '14,'
        ELSE ''
      END || CASE
        WHEN CAST(t."place" AS oid) IS DISTINCT FROM CAST(r."place" AS oid)
        THEN '15,'
        ELSE ''
      END || CASE
        WHEN CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
        THEN '16,'
        ELSE ''
      END || CASE
        WHEN CAST(t."pair" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."pair" AS text) COLLATE "C"
        THEN '17,'
        ELSE ''
      END || CASE
        WHEN CAST(t."numbers" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."numbers" AS text) COLLATE "C"
        THEN '18,'
        ELSE ''
      END || CASE
        WHEN CAST(t."prices" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."prices" AS text) COLLATE "C"
        THEN '19,'
        ELSE ''
      END || CASE
        WHEN CAST(t."blobs" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."blobs" AS text) COLLATE "C"
        THEN '20,'
        ELSE ''
      END)
    END AS changed,
    r."region" AS "b_region",
    r."code" AS "b_code",
    r."level" AS "b_level",
    r."weight" AS "b_weight",
    r."yes" AS "b_yes",
    r."small" AS "b_small",
    r."pad" AS "b_pad",
    r."letter" AS "b_letter",
    r."raw" AS "b_raw",
    r."day" AS "b_day",
    r."clock" AS "b_clock",
    r."stamp" AS "b_stamp",
    r."who" AS "b_who",
    r."host" AS "b_host",
    r."mood" AS "b_mood",
    r."place" AS "b_place",
    r."doc" AS "b_doc",
    r."pair" AS "b_pair",
    r."numbers" AS "b_numbers",
    r."prices" AS "b_prices",
    r."blobs" AS "b_blobs",
    t."region" AS "a_region",
    t."code" AS "a_code",
    t."level" AS "a_level",
    t."weight" AS "a_weight",
    t."yes" AS "a_yes",
    t."small" AS "a_small",
    t."pad" AS "a_pad",
    t."letter" AS "a_letter",
    t."raw" AS "a_raw",
    t."day" AS "a_day",
    t."clock" AS "a_clock",
    t."stamp" AS "a_stamp",
    t."who" AS "a_who",
    t."host" AS "a_host",
    t."mood" AS "a_mood",
    t."place" AS "a_place",
    t."doc" AS "a_doc",
    t."pair" AS "a_pair",
    t."numbers" AS "a_numbers",
    t."prices" AS "a_prices",
    t."blobs" AS "a_blobs"
  FROM (
    SELECT
      1 AS qbcd_present,
      "region",
      "code",
      "level",
      "weight",
      "yes",
      "small",
      "pad",
      "letter",
      "raw",
      "day",
      "clock",
      "stamp",
      "who",
      "host",
      "mood",
      "place",
      "doc",
      "pair",
      "numbers",
      "prices",
      "blobs"
    FROM "public"."mixed"
    WHERE
      TRUE AND (("region" >= CAST('it''s' AS text) COLLATE public.ci AND (("region" > CAST('it''s' AS text) COLLATE public.ci) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.>) CAST('A' AS public.citext)) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('A' AS public.citext) AND "level" > CAST('1.0' AS numeric)) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('A' AS public.citext) AND "level" = CAST('1.0' AS numeric) AND "weight" >= CAST('-0' AS double precision)))) AND ("region" <= CAST('10%% \ :x' AS text) COLLATE public.ci AND (("region" < CAST('10%% \ :x' AS text) COLLATE public.ci) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.<) CAST('b?' AS public.citext)) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('b?' AS public.citext) AND "level" < CAST('NaN' AS numeric)) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('b?' AS public.citext) AND "level" = CAST('NaN' AS numeric) AND "weight" < CAST('Infinity' AS double precision)))))
  ) AS t
  FULL JOIN (
    SELECT
      "region",
      "code",
      "level",
      "weight",
      "yes",
      "small",
      "pad",
      "letter",
      "raw",
      "day",
      "clock",
      "stamp",
      "who",
      "host",
      "mood",
      "place",
      "doc",
      "pair",
      "numbers",
      "prices",
      "blobs"
    FROM "qbcd"."replica_every_comparison_10907314"
    WHERE
      (("region" >= CAST('it''s' AS text) COLLATE public.ci AND (("region" > CAST('it''s' AS text) COLLATE public.ci) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.>) CAST('A' AS public.citext)) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('A' AS public.citext) AND "level" > CAST('1.0' AS numeric)) OR ("region" = CAST('it''s' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('A' AS public.citext) AND "level" = CAST('1.0' AS numeric) AND "weight" >= CAST('-0' AS double precision)))) AND ("region" <= CAST('10%% \ :x' AS text) COLLATE public.ci AND (("region" < CAST('10%% \ :x' AS text) COLLATE public.ci) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.<) CAST('b?' AS public.citext)) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('b?' AS public.citext) AND "level" < CAST('NaN' AS numeric)) OR ("region" = CAST('10%% \ :x' AS text) COLLATE public.ci AND "code" OPERATOR(public.=) CAST('b?' AS public.citext) AND "level" = CAST('NaN' AS numeric) AND "weight" < CAST('Infinity' AS double precision)))))
  ) AS r
    ON t."region" = r."region"
    AND t."code" OPERATOR(public.=) r."code"
    AND t."level" = r."level"
    AND t."weight" = r."weight"
  WHERE
    t.qbcd_present IS NULL
    OR r."region" IS NULL
    OR t."region" COLLATE "C" IS DISTINCT FROM r."region" COLLATE "C"
    OR CAST(t."code" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."code" AS text) COLLATE "C"
    OR t."yes" IS DISTINCT FROM r."yes"
    OR t."small" IS DISTINCT FROM r."small"
    OR BPCHARSEND(t."pad") IS DISTINCT FROM BPCHARSEND(r."pad")
    OR CHARSEND(t."letter") IS DISTINCT FROM CHARSEND(r."letter")
    OR t."raw" IS DISTINCT FROM r."raw"
    OR t."day" IS DISTINCT FROM r."day"
    OR t."clock" IS DISTINCT FROM r."clock"
    OR t."stamp" IS DISTINCT FROM r."stamp"
    OR t."who" IS DISTINCT FROM r."who"
    OR t."host" IS DISTINCT FROM r."host"
    OR CAST(t."mood" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."mood" AS text) COLLATE "C"
    OR CAST(t."place" AS oid) IS DISTINCT FROM CAST(r."place" AS oid)
    OR CAST(t."doc" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."doc" AS text) COLLATE "C"
    OR CAST(t."pair" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."pair" AS text) COLLATE "C"
    OR CAST(t."numbers" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."numbers" AS text) COLLATE "C"
    OR CAST(t."prices" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."prices" AS text) COLLATE "C"
    OR CAST(t."blobs" AS text) COLLATE "C" IS DISTINCT FROM CAST(r."blobs" AS text) COLLATE "C"
) AS d

-- id_rcs: bounds
SELECT CAST(o."region" AS text) AS k0, CAST(o."code" AS text) AS k1, CAST(o."level" AS text) AS k2, CAST(o."weight" AS text) AS k3
FROM (SELECT t."region", t."code", t."level", t."weight", row_number() OVER (ORDER BY t."region", t."code", t."level", t."weight") AS qbcd_row
FROM (SELECT
  "region",
  "code",
  "level",
  "weight"
FROM "public"."mixed"
WHERE
  TRUE) AS t) AS o
WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, 2000) = 0
ORDER BY o.qbcd_row

-- id_rcs: checksums
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('it''s' AS text) COLLATE public.ci, CAST('A' AS public.citext), CAST('1.0' AS numeric), CAST('-0' AS double precision), CAST('10% \ :x' AS text) COLLATE public.ci, CAST('b?' AS public.citext), CAST('NaN' AS numeric), CAST('Infinity' AS double precision))
) AS r(range_id, lo0, lo1, lo2, lo3, hi0, hi1, hi2, hi3)
CROSS JOIN LATERAL (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE (t."region" >= r.lo0 AND ((t."region" > r.lo0) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.>) r.lo1) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.=) r.lo1 AND t."level" > r.lo2) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.=) r.lo1 AND t."level" = r.lo2 AND t."weight" >= r.lo3))) AND (t."region" <= r.hi0 AND ((t."region" < r.hi0) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.<) r.hi1) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.=) r.hi1 AND t."level" < r.hi2) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.=) r.hi1 AND t."level" = r.hi2 AND t."weight" < r.hi3))) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE (t."region" <= CAST('it''s' AS text) COLLATE public.ci AND ((t."region" < CAST('it''s' AS text) COLLATE public.ci) OR (t."region" = CAST('it''s' AS text) COLLATE public.ci AND t."code" OPERATOR(public.<) CAST('A' AS public.citext)) OR (t."region" = CAST('it''s' AS text) COLLATE public.ci AND t."code" OPERATOR(public.=) CAST('A' AS public.citext) AND t."level" < CAST('1.0' AS numeric)) OR (t."region" = CAST('it''s' AS text) COLLATE public.ci AND t."code" OPERATOR(public.=) CAST('A' AS public.citext) AND t."level" = CAST('1.0' AS numeric) AND t."weight" < CAST('-0' AS double precision)))) OFFSET 0) AS t) AS q
UNION ALL
SELECT CAST(3 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE (t."region" >= CAST('10% \ :x' AS text) COLLATE public.ci AND ((t."region" > CAST('10% \ :x' AS text) COLLATE public.ci) OR (t."region" = CAST('10% \ :x' AS text) COLLATE public.ci AND t."code" OPERATOR(public.>) CAST('b?' AS public.citext)) OR (t."region" = CAST('10% \ :x' AS text) COLLATE public.ci AND t."code" OPERATOR(public.=) CAST('b?' AS public.citext) AND t."level" > CAST('NaN' AS numeric)) OR (t."region" = CAST('10% \ :x' AS text) COLLATE public.ci AND t."code" OPERATOR(public.=) CAST('b?' AS public.citext) AND t."level" = CAST('NaN' AS numeric) AND t."weight" >= CAST('Infinity' AS double precision)))) OFFSET 0) AS t) AS q

-- id_rcs: images
SELECT r.range_id, q.* FROM (VALUES
(CAST(2 AS BIGINT), CAST('it''s' AS text) COLLATE public.ci, CAST('A' AS public.citext), CAST('1.0' AS numeric), CAST('-0' AS double precision), CAST('10% \ :x' AS text) COLLATE public.ci, CAST('b?' AS public.citext), CAST('NaN' AS numeric), CAST('Infinity' AS double precision))
) AS r(range_id, lo0, lo1, lo2, lo3, hi0, hi1, hi2, hi3)
CROSS JOIN LATERAL (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7, t.qbcd_8 AS c8, t.qbcd_9 AS c9, t.qbcd_10 AS c10, t.qbcd_11 AS c11, t.qbcd_12 AS c12, t.qbcd_13 AS c13, t.qbcd_14 AS c14, t.qbcd_15 AS c15, t.qbcd_16 AS c16, t.qbcd_17 AS c17, t.qbcd_18 AS c18, t.qbcd_19 AS c19, t.qbcd_20 AS c20 FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  RECORD_SEND(
    ROW(
      INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 4417276706812531889)) || INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 2971215073598465231)),
      TEXTSEND(LOWER(CAST("code" AS text) COLLATE "default")),
      NUMERIC_SEND(TRIM_SCALE("level")),
      CASE
        WHEN "weight" = CAST('NaN' AS DOUBLE PRECISION)
        THEN FLOAT8SEND(CAST('NaN' AS DOUBLE PRECISION))
        ELSE FLOAT8SEND("weight" + CAST(0 AS DOUBLE PRECISION))
      END
    )
  ) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("region" AS text) AS qbcd_0,
  CAST("code" AS text) AS qbcd_1,
  CAST("level" AS text) AS qbcd_2,
  "weight" AS qbcd_3,
  "yes" AS qbcd_4,
  CAST("small" AS smallint) AS qbcd_5,
  CONVERT_FROM(BPCHARSEND("pad"), 'UTF8') AS qbcd_6,
  CAST("letter" AS text) AS qbcd_7,
  "raw" AS qbcd_8,
  CAST("day" AS text) AS qbcd_9,
  TO_CHAR("clock", 'HH24:MI:SS.US') AS qbcd_10,
  CASE
    WHEN "stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("stamp", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("stamp" AS TEXT)
  END AS qbcd_11,
  CAST("who" AS text) AS qbcd_12,
  CAST("host" AS text) AS qbcd_13,
  CAST("mood" AS text) AS qbcd_14,
  CAST("place" AS text) AS qbcd_15,
  CAST("doc" AS text) AS qbcd_16,
  CAST("pair" AS text) AS qbcd_17,
  CASE
    WHEN "numbers" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("numbers") = 1 AND ARRAY_LOWER("numbers", 1) = 1,
      ARRAY_NDIMS("numbers") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(STRING_AGG(COALESCE(CAST(e.x AS text), 'null'), ','
        ORDER BY
          e.n), '') || ']'
      FROM UNNEST("numbers") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("numbers" AS TEXT)) AS TEXT)
  END AS qbcd_18,
  CASE
    WHEN "prices" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("prices") = 1 AND ARRAY_LOWER("prices", 1) = 1,
      ARRAY_NDIMS("prices") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(COALESCE(CAST(TO_JSON(CAST(e.x AS text)) AS TEXT), 'null'), ','
          ORDER BY
            e.n),
          ''
        ) || ']'
      FROM UNNEST("prices") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("prices" AS TEXT)) AS TEXT)
  END AS qbcd_19,
  CASE
    WHEN "blobs" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("blobs") = 1 AND ARRAY_LOWER("blobs", 1) = 1,
      ARRAY_NDIMS("blobs") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(
            
              COALESCE(CAST(TO_JSON(REPLACE(ENCODE(e.x, 'base64'), CHR(  10), '')) AS TEXT), 'null'),
              ','
            
            ORDER BY
              e.n
          ),
          ''
        ) || ']'
      FROM UNNEST("blobs") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("blobs" AS TEXT)) AS TEXT)
  END AS qbcd_20
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE (t."region" >= r.lo0 AND ((t."region" > r.lo0) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.>) r.lo1) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.=) r.lo1 AND t."level" > r.lo2) OR (t."region" = r.lo0 AND t."code" OPERATOR(public.=) r.lo1 AND t."level" = r.lo2 AND t."weight" >= r.lo3))) AND (t."region" <= r.hi0 AND ((t."region" < r.hi0) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.<) r.hi1) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.=) r.hi1 AND t."level" < r.hi2) OR (t."region" = r.hi0 AND t."code" OPERATOR(public.=) r.hi1 AND t."level" = r.hi2 AND t."weight" < r.hi3)))) AS q

-- id_rcs: images for typed sinks, as the JDBC driver takes them
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT t.qbcd_key_id AS key_id, t.qbcd_digest AS digest, t.qbcd_0 AS c0, t.qbcd_1 AS c1, t.qbcd_2 AS c2, t.qbcd_3 AS c3, t.qbcd_4 AS c4, t.qbcd_5 AS c5, t.qbcd_6 AS c6, t.qbcd_7 AS c7, t.qbcd_8 AS c8, t.qbcd_9 AS c9, t.qbcd_10 AS c10, t.qbcd_11 AS c11, t.qbcd_12 AS c12, t.qbcd_13 AS c13, t.qbcd_14 AS c14, t.qbcd_15 AS c15, t.qbcd_16 AS c16, t.qbcd_17 AS c17, t.qbcd_18 AS c18, t.qbcd_19 AS c19, t.qbcd_20 AS c20, t.qbcd_untravelled AS untravelled FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  RECORD_SEND(
    ROW(
      INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 4417276706812531889)) || INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 2971215073598465231)),
      TEXTSEND(LOWER(CAST("code" AS text) COLLATE "default")),
      NUMERIC_SEND(TRIM_SCALE("level")),
      CASE
        WHEN "weight" = CAST('NaN' AS DOUBLE PRECISION)
        THEN FLOAT8SEND(CAST('NaN' AS DOUBLE PRECISION))
        ELSE FLOAT8SEND("weight" + CAST(0 AS DOUBLE PRECISION))
      END
    )
  ) AS qbcd_key_id,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest,
  CAST("region" AS text) AS qbcd_0,
  CAST("code" AS text) AS qbcd_1,
  CAST("level" AS text) AS qbcd_2,
  "weight" AS qbcd_3,
  "yes" AS qbcd_4,
  CAST("small" AS smallint) AS qbcd_5,
  CONVERT_FROM(BPCHARSEND("pad"), 'UTF8') AS qbcd_6,
  CAST("letter" AS text) AS qbcd_7,
  "raw" AS qbcd_8,
  CAST("day" AS text) AS qbcd_9,
  TO_CHAR("clock", 'HH24:MI:SS.US') AS qbcd_10,
  CASE
    WHEN "stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP)
    THEN TO_CHAR("stamp", 'YYYY-MM-DD"T"HH24:MI:SS.US')
    ELSE CAST("stamp" AS TEXT)
  END AS qbcd_11,
  CAST("who" AS text) AS qbcd_12,
  CAST("host" AS text) AS qbcd_13,
  CAST("mood" AS text) AS qbcd_14,
  CAST("place" AS text) AS qbcd_15,
  CAST("doc" AS text) AS qbcd_16,
  CAST("pair" AS text) AS qbcd_17,
  CASE
    WHEN "numbers" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("numbers") = 1 AND ARRAY_LOWER("numbers", 1) = 1,
      ARRAY_NDIMS("numbers") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(STRING_AGG(COALESCE(CAST(e.x AS text), 'null'), ','
        ORDER BY
          e.n), '') || ']'
      FROM UNNEST("numbers") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("numbers" AS TEXT)) AS TEXT)
  END AS qbcd_18,
  CASE
    WHEN "prices" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("prices") = 1 AND ARRAY_LOWER("prices", 1) = 1,
      ARRAY_NDIMS("prices") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(COALESCE(CAST(TO_JSON(CAST(e.x AS text)) AS TEXT), 'null'), ','
          ORDER BY
            e.n),
          ''
        ) || ']'
      FROM UNNEST("prices") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("prices" AS TEXT)) AS TEXT)
  END AS qbcd_19,
  CASE
    WHEN "blobs" IS NULL
    THEN NULL
    WHEN COALESCE(
      ARRAY_NDIMS("blobs") = 1 AND ARRAY_LOWER("blobs", 1) = 1,
      ARRAY_NDIMS("blobs") IS NULL
    )
    THEN (
      SELECT
        '[' || COALESCE(
          STRING_AGG(
            
              COALESCE(CAST(TO_JSON(REPLACE(ENCODE(e.x, 'base64'), CHR(  10), '')) AS TEXT), 'null'),
              ','
            
            ORDER BY
              e.n
          ),
          ''
        ) || ']'
      FROM UNNEST("blobs") WITH ORDINALITY AS e(x, n)
    )
    ELSE CAST(TO_JSON(CAST("blobs" AS TEXT)) AS TEXT)
  END AS qbcd_20,
  CASE WHEN TRUE THEN '' ELSE '0,' END || CASE WHEN TRUE THEN '' ELSE '1,' END || CASE WHEN TRUE THEN '' ELSE '2,' END || CASE WHEN TRUE THEN '' ELSE '3,' END || CASE WHEN TRUE THEN '' ELSE '4,' END || CASE WHEN TRUE THEN '' ELSE '5,' END || CASE WHEN TRUE THEN '' ELSE '6,' END || CASE WHEN TRUE THEN '' ELSE '7,' END || CASE WHEN TRUE THEN '' ELSE '8,' END || CASE
    WHEN COALESCE("day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE), TRUE)
    THEN ''
    ELSE '9,'
  END || CASE WHEN TRUE THEN '' ELSE '10,' END || CASE
    WHEN COALESCE(
      "stamp" BETWEEN CAST('0001-01-01 00:00:00' AS TIMESTAMP) AND CAST('9999-12-31 23:59:59.999999' AS TIMESTAMP),
      TRUE
    )
    THEN ''
    ELSE '11,'
  END || CASE WHEN TRUE THEN '' ELSE '12,' END || CASE WHEN TRUE THEN '' ELSE '13,' END || CASE WHEN TRUE THEN '' ELSE '14,' END || CASE WHEN TRUE THEN '' ELSE '15,' END || CASE WHEN TRUE THEN '' ELSE '16,' END || CASE WHEN TRUE THEN '' ELSE '17,' END || CASE
    WHEN COALESCE(
      ARRAY_NDIMS("numbers") = 1 AND ARRAY_LOWER("numbers", 1) = 1,
      ARRAY_NDIMS("numbers") IS NULL
    )
    THEN ''
    ELSE '18,'
  END || CASE
    WHEN (
      COALESCE(
        ARRAY_NDIMS("prices") = 1 AND ARRAY_LOWER("prices", 1) = 1,
        ARRAY_NDIMS("prices") IS NULL
      )
      AND NOT EXISTS(
        SELECT
          1
        FROM UNNEST("prices") AS e(x)
        WHERE
          NOT COALESCE(e.x <> CAST('NaN' AS DECIMAL), TRUE)
      )
    )
    THEN ''
    ELSE '19,'
  END || CASE
    WHEN COALESCE(
      ARRAY_NDIMS("blobs") = 1 AND ARRAY_LOWER("blobs", 1) = 1,
      ARRAY_NDIMS("blobs") IS NULL
    )
    THEN ''
    ELSE '20,'
  END AS qbcd_untravelled
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE TRUE) AS q

-- id_rcs: checksums of 128 bits
SELECT CAST(1 AS BIGINT) AS range_id, q.* FROM (SELECT COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum FROM (SELECT t.* FROM (SELECT
  "region",
  "code",
  "level",
  "weight",
  CAST((
    CAST((
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "region" COLLATE "C",
            CAST("code" AS text) COLLATE "C",
            NUMERIC_SEND(TRIM_SCALE("level")),
            "weight",
            "yes",
            "small",
            BPCHARSEND("pad"),
            CHARSEND("letter"),
            "raw",
            "day",
            TIME_SEND("clock"),
            TIMESTAMP_SEND("stamp"),
            "who",
            "host",
            CAST("mood" AS text) COLLATE "C",
            CAST("place" AS oid),
            CAST("doc" AS text) COLLATE "C",
            CAST("pair" AS text) COLLATE "C",
            CAST("numbers" AS text) COLLATE "C",
            CAST("prices" AS text) COLLATE "C",
            CAST("blobs" AS text) COLLATE "C"
          ),
          7046029254386353131
        ) AS text),
        8650415919381337933
      ) & 9223372036854775807
    ) AS DECIMAL) * 9223372036854775808 + (
      HASHTEXTEXTENDED(
        CAST(HASH_RECORD_EXTENDED(
          ROW(
            "region" COLLATE "C",
            CAST("code" AS text) COLLATE "C",
            NUMERIC_SEND(TRIM_SCALE("level")),
            "weight",
            "yes",
            "small",
            BPCHARSEND("pad"),
            CHARSEND("letter"),
            "raw",
            "day",
            TIME_SEND("clock"),
            TIMESTAMP_SEND("stamp"),
            "who",
            "host",
            CAST("mood" AS text) COLLATE "C",
            CAST("place" AS oid),
            CAST("doc" AS text) COLLATE "C",
            CAST("pair" AS text) COLLATE "C",
            CAST("numbers" AS text) COLLATE "C",
            CAST("prices" AS text) COLLATE "C",
            CAST("blobs" AS text) COLLATE "C"
          ),
          1442695040888963407
        ) AS text),
        6364136223846793005
      ) & 9223372036854775807
    )
  ) AS DECIMAL(38, 0)) AS qbcd_digest
FROM "public"."mixed"
WHERE
  TRUE) AS t WHERE TRUE OFFSET 0) AS t) AS q

-- id_rcs by hash: checksums, connection 1
SELECT CAST(CASE WHEN g.qbcd_bucket < 2 THEN CASE WHEN g.qbcd_bucket < 1 THEN 7 ELSE 8 END ELSE CASE WHEN g.qbcd_bucket < 4 THEN 4 ELSE CASE WHEN g.qbcd_bucket < 6 THEN 5 ELSE 6 END END END AS BIGINT) AS range_id, SUM(g.n) AS n, SUM(g.digests) AS digests, SUM(g.checksum) AS checksum
FROM (SELECT ((t.qbcd_hash >> 61) + 4) AS qbcd_bucket, COUNT(*) AS n, COUNT(t.qbcd_digest) AS digests, COALESCE(SUM(t.qbcd_digest), 0) AS checksum
FROM (SELECT r.* FROM (SELECT
  HASH_RECORD_EXTENDED(
    ROW(
      RECORD_SEND(
        ROW(
          INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 4417276706812531889)) || INT8SEND(HASHTEXTEXTENDED(CAST("region" AS text), 2971215073598465231)),
          TEXTSEND(LOWER(CAST("code" AS text) COLLATE "default")),
          NUMERIC_SEND(TRIM_SCALE("level")),
          CASE
            WHEN "weight" = CAST('NaN' AS DOUBLE PRECISION)
            THEN FLOAT8SEND(CAST('NaN' AS DOUBLE PRECISION))
            ELSE FLOAT8SEND("weight" + CAST(0 AS DOUBLE PRECISION))
          END
        )
      )
    ),
    2862933555777941757
  ) AS qbcd_hash,
  HASHTEXTEXTENDED(
    CAST(HASH_RECORD_EXTENDED(
      ROW(
        "region" COLLATE "C",
        CAST("code" AS text) COLLATE "C",
        NUMERIC_SEND(TRIM_SCALE("level")),
        "weight",
        "yes",
        "small",
        BPCHARSEND("pad"),
        CHARSEND("letter"),
        "raw",
        "day",
        TIME_SEND("clock"),
        TIMESTAMP_SEND("stamp"),
        "who",
        "host",
        CAST("mood" AS text) COLLATE "C",
        CAST("place" AS oid),
        CAST("doc" AS text) COLLATE "C",
        CAST("pair" AS text) COLLATE "C",
        CAST("numbers" AS text) COLLATE "C",
        CAST("prices" AS text) COLLATE "C",
        CAST("blobs" AS text) COLLATE "C"
      ),
      7046029254386353131
    ) AS text),
    8650415919381337933
  ) AS qbcd_digest
FROM "public"."mixed"
WHERE
  TRUE AND ctid < '(50,0)'::tid) AS r OFFSET 0) AS t
GROUP BY 1) AS g
GROUP BY 1
