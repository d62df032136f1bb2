-- Statistics for tables that have rows and were never analyzed, or were when they were empty: until then a session that
-- made its plans while they were empty (those of foreign keys first of all) goes on with any index that begins with the
-- namespace, and reads all of it. Autovacuum comes within a minute, which is too late for the first import. Analyzing
-- makes every session plan anew. Returns the tables. One look at the catalogue where nothing is due. Security definer:
-- analyzes what it owns.
-- Errors: 42501.
create or replace function loci_api.analyze_new_tables() returns setof text
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_table regclass;
begin
    perform loci_internal.require_operator('analyze tables');
    for v_table in
        select c.oid::regclass from pg_catalog.pg_class c
        where c.relnamespace = 'loci_data'::regnamespace and c.relkind = 'r'
          and (c.reltuples < 0 or c.reltuples = 0 and pg_catalog.pg_stat_get_live_tuples(c.oid)
               + pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) >= 100)
          and pg_catalog.pg_relation_size(c.oid) >= 10 * pg_catalog.current_setting('block_size')::bigint
        order by c.oid
    loop
        execute pg_catalog.format('analyze %s', v_table);
        return next v_table::text;
    end loop;
end $$;
comment on function loci_api.analyze_new_tables() is
    'Analyze tables that have rows, and no statistics or those of an empty table; which. Operator only. Errors: 42501.';
