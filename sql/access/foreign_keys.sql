-- Which column of a view leads to which row of which view? PostgreSQL has no foreign keys between views, so the comment
-- of such a column ends with "Joins view.column.", which this reads: one row a column. Programs that draw joins need no
-- list of their own. Reads the catalogue alone. A function, because a migration locks views with the tables under them,
-- and nobody may lock the catalogue's.
create or replace function loci.list_foreign_keys()
returns table (view_name text, column_name text, foreign_view text, foreign_column text)
language sql stable set search_path = ''
as $$
    select c.relname::text, a.attname::text, j.leads[1], j.leads[2]
    from pg_catalog.pg_class c
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral regexp_match(pg_catalog.col_description(c.oid, a.attnum), 'Joins (\w+)\.(\w+)\.$') j(leads)
    where c.relnamespace = 'loci'::regnamespace and c.relkind = 'v' and j.leads is not null
$$;
comment on function loci.list_foreign_keys() is
    'Which column of a view leads to which other view: foreign keys, as their comments state them.';

create or replace view loci.foreign_keys with (security_invoker = true) as
select f.view_name, f.column_name, f.foreign_view, f.foreign_column from loci.list_foreign_keys() f;
comment on view loci.foreign_keys is
    'Which column of a view leads to which other view: foreign keys, as their comments state them. Compare the '
    'namespace too, where both views have one.';
comment on column loci.foreign_keys.view_name is 'The view that has the column.';
comment on column loci.foreign_keys.column_name is 'The column.';
comment on column loci.foreign_keys.foreign_view is 'The view that it leads to.';
comment on column loci.foreign_keys.foreign_column is 'The column there, which names one row.';
