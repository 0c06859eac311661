-- ts: index
CREATE INDEX `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`)

-- ts of two columns: index
CREATE INDEX `ix_stamped_ca2fe806` ON `shop`.`stamped` (`created at`)

-- ts in a zone, of seconds: index
CREATE INDEX `ix_stamped_ca2fe806` ON `shop`.`stamped` (`written`)

-- ts by a counter: index
CREATE INDEX `ix_stamped_ca2fe806` ON `shop`.`stamped` (`order_id`)

-- tdi: index
-- the text of: ts: index

-- atdi: index
CREATE INDEX `ix_stamped_ca2fe806` ON `shop`.`stamped` (`updated_at`, `gone`, `order_id`, `status`, `created at`, `written`)
