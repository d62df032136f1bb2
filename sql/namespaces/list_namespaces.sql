-- The namespaces that the caller may read, by name, with their settings in force, the caller's role and their sizes.
-- p_name asks for one. Entities and edges that only forgotten memories show do not count. Counts are index-only scans
-- of each namespace listed.
create or replace function loci.list_namespaces(p_name text default null, p_limit integer default 100,
                                                p_cursor text default null)
returns table (name text, description text, language text, role text, settings jsonb, memories bigint,
               current_memories bigint, entities bigint,
               edges bigint, pending_embeddings bigint, pending_names bigint, created_at timestamptz,
               updated_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ids integer[] := loci.readable_namespaces();
begin
    if p_name is not null then
        v_ids := array[loci_internal.authorize(p_name, 'reader')];
    end if;
    return query
    select n.name, n.description, c.cfgname::text,
           loci_internal.scoped_role(
               coalesce((select g.role from loci_data.grants g where g.namespace_id = n.id
                         and g.agent_id = loci.current_agent()), 'admin')),
           loci_internal.settings(n.id),
           (select count(*) from loci_data.memories m where m.namespace_id = n.id),
           (select count(*) from loci_data.memories m where m.namespace_id = n.id
            and loci.holds_at(m, statement_timestamp(), null)),
           (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.merged_into is null)
               - (select count(*) from loci_data.entities e where e.namespace_id = n.id and e.hidden
                  and e.merged_into is null),
           (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null)
               - (select count(*) from loci_data.edges e where e.namespace_id = n.id and e.superseded_at is null
                  and e.valid_to = e.valid_from),
           (select count(*) from loci_data.embedding_queue q where q.model_id = a.id and q.namespace_id = n.id
            and q.error is null)
               + (select count(*) from loci_data.entity_queue q where q.model_id = a.id and q.namespace_id = n.id
                  and q.error is null),
           (select count(*) from loci_data.name_queue q where q.namespace_id = n.id),
           n.created_at, n.updated_at
    from (select * from loci_data.namespaces s where s.id = any (v_ids) and (p_cursor is null or s.name > p_cursor)
          order by s.name limit p_limit) n
    join pg_catalog.pg_ts_config c on c.oid = n.language
    left join loci_data.embedding_models a on a.active
    order by n.name;
end $$;
comment on function loci.list_namespaces(text, integer, text) is
    'Readable namespaces with role, settings in force and counts, by name; one if named. Errors: 42501, P0002.';
