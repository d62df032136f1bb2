-- What sessions of the service and of analysts begin with in this database. Plans of hot statements depend on it;
-- hanging it on the roles gives people in psql the same plans as the service. Times are said in UTC, wherever the
-- server is: what reads a reply may look at the day alone.
--
-- Run at the end of every migration, by whoever migrates: settings of a role in a database are not in a dump that is
-- restored into a database made by hand. Those that are as they should be are left alone, which needs no rights.
do $$
declare
    v_vector text := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                      where e.extname = 'vector');
    v_row    record;
begin
    execute format('select %L::%I.vector', '[1]', v_vector); -- its settings are known once it is loaded
    for v_row in
        select r.rolname, w.name, w.value
        from pg_roles r
        cross join (values ('jit', 'off'), ('hnsw.ef_search', '128'), ('hnsw.iterative_scan', 'strict_order'),
                           ('TimeZone', 'UTC'), ('search_path', format('loci, %I', v_vector))) w (name, value)
        where r.rolname in ('loci_app', 'loci_analyst')
          and not exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
                          where s.setrole = r.oid and d.datname = current_database()
                            and format('%s=%s', w.name, w.value) = any (s.setconfig))
        order by r.rolname, w.name
    loop
        -- A list of schemas is written bare: in quotes it would be the name of one.
        execute format('alter role %I in database %I set %s = %s', v_row.rolname, current_database(), v_row.name,
                       case v_row.name when 'search_path' then v_row.value else quote_literal(v_row.value) end);
    end loop;
end $$;
