-- Roles are shared by all databases of a server, so each is made only where it is missing.
--   loci_owner    owns every object, logs in nowhere; policies let it through
--   loci_app      the service: no superuser, no BYPASSRLS, owns nothing
--   loci_analyst  group role of people who query in SQL
-- loci_worker   what loci_app becomes to take jobs off the queue (schema loci_jobs); without becoming it, the service
-- cannot touch the queue

do $$
declare
    v_role text;
begin
    foreach v_role in array array['loci_owner', 'loci_app', 'loci_analyst', 'loci_worker'] loop
        begin
            if not exists (select from pg_roles where rolname = v_role) then
                execute format('create role %I nosuperuser nobypassrls %s', v_role,
                               case v_role when 'loci_app' then 'login' else 'nologin' end);
            end if;
        exception when duplicate_object or unique_violation then
            null; -- another database's migration made it at the same moment
        end;
    end loop;
    begin
        if not pg_has_role('loci_app', 'loci_worker', 'set') then
            grant loci_worker to loci_app with inherit false, set true;
        end if;
    exception when duplicate_object or unique_violation or serialization_failure or internal_error then
        null; -- likewise
    end;
    if not pg_has_role(current_user, 'loci_owner', 'set') then
        execute format('grant loci_owner to %I with set true, inherit true', current_user);
    end if;
end $$;

create extension if not exists vector;
create schema loci authorization loci_owner;
create schema loci_api authorization loci_owner;
create schema loci_internal authorization loci_owner;
create schema loci_data authorization loci_owner;
create schema loci_jobs authorization loci_owner;
create schema loci_migration authorization loci_owner;
comment on schema loci is 'Memory and knowledge graph for AI agents: what people use, views and functions that read.';
comment on schema loci_api is 'What the service calls, beside what it shares with people in the schema loci.';
comment on schema loci_internal is 'Parts of the functions in loci and loci_api. Nobody may call them directly.';
comment on schema loci_data is 'Tables of Loci, under row-level security. Programs and people use the schema loci.';
comment on schema loci_jobs is
    'The queue of jobs: tables and functions of procrastinate. Its rows hold numbers of jobs; what they are is in '
    'loci.jobs.';
comment on schema loci_migration is 'Revision of the schema, and what only migrations call.';

-- Needed by whoever calls a function of pgvector.
do $$
declare
    v_vector text := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                      where e.extname = 'vector');
begin
    execute format('grant usage on schema %I to loci_owner, loci_app, loci_analyst', v_vector);
end $$;
grant usage on schema loci, loci_data to loci_app, loci_analyst;
grant usage on schema loci_api to loci_app;
grant usage on schema loci_migration to loci_app;
grant usage on schema loci_jobs to loci_worker;

-- Locks and large objects that any login could make, and that stay while its session idles, or after it. Loci uses
-- neither. Only a superuser can take them from everybody; elsewhere (on managed servers) they stay, and hold up nobody
-- but those who use them.
do $$
declare
    v_function regprocedure;
begin
    if (select r.rolsuper from pg_roles r where r.rolname = current_user) then
        for v_function in
            select p.oid from pg_proc p
            where p.pronamespace = 'pg_catalog'::regnamespace
              and (p.proname ~ '^pg_(try_)?advisory_'
                   or p.proname in ('lo_create', 'lo_creat', 'lo_from_bytea', 'lo_put', 'lo_open', 'lo_unlink',
                                    'lo_truncate', 'lo_truncate64', 'lowrite'))
        loop
            execute format('revoke execute on function %s from public', v_function);
        end loop;
    end if;
end $$;
