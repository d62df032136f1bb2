-- Pairs settled by an agent.

-- End the links between two lineages that say that they contradict each other, or what was decided of them before; a
-- link that says the same from the newer to the older one stays.
create or replace function loci_internal.close_other_verdicts(p_namespace_id integer, p_newer uuid, p_older uuid,
                                                              p_verdict text, p_at timestamptz) returns void
language sql volatile set search_path = ''
as $$
    update loci_data.memory_links l set superseded_at = greatest(p_at, l.recorded_at + interval '1 microsecond')
    from (select o.source_id, o.target_id, o.type from loci_data.memory_links o
          where o.namespace_id = p_namespace_id and o.superseded_at is null
            and (o.source_id, o.target_id) in ((p_newer, p_older), (p_older, p_newer))
            and o.type in ('contradicts', 'replaces', 'corrects', 'both_true')
            and (o.source_id, o.type) is distinct from (p_newer, p_verdict)
          order by o.source_id, o.target_id, o.type for update) t
    where l.namespace_id = p_namespace_id and l.source_id = t.source_id and l.target_id = t.target_id
      and l.type = t.type and l.superseded_at is null
$$;
comment on function loci_internal.close_other_verdicts(integer, uuid, uuid, text, timestamptz) is
    'End links between two lineages that another verdict replaces.';

-- Say which of two memories holds, where one may outdate the other. p_verdict: replaces (the older one was true until
-- the newer one began), corrects (the older one was never true), both_true. Both are current, of different lineages;
-- they need not be linked. A link of that type from the newer to the older one says what was decided, in the place of
-- whatever said that they contradict each other, or was decided before. Earlier beliefs stay askable with known_at. One
-- operation, whose undoing opens the pair again. Locks as remember and undo do: lineages in order of
-- name, memories in order of id, then links. Two rows: the newer, then the older one. Errors: 42501, P0002, 22023 (one
-- lineage, unknown verdict), 23P01 (one of them is not current).
create or replace function loci_api.settle_memories(p_namespace text, p_newer uuid, p_older uuid, p_verdict text)
returns setof loci.memory_record
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'writer');
    v_newer loci_data.memories;
    v_older loci_data.memories;
    v_at    timestamptz;
begin
    if p_verdict is null or p_verdict not in ('replaces', 'corrects', 'both_true') then
        raise invalid_parameter_value using column = 'verdict',
            message = format('verdict must be replaces, corrects or both_true, not %L', p_verdict);
    end if;
    perform from loci_data.lineages l
    where l.namespace_id = v_ns and l.lineage = any (array(
        select m.lineage from loci_data.memories m
        where m.namespace_id = v_ns and m.id = any (array[p_newer, p_older])))
    order by l.lineage for no key update;
    perform from loci_data.memories m where m.namespace_id = v_ns and m.id = any (array[p_newer, p_older])
    order by m.id for no key update;
    v_at := clock_timestamp();
    v_newer := loci_internal.memory_to_settle(v_ns, p_newer, v_at, 'id');
    v_older := loci_internal.memory_to_settle(v_ns, p_older, v_at, 'older');
    if v_newer.lineage_id = v_older.lineage_id then
        raise invalid_parameter_value using column = 'older',
            message = format('memories %s and %s are versions of one lineage', p_newer, p_older);
    end if;
    perform loci_internal.close_other_verdicts(v_ns, v_newer.lineage_id, v_older.lineage_id, p_verdict, v_at);
    perform loci_api.link_memories(p_namespace, p_newer, p_older, p_verdict, 1);
    if p_verdict <> 'both_true' then
        v_older.valid_to := case p_verdict when 'replaces' then greatest(v_newer.valid_from, v_older.valid_from)
                                           else v_older.valid_from end;
        v_older.superseded_at := coalesce(v_older.superseded_at, v_at);
        v_older.updated_at := v_at;
        select * into v_older from loci_internal.change_memories(v_ns, array[v_older]);
    end if;
    v_at := clock_timestamp();
    return query
    select (loci.memory_record(s.memory, v_at, p.parent_id)).*
    from (values (1, v_newer), (2, v_older)) s(place, memory)
    left join lateral loci_internal.parent_of(s.memory, v_at, null) p on true
    order by s.place;
end $$;
comment on function loci_api.settle_memories(text, uuid, uuid, text) is
    'Say which of two memories holds: replaces, corrects or both_true; the newer and the older one as they are then. '
    'Errors: 42501, P0002, 22023, 23P01.';

-- A memory that is to be settled: it is there, and current. p_column: the field that names it. Errors: P0002, 23P01.
create or replace function loci_internal.memory_to_settle(p_namespace_id integer, p_id uuid, p_at timestamptz,
                                                          p_column text) returns loci_data.memories
language plpgsql stable set search_path = ''
as $$
declare
    v_memory loci_data.memories;
    v_now    uuid;  -- what its lineage says now
begin
    select m.* into v_memory from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = p_id;
    if not found then
        raise no_data_found using message = format('memory %s does not exist', p_id), column = p_column;
    elsif loci.holds_at(v_memory, p_at, null) then
        return v_memory;
    end if;
    select c.id into v_now from loci_internal.current_of_lineage(p_namespace_id, v_memory.lineage_id) c;
    raise exclusion_violation using column = p_column, constraint = 'memories_settled',
        message = format('memory %s is not current: it %s', p_id,
                         case when v_memory.status <> 'active' then 'was forgotten'
                              when v_memory.valid_from > p_at then 'is not true yet'
                              when v_memory.valid_to = v_memory.valid_from then 'was never true'
                              else 'was true until ' || v_memory.valid_to end),
        hint = case when v_now is null then 'There is nothing left to settle with it.'
                    else format('What it says now is memory %s.', v_now) end;
end $$;
comment on function loci_internal.memory_to_settle(integer, uuid, timestamptz, text) is
    'A memory that is there and current. Errors: P0002, 23P01.';

-- Which version of a lineage is current: active, and valid now? No row: none. A probe of memories_chain.
create or replace function loci_internal.current_of_lineage(p_namespace_id integer, p_lineage_id uuid)
returns setof loci_data.memories
language sql stable parallel safe rows 1
as $$
    select m.* from (select clock_timestamp() as now offset 0) t cross join loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id and loci.holds_at(m, t.now, null)
    order by m.valid_from desc, m.id limit 1
$$;
comment on function loci_internal.current_of_lineage(integer, uuid) is
    'The version of a lineage that is current.';
