-- Links from and to a memory, strongest first, as believed at known_at: two index ranges. An end is shown by the id of
-- its lineage's first version that is left.
create or replace function loci.list_links(p_namespace text, p_id uuid, p_limit integer default 100,
                                           p_known_at timestamptz default null)
returns table (source_id uuid, target_id uuid, type text, strength double precision, recorded_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'reader');
    v_node uuid := loci_internal.lineage_id_of(v_ns, p_id);
begin
    return query
    select s.id, t.id, l.type, l.strength, l.recorded_at
    from (select * from loci_data.memory_links where namespace_id = v_ns and memory_links.source_id = v_node
          union all
          select * from loci_data.memory_links where namespace_id = v_ns and memory_links.target_id = v_node) l
    cross join lateral (select loci_internal.first_version(v_ns, l.source_id) as id offset 0) s
    cross join lateral (select loci_internal.first_version(v_ns, l.target_id) as id offset 0) t
    where (p_known_at is null or l.recorded_at <= p_known_at)
      and (l.superseded_at is null or l.superseded_at > p_known_at)
    order by l.strength desc, l.source_id, l.target_id, l.type limit p_limit;
end $$;
comment on function loci.list_links(text, uuid, integer, timestamptz) is
    'Links of a memory in both directions, strongest first. Errors: 42501, P0002.';

-- The id by which a node of the hierarchy is shown: that of its earliest version that is left. It is the node's own,
-- unless that version was erased. One or two index look-ups.
create or replace function loci_internal.first_version(p_namespace_id integer, p_node uuid) returns uuid
language sql stable parallel safe
as $$
    select m.id from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_node
    order by m.id <> p_node, m.version limit 1
$$;
comment on function loci_internal.first_version(integer, uuid) is
    'Id of the earliest version of a lineage that was not erased.';
