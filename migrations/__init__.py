"""Alembic revisions: tables, types, indexes and constraints. Functions, views, triggers and policies live in sql/."""
