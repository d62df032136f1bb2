-- One rule for every table: the owner (migrations and security definer functions, which check for themselves) passes;
-- everybody else sees the rows of the namespaces that they were granted, and writes nothing directly.
do $$
declare
    v_table record;
begin
    for v_table in
        select c.oid::regclass as name,
               case when c.relname = 'namespaces' then 'id = any ((select loci.readable_namespaces())::integer[])'
                    when c.relname = 'embedding_models' then 'true'
                     when c.relname in ('agents', 'api_keys', 'browser_sessions', 'cells', 'feeds', 'grants',
                                       'idempotency_keys', 'invitations', 'key_uses', 'namespace_cells',
                                       'namespace_locks', 'namespace_moves',
                                       'rate_buckets', 'service_locks', 'turn_locks')
                         then null
                    else 'namespace_id = any ((select loci.readable_namespaces())::integer[])' end as rule
        from pg_class c
        where c.relnamespace = 'loci_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    loop
        execute format('create policy owner_passes on %s to loci_owner using (true) with check (true)', v_table.name);
        if v_table.rule is not null then
            execute format('create policy granted_namespaces on %s for select to loci_app, loci_analyst using (%s)',
                           v_table.name, v_table.rule);
        end if;
    end loop;
end $$;
