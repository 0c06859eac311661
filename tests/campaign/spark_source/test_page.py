"""The recipes of docs/how-to/use-from-spark.md, run unchanged and in their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from tests.support.places import Place
from tests.support.project import poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/use-from-spark.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIG = """\
version: 1
sources: {{shop: {{url: "{url}"}}}}
defaults: {{source: shop, strategy: id_rcs, baseline: events}}
tables: [{{table: public.orders}}, {{table: public.customers}}]
"""


def test_every_recipe_runs(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    place.sql("CREATE TABLE orders (order_id bigint PRIMARY KEY, customer text, status text)")
    place.sql("CREATE TABLE customers (customer text PRIMARY KEY, city text)")
    place.sql("INSERT INTO orders VALUES (1, 'Ada', 'new'), (2, 'Bob', 'new'), (3, 'Ada', 'paid')")
    place.sql("INSERT INTO customers VALUES ('Ada', 'Oslo'), ('Bob', 'Bern')")
    monkeypatch.chdir(workspace)
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=place.url), encoding="utf-8")
    with qbcd.open("qbcd.yaml") as project:
        project.prepare()
        place.sql("UPDATE orders SET status = 'paid' WHERE order_id = 1; DELETE FROM orders WHERE order_id = 2")
        place.sql("UPDATE customers SET city = 'Paris' WHERE customer = 'Ada'")
        poll(project)
        config, lake = str(workspace / "qbcd.yaml"), str(workspace / "lake")  # Java's folder is another one
        names: dict[str, Any] = {"spark": spark}
        for text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            exec(text.replace('"qbcd.yaml"', f'"{config}"').replace('"lake/', f'"{lake}/'), names)
        now = sorted(tuple(row) for row in spark.table("orders_now").collect())
        assert now == [(1, "Ada", "paid"), (3, "Ada", "paid")] == place.sql("SELECT * FROM orders ORDER BY 1")
        assert spark.read.parquet(f"{lake}/orders").count() == 6
        assert [tuple(row) for row in names["moved"].collect()] == [(1, "new", "paid")]
        assert (
            sorted(tuple(r) for r in spark.read.parquet(f"{lake}/orders_first").drop("_commit_version").collect())
            == now
        )
        assert names["at"] == 2
    spark.sql("DROP TABLE orders_now")
