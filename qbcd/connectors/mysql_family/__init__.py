"""What MariaDB and MySQL have in common; the modules `mariadb` and `mysql` beside say where they differ."""

from qbcd.connectors.mysql_family.connector import MySQLFamily

__all__ = ["MySQLFamily"]
