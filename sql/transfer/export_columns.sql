-- The columns of a kind of line, from the catalogue: name, field in lines (a column kind is attribute_kind or the like
-- there), type, whether it is part of the primary key, whether lines have it, and the expression that restores it from
-- a line's row r. namespace_id is never among them: a line cannot name a namespace. A few catalogue look-ups. No
-- errors; an unknown kind has no columns.
create or replace function loci_internal.export_columns(p_kind text)
returns table (place integer, name text, field text, type text, is_key boolean, in_file boolean, is_settled boolean,
               value text)
language sql stable set search_path = ''
as $$
    select a.attnum::integer, a.attname::text, case when a.attname = 'kind' then k.kind || '_kind'
        else a.attname::text end, pg_catalog.format_type(a.atttypid, a.atttypmod),
        a.attnum = any (i.indkey::smallint[]),
           not k.computed ? a.attname::text, k.settled ? a.attname::text,
           coalesce(k.computed ->> a.attname::text, k.settled ->> a.attname::text, format('r.%I', a.attname))
    from loci_api.export_kinds() k
    join pg_catalog.pg_class c on c.relname = k.source and c.relnamespace = 'loci_data'::regnamespace
    join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         and a.attname <> 'namespace_id'
    where k.kind = p_kind
$$;
comment on function loci_internal.export_columns(text) is
    'Columns of a kind of line in an export, from the catalogue.';
