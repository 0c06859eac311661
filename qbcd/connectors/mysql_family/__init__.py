"""The common part of MariaDB and MySQL; the modules `mariadb` and `mysql` hold their differences."""

from qbcd.connectors.mysql_family.connector import MySQLFamily

__all__ = ["MySQLFamily"]
