-- Locks of an erasure.

-- Refuse ids of memories that do not exist; the error names the first. Errors: P0002.
create or replace function loci_internal.require_memories(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_unknown record;
begin
    select u.id, u.place - 1 as place into v_unknown
    from unnest(p_ids) with ordinality u(id, place)
    where not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = u.id)
    order by u.place limit 1;
    if found then
        raise no_data_found using message = format('memory %s does not exist', coalesce(v_unknown.id::text, 'null')),
            column = case when cardinality(p_ids) = 1 then 'id' else format('ids[%s]', v_unknown.place) end;
    end if;
end $$;
comment on function loci_internal.require_memories(integer, uuid[]) is
    'Refuse ids of memories that do not exist.';

-- Find the memories to erase, and keep every writer that could meet them waiting: lineages in order of name, then the
-- rows, then the hierarchy, as writes do. A lineage without a row in lineages (its memory was written without a name)
-- gets one and loses it again: uncommitted, it holds up a first writer of that name all the same. Rows written
-- meanwhile are seen, because each statement looks anew. Errors: P0002, 40001.
create or replace function loci_internal.lock_memories_to_erase(p_namespace_id integer, p_ids uuid[], p_all boolean,
                                                                p_subtree boolean) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_nodes    uuid[];
    v_lineages text[];
    v_new      text[];
    v_ids      uuid[];
begin
    perform loci_internal.require_memories(p_namespace_id, p_ids);
    v_nodes := loci_internal.erased_lineages(p_namespace_id, p_ids, p_subtree);
    v_lineages := array(select distinct m.lineage from loci_data.memories m
                        where m.namespace_id = p_namespace_id and m.lineage_id = any (v_nodes));

    with added as (
        insert into loci_data.lineages as l (namespace_id, lineage, id, versions)
        select p_namespace_id, u, loci_internal.nil_uuid(), 0 from unnest(v_lineages) u order by u
        on conflict do nothing returning l.lineage
    )
    select array_agg(a.lineage) into v_new from added a;
    perform from loci_data.lineages l where l.namespace_id = p_namespace_id and l.lineage = any (v_lineages)
        order by l.lineage for update;
    delete from loci_data.lineages l where l.namespace_id = p_namespace_id and l.lineage = any (v_new);

    v_ids := case when p_all then array(select m.id from loci_data.memories m
                                        where m.namespace_id = p_namespace_id and m.lineage_id = any (v_nodes))
                          -- what was derived from the version cannot be told from what was derived from others
                          else p_ids || array(
                               select m.id from loci_data.memories m where m.namespace_id = p_namespace_id
                                   and m.lineage_id = any (v_nodes)
                               and m.lineage_id not in (select o.lineage_id from loci_data.memories o
                                                        where o.namespace_id = p_namespace_id and o.id = any (p_ids)))
                                                            end;
    v_ids := array(select m.id from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = any (v_ids)
                   order by m.id for update);
    perform loci_internal.lock_hierarchy(p_namespace_id, true);
    if p_subtree and exists (select unnest(loci_internal.erased_lineages(p_namespace_id, p_ids, true)) except
                             select unnest(v_nodes)) then
        raise serialization_failure using message = 'memories were moved into the subtree while it was erased',
            hint = 'Try again.';
    end if;
    return v_ids;
end $$;
comment on function loci_internal.lock_memories_to_erase(integer, uuid[], boolean, boolean) is
    'Lock the memories to erase, their lineages and the hierarchy; ids of the memories. Errors: P0002, 40001.';

