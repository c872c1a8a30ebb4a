"""The database: the only truth. The one room that imports sqlalchemy."""

from farm.store.database import Connection, Database

__all__ = ["Connection", "Database"]
