-- Who may call what follows from what a function is. Trigger functions, those that take a namespace's number
-- (p_namespace_id) and those whose comment says so are internal. Volatile functions change things and are the service's. The rest only read, and check.
revoke all on all functions in schema loci from public, loci_app, loci_analyst;
alter default privileges in schema loci revoke execute on functions from public;

-- A schema of temporary objects that no search_path names is searched before all others for tables and types, also where search_path is
-- empty: who may make a type pg_temp.uuid would have its check run in every function that says uuid, with the rights of that function.
-- So each function that has a search_path ends it with pg_temp, by rule.
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid from pg_proc p cross join lateral unnest(p.proconfig) c(setting)
        where p.pronamespace = 'loci'::regnamespace and c.setting in ('search_path=""', 'search_path=pg_catalog')
    loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', v_function);
    end loop;
end $$;

do $$
declare
    v_function record;
begin
    for v_function in
        select p.oid::regprocedure as name, p.provolatile = 'v' as writes
        from pg_proc p
        where p.pronamespace = 'loci'::regnamespace and p.prokind in ('f', 'a')
          and p.prorettype <> 'trigger'::regtype
          and obj_description(p.oid, 'pg_proc') not like '%Internal.'
          and not coalesce(p.proargnames @> array['p_namespace_id'], false)
    loop
        execute format('grant execute on function %s to loci_app', v_function.name);
        if not v_function.writes then
            execute format('grant execute on function %s to loci_analyst', v_function.name);
        end if;
    end loop;
end $$;
