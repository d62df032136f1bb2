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

create function loci_migration.drop_policies() returns void language plpgsql set search_path = '' as $$
declare
    v_policy record;
begin
    for v_policy in select schemaname, tablename, policyname from pg_catalog.pg_policies where schemaname = 'loci_data' loop
        execute pg_catalog.format('drop policy %I on %I.%I', v_policy.policyname, v_policy.schemaname, v_policy.tablename);
    end loop;
end $$;
revoke all on function loci_migration.drop_policies() from public;
comment on function loci_migration.drop_policies() is 'Drop every policy, so that the replay of sql/policies starts from none. Other sessions see the old ones until it commits.';
