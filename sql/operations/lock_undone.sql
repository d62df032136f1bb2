-- Lock what undoing an operation changes, before anybody asks what was changed since: a change under way is waited for
-- and then found, and none begins between the question and the undoing. Order: merges; entities in order of
-- canonical_name; as remember lineages in order of name, then memories in order of id; the hierarchy; links; the ends
-- of edges; as everywhere aspects, decisions, attributes; the namespace; grants. Merges lock their entities, edges and
-- attributes themselves (undo_merge). p_kinds: those that the operation has.
create or replace function loci_internal.lock_undone(p_namespace_id integer, p_operation uuid, p_kinds text[])
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if 'merge' = any (p_kinds) then
        perform loci_internal.lock_merges(p_namespace_id);
    elsif 'entity' = any (p_kinds) then
        perform from loci_data.entities e
        where e.namespace_id = p_namespace_id
          and e.id = any (array(select n.subject_id
                                from loci_internal.net_changes(p_namespace_id, p_operation, 'entity') n
                                where not n.created and n.before is not null))
        order by e.canonical_name, e.id for update;
    end if;
    if 'memory' = any (p_kinds) then
        perform from loci_data.lineages l
        where l.namespace_id = p_namespace_id and l.lineage = any (array(
              select distinct m.lineage from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') n
              cross join lateral (select x.lineage from loci_data.memories x where x.namespace_id = p_namespace_id
                                  and x.id = n.subject_id limit 1) m))
        order by l.lineage for no key update;
        perform from loci_data.memories m
        where m.namespace_id = p_namespace_id
          and m.id = any (array(select n.subject_id
                                from loci_internal.net_changes(p_namespace_id, p_operation, 'memory') n))
        order by m.id for no key update;
    end if;
    if 'placement' = any (p_kinds) then
        perform loci_internal.lock_hierarchy(p_namespace_id, true);
    end if;
    if 'link' = any (p_kinds) then
        perform loci_internal.lock_undone_links(p_namespace_id, p_operation);
    end if;
    if 'merge' <> all (p_kinds) then
        perform loci_internal.lock_edge_ends(p_namespace_id, p_operation, array(
            select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'edge') n));
        if p_kinds && '{aspect,attribute,supersession}' then
            perform loci_internal.lock_undone_attributes(p_namespace_id, p_operation);
        end if;
    end if;
    if p_kinds && '{edge_type,namespace}' then
        perform from loci_data.namespaces n where n.id = p_namespace_id for no key update;  -- rates change in turns
    end if;
    if 'grant' = any (p_kinds) then
        perform loci_internal.lock_grants(p_namespace_id);
    end if;
end $$;
comment on function loci_internal.lock_undone(integer, uuid, text[]) is
    'Lock what undoing an operation changes.';

-- Lock the links of an operation that are there, against whoever ends one or changes its strength. One that another
-- makes meanwhile, where the operation ended one, stays as it is (undo_links).
create or replace function loci_internal.lock_undone_links(p_namespace_id integer, p_operation uuid) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    perform from loci_data.memory_links l
    join (select distinct n.source_id, n.target_id, n.type
          from loci_internal.net_link_changes(p_namespace_id, p_operation) n) n
        on n.source_id = l.source_id and n.target_id = l.target_id and n.type = l.type
    where l.namespace_id = p_namespace_id and l.superseded_at is null
    order by l.source_id, l.target_id, l.type for no key update of l;
end $$;
comment on function loci_internal.lock_undone_links(integer, uuid) is
    'Lock the links that undoing an operation changes.';

-- Lock the aspects, decisions and attributes of an operation, each in order of id.
create or replace function loci_internal.lock_undone_attributes(p_namespace_id integer, p_operation uuid) returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_ids uuid[] := array(select n.subject_id
                          from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n);
begin
    perform from loci_data.aspects s
    where s.namespace_id = p_namespace_id and s.id = any (array(
          select a.aspect_id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_ids)
          union select n.subject_id from loci_internal.net_changes(p_namespace_id, p_operation, 'aspect') n))
    order by s.id for no key update;
    perform from loci_data.supersessions s
    where s.namespace_id = p_namespace_id
      and s.id = any (array(select n.subject_id
                            from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n))
    order by s.id for update;
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_ids) order by a.id
        for no key update;
end $$;
comment on function loci_internal.lock_undone_attributes(integer, uuid) is
    'Lock the aspects, decisions and attributes that undoing an operation changes.';
