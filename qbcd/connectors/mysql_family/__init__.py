"""The common part of MariaDB and MySQL; `mariadb` and `mysql` contain the differences."""

from qbcd.connectors.mysql_family.connector import MySQLFamily

__all__ = ["MySQLFamily"]
