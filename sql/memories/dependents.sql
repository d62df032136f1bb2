-- Dependents of a memory, and what its erasure would take.

-- Dependents of a version of a memory, now: facts that were drawn from it, edges that it is evidence of, and entities
-- that it mentions, each in words; kind (attribute, edge, entity) and id order and page them. alone: nothing else shows
-- it, so it falls with the memory, where it is not pinned. Indexes attributes_memory, edge_observations_memory, primary
-- key of memory_mentions; of each edge and entity one probe more. Security definer: past the policies; checks the
-- caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_dependents(p_namespace text, p_id uuid, p_limit integer default 100,
                                                p_cursor text default null)
returns table (kind text, id uuid, content text, entity_id uuid, entity text, aspect text, status text,
               confidence double precision, valid_from timestamptz, valid_to timestamptz, alone boolean, cursor text)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_key text[];
begin
    perform loci_internal.check_page(p_limit);
    v_key := loci_internal.read_cursor(p_cursor, 'text', 'uuid');
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = p_id) then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = 'id';
    end if;
    return query
    select d.*, loci_internal.make_cursor(jsonb_build_array(d.kind, d.id))
    from loci_internal.dependents(v_ns, p_id) d
    where v_key is null or (d.kind, d.id) > (v_key[1], v_key[2]::uuid)
    order by d.kind, d.id limit p_limit;
end $$;
comment on function loci.list_dependents(text, uuid, integer, text) is
    'Facts, edges and entities that rest on a memory, in words; cursor pages. Errors: 42501, P0002, 22023.';

-- Facts, edges and entities that rest on a version of a memory. Inlines into list_dependents.
create or replace function loci_internal.dependents(p_namespace_id integer, p_id uuid)
returns table (kind text, id uuid, content text, entity_id uuid, entity text, aspect text, status text,
               confidence double precision, valid_from timestamptz, valid_to timestamptz, alone boolean)
language sql stable
as $$
    select 'attribute', a.id, a.content, a.entity_id, e.name, s.name, a.status, a.confidence, a.valid_from, a.valid_to,
           true
    from loci_data.attributes a
    join loci_data.aspects s on s.namespace_id = a.namespace_id and s.id = a.aspect_id
    join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id
    where a.namespace_id = p_namespace_id and a.memory_id = p_id
    union all
    select 'edge', r.id, loci_internal.subject_in_words(p_namespace_id, 'edge', r.id), r.source_id, e.name, null,
           case when r.superseded_at is null then 'active' else 'superseded' end, r.confidence, r.valid_from,
           r.valid_to, not exists (select from loci_data.edge_observations x where x.namespace_id = p_namespace_id
                       and x.edge_id = r.id and x.memory_id is distinct from p_id
                       and x.reinforcement <> 'corrected')
    from loci_data.edge_observations o
    join loci_data.edges r on r.namespace_id = o.namespace_id and r.id = o.edge_id
    join loci_data.entities e on e.namespace_id = r.namespace_id and e.id = r.source_id
    where o.namespace_id = p_namespace_id and o.memory_id = p_id
    union all
    select 'entity', e.id, e.name, e.id, e.name, null, 'active', n.confidence, null, null,
           not exists (select from loci_data.memory_mentions x where x.namespace_id = p_namespace_id
                       and x.entity_id = e.id and x.memory_id <> p_id)
           and not loci_internal.entity_is_stated(jsonb_populate_record(e, jsonb_build_object(
                       'pinned', false, 'observations', e.observations - n.observed::integer)), array[p_id])
    from loci_data.memory_mentions n
    join loci_data.entities e on e.namespace_id = n.namespace_id and e.id = n.entity_id
    where n.namespace_id = p_namespace_id and n.memory_id = p_id
$$;
comment on function loci_internal.dependents(integer, uuid) is
    'Facts, edges and entities that rest on a version of a memory.';

-- What would go if memories were erased? They are erased, by the same function, and that is taken back: a
-- subtransaction that fails at its end. Nothing of it is left but the locks of a moment. The receipt as erase_memories
-- gives it; changes: what it would note in the log, memories, facts, edges and entities first, in words, at most
-- p_limit; more: how many are not shown. Costs what erasing costs. Security definer: the other checks the caller.
-- Errors: those of erase_memories; 22023 (limit).
create or replace function loci_api.preview_erasure(
    p_namespace text, p_ids uuid[], p_versions text default 'all', p_subtree boolean default false,
    p_limit integer default 100, p_with_turns boolean default false)
returns table (erased integer, deleted jsonb, added jsonb, changed jsonb, turns jsonb, turns_found integer,
               changes jsonb, more bigint)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = auto
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_made record;
begin
    perform loci_internal.check_page(p_limit);
    begin
        select e.* into erased, deleted, added, changed, turns, turns_found
        from loci_api.erase_memories(p_namespace, p_ids, p_versions, p_subtree, p_with_turns) e;
        select n.* into v_made
        from loci_internal.noted_changes(v_ns, loci_internal.current_operation_id(), p_limit) n;
        raise exception using errcode = 'LOCI0', message = 'taken back';
    exception when sqlstate 'LOCI0' then
        null;
    end;
    changes := loci_internal.described_changes(v_ns, v_made.changes);
    more := v_made.more;
    return next;
end $$;
comment on function loci_api.preview_erasure(text, uuid[], text, boolean, integer, boolean) is
    'Things that erasing memories would take along: they are erased, and that is taken back. '
    'Errors: 42501, P0002, 22023, 40001.';
