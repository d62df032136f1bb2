-- What every login of this database could call, and must not: it writes to the log or to the disk of the server without
-- bound, also where a session may only read, or it makes what stays while the session idles. Loci uses none of it.
--
-- Run at the end of every migration, by whoever migrates: rights on the server's own functions are those of a database,
-- and another one is made without them. Only a superuser can take them from everybody; elsewhere (on managed servers)
-- they stay. The test of it has the list of what may stay.
do $$
declare
    v_function regprocedure;
begin
    if (select r.rolsuper from pg_roles r where r.rolname = current_user) then
        for v_function in
            select p.oid from pg_proc p
            where p.pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', p.oid, 'execute')
              and (p.proname ~ '^pg_(try_)?advisory_'
                   or p.proname in ('pg_logical_emit_message', 'pg_export_snapshot', 'lo_create', 'lo_creat',
                                    'lo_from_bytea', 'lo_put', 'lo_open', 'lo_unlink', 'lo_truncate',
                                    'lo_truncate64', 'lowrite'))
            order by p.oid
        loop
            execute format('revoke execute on function %s from public', v_function);
        end loop;
    end if;
end $$;
