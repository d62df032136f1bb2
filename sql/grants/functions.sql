-- The schema of a function says who may call it: loci is for people and the service, loci_api for the service,
-- loci_internal for nobody. Later objects begin with no rights for anybody.
alter default privileges for role loci_owner revoke execute on functions from public;
revoke all on all functions in schema loci, loci_api, loci_internal from public, loci_app, loci_analyst;
grant execute on all functions in schema loci to loci_app, loci_analyst;
grant execute on all functions in schema loci_api to loci_app;

-- A schema of temporary objects that no search_path names is searched before all others for tables and types, also
-- where
-- search_path is empty: who may make a type pg_temp.uuid would have its check run in every function that says uuid,
-- with
-- the rights of that function. So each function that has a search_path ends it with pg_temp, by rule.
do $$
declare
    v_function regprocedure;
begin
    for v_function in
        select p.oid from pg_proc p cross join lateral unnest(p.proconfig) c(setting)
        where p.pronamespace in ('loci'::regnamespace, 'loci_api'::regnamespace, 'loci_internal'::regnamespace)
          and c.setting in ('search_path=""', 'search_path=pg_catalog')
    loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', v_function);
    end loop;
end $$;