-- Which lineages hold what these hold? Those that a merge made of them (links merged_from), a lesson learned from them
-- (derived_from), what enrichment made of them (expands), also by links that have ended, and so on; and what these were
-- themselves merged from. Index ranges of memory_links.
create or replace function loci_internal.derived_lineages(p_namespace_id integer, p_nodes uuid[]) returns uuid[]
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with recursive source(id) as (
        select unnest(p_nodes)
        union
        select l.target_id from source s
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.source_id = s.id
             and l.type = 'merged_from'
    ), derived(id) as (
        select s.id from source s
        union
        select l.source_id from derived d
        join loci_data.memory_links l on l.namespace_id = p_namespace_id and l.target_id = d.id
             and l.type in ('merged_from', 'derived_from', 'expands')
    )
    select array(select d.id from derived d)
$$;
comment on function loci_internal.derived_lineages(integer, uuid[]) is
    'Lineages that hold what others hold, by merges, lessons and enrichment.';

-- Which nodes does erasing these memories concern? Their lineages, and, if asked, every lineage that stands under one
-- of them now; with them what was merged or learned from them, and what they were merged from. Index ranges of memories
-- and memory_closure.
create or replace function loci_internal.erased_lineages(p_namespace_id integer, p_ids uuid[], p_subtree boolean)
returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_nodes uuid[] := array(select distinct m.lineage_id from loci_data.memories m
                            where m.namespace_id = p_namespace_id and m.id = any (p_ids));
begin
    if p_subtree then
        v_nodes := array(
            select unnest(v_nodes) union
            select c.descendant_id from loci_data.memory_closure c
            where c.namespace_id = p_namespace_id and c.ancestor_id = any (v_nodes)
              and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, clock_timestamp(), null));
    end if;
    return loci_internal.derived_lineages(p_namespace_id, v_nodes);
end $$;
comment on function loci_internal.erased_lineages(integer, uuid[], boolean) is
    'lineage_id of memories, of what was derived from them, and of what stands under them now if asked.';

-- Before memories are noted as evidence: lock them, so that none is forgotten until the transaction ends, and say
-- which of the items names one that is forgotten: its place, from 1, and the memory. ended: those that have an end.
-- p_ids: the memory of each item, or null. As every writer: memories come before entities. A transaction that forgets
-- one at this moment is waited for. A probe of the primary key a memory.
create or replace function loci_internal.lock_evidence(p_namespace_id integer, p_ids uuid[], out place integer,
                                                       out memory_id uuid, out ended uuid[])
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_hidden uuid[];
begin
    with locked as materialized (
        select m.id, m.status, m.valid_to from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.id = any (p_ids) order by m.id for share
    )
    select array_agg(l.id) filter (where l.status <> 'active'), array_agg(l.id) filter (where l.valid_to is not null)
    into v_hidden, ended from locked l;
    if v_hidden is not null then
        select u.place, u.id into place, memory_id
        from unnest(p_ids) with ordinality u(id, place) where u.id = any (v_hidden) order by u.place limit 1;
    end if;
end $$;
comment on function loci_internal.lock_evidence(integer, uuid[]) is
    'Lock memories that are given as evidence; the first item whose memory is forgotten.';

-- Lock memories that are given as evidence (lock_evidence), and refuse forgotten ones. p_list: what the items are
-- called in the request. Returns those that have an end. Errors: 22023.
create or replace function loci_internal.lock_active_evidence(p_namespace_id integer, p_ids uuid[], p_list text)
returns uuid[]
language plpgsql volatile
as $$
declare
    v_locked record;
begin
    if array_remove(p_ids, null) = '{}' then
        return '{}';
    end if;
    v_locked := loci_internal.lock_evidence(p_namespace_id, p_ids);
    if v_locked.place is not null then
        raise invalid_parameter_value using column = format('%s[%s].memory_id', p_list, v_locked.place - 1),
            message = format('%s[%s].memory_id must not be a forgotten memory: %s is forgotten', p_list,
                             v_locked.place - 1, v_locked.memory_id), hint = 'Restore it first.';
    end if;
    return coalesce(v_locked.ended, '{}');
end $$;
comment on function loci_internal.lock_active_evidence(integer, uuid[], text) is
    'Lock memories that are given as evidence; those that have an end. Errors: 22023.';
