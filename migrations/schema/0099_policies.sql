-- Row-level security, enabled and forced on every table, partitions included.
-- The policies themselves are in sql/policies and are replayed after every migration.

do $$
declare
    v_table regclass;
begin
    for v_table in
        select c.oid::regclass from pg_class c
        where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p')
    loop
        execute format('alter table %s enable row level security', v_table);
        execute format('alter table %s force row level security', v_table);
    end loop;
end $$;
