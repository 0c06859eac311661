"""The connector that MariaDB and MySQL share; the rest is in a module of each."""

from __future__ import annotations

from qbcd.connectors.base import Connector
from qbcd.connectors.mysql_family.access import FamilyAccess
from qbcd.connectors.mysql_family.catalog import FamilyCatalog
from qbcd.connectors.mysql_family.ddl import FamilyDdl
from qbcd.connectors.mysql_family.errors import FamilyErrors
from qbcd.connectors.mysql_family.expressions import FamilyExpressions
from qbcd.connectors.mysql_family.facts import FamilyFacts
from qbcd.connectors.mysql_family.queries import FamilyQueries
from qbcd.connectors.mysql_family.ranges import FamilyRanges
from qbcd.connectors.mysql_family.session import FamilySessions
from qbcd.connectors.mysql_family.statistics import FamilyStatistics
from qbcd.connectors.mysql_family.table_list import FamilyTableList
from qbcd.connectors.mysql_family.text_columns import FamilyTextColumns
from qbcd.connectors.mysql_family.watermarks import FamilyWatermarks


class MySQLFamily(FamilyFacts, Connector):
    """The connector of both servers, without their differences."""

    def __init__(self) -> None:
        self.sessions = FamilySessions(self)
        self.errors = FamilyErrors()
        self.catalog = FamilyCatalog(self)
        self.ddl = FamilyDdl(self)
        self.expressions = FamilyExpressions(self)
        self.ranges = FamilyRanges(self)
        self.watermarks = FamilyWatermarks(self)
        self.queries = FamilyQueries(self)
        self.abilities = (FamilyAccess(self), FamilyTextColumns(), FamilyStatistics(self), FamilyTableList())
