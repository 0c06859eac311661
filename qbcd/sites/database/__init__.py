"""The database wing: replica, outbox and the stream's row are tables of the source database."""
