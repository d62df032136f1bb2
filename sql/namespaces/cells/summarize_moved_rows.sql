-- What does a namespace have in each table that moves? {table: [rows, a hash of all that stands in them]}, without those
-- that have none: equal in two cells where they have the same rows. A hash a row, of its columns by name, joined by xor,
-- so that no order matters: no row is there twice. Vectors as their bytes, which are quicker than their digits. One scan
-- of the namespace's rows a table. The settings are those that change how a value is written.
create or replace function loci_internal.summarize_moved_rows(p_namespace_id integer, p_vectors boolean) returns jsonb
language plpgsql stable set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres'
    set extra_float_digits = 1 set bytea_output = 'hex'
as $$
declare
    v_table   regclass;
    v_schema  text := (select t.typnamespace::regnamespace::text from pg_catalog.pg_type t where t.typname = 'vector');
    v_columns text;
    v_rows    bigint;
    v_hash    bigint;
    v_found   jsonb := '{}';
begin
    for v_table in select t from loci_internal.moved_tables(p_vectors) t loop
        select string_agg(case when t.typname in ('vector', 'halfvec', 'sparsevec')
                               then format('%s.%s_send(t.%I)', v_schema, t.typname, a.attname)
                               else format('t.%I', a.attname) end, ', ' order by a.attname)
        into v_columns
        from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
        where a.attrelid = v_table and a.attnum > 0 and not a.attisdropped;
        execute format('select count(*), bit_xor(hashtextextended(row(%s)::text, 0)) from %s t where namespace_id = $1',
                       v_columns, v_table) into v_rows, v_hash using p_namespace_id;
        if v_rows > 0 then
            v_found := v_found || jsonb_build_object(v_table::text, jsonb_build_array(v_rows, v_hash::text));
        end if;
    end loop;
    return v_found;
end $$;
comment on function loci_internal.summarize_moved_rows(integer, boolean) is
    'How many rows a namespace has in each table that moves, and a hash of what stands in them.';
