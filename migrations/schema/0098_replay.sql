-- What the replay of sql/ calls: it makes everything anew, and drops what has no file any more.

create function loci_migration.drop_policies() returns void language plpgsql set search_path = '' as $$
declare
    v_policy record;
begin
    for v_policy in select schemaname, tablename, policyname from pg_catalog.pg_policies where schemaname = 'loci_data'
        loop
        execute pg_catalog.format('drop policy %I on %I.%I', v_policy.policyname, v_policy.schemaname,
                                  v_policy.tablename);
    end loop;
end $$;
comment on function loci_migration.drop_policies() is
    'Drop every policy, so that the replay of sql/policies starts from none. Other sessions see the old ones until it '
    'commits.';

create function loci_migration.replayed_objects()
returns table (kind text, id oid, name text, written xid) language sql set search_path = '' as $$
    select 'trigger', t.oid, pg_catalog.format('%I on %s', t.tgname, t.tgrelid::regclass), t.xmin
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace in ('loci_data'::regnamespace, 'loci_jobs'::regnamespace) and not t.tgisinternal
      and t.tgparentid = 0
      and t.tgname not like 'procrastinate%'
    union all
    select 'view', c.oid, c.oid::regclass::text, r.xmin
    from pg_catalog.pg_class c join pg_catalog.pg_rewrite r on r.ev_class = c.oid
    where c.relnamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace)
      and c.relkind = 'v'
    union all
    select 'routine', p.oid, p.oid::regprocedure::text, p.xmin
    from pg_catalog.pg_proc p
    where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace)
$$;
comment on function loci_migration.replayed_objects() is
    'Triggers, views and routines that files of sql/ make, and the transaction that last wrote each.';

-- All of one kind in one statement, so that those which rest on each other go together. What is not Loci's own and
-- rests
-- on one of them stops it (2BP01, with the names in the detail).
create function loci_migration.drop_objects(p_kind text, p_ids oid[]) returns text[] language plpgsql
set search_path = '' as $$
declare
    v_names text[];
    v_name  text;
begin
    select coalesce(pg_catalog.array_agg(o.name order by o.name), '{}') into v_names
    from loci_migration.replayed_objects() o where o.kind = p_kind and o.id = any (p_ids);
    if p_kind = 'trigger' then
        foreach v_name in array v_names loop
            execute pg_catalog.format('drop trigger %s', v_name);
        end loop;
    elsif v_names <> '{}' then
        execute pg_catalog.format('drop %s %s', p_kind, pg_catalog.array_to_string(v_names, ', '));
    end if;
    return v_names;
end $$;
comment on function loci_migration.drop_objects(text, oid[]) is
    'Drop triggers, views or routines (p_kind) by id; their names. Errors: 2BP01 where something else rests on one.';

revoke all on all functions in schema loci_migration from public;
