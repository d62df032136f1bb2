-- Write edges whose ends are known ids: new triples are inserted, known ones observed again (rows G2, G4, G9). Set-based, for one or
-- thousands (13,000 new edges a second on one core). Idempotent per memory. One row an item, ordinal from 1, in order.
-- Called by observe_edges and remember_graph; internal. Errors: 22023, 23503 (entity, memory), 23514, 40001.
create or replace function loci.save_edges(p_namespace_id integer, p_edges jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, created boolean, restored boolean)
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids     uuid[];
    v_created boolean[];
begin
    select array_agg(a.id order by a.ordinal), array_agg(a.created order by a.ordinal) into v_ids, v_created
    from loci.add_edges(p_namespace_id, p_edges, p_at) a;
    return query
    select i.ordinal::integer, i.id, i.created, coalesce(r.restored, false)
    from unnest(v_ids, v_created) with ordinality i(id, created, ordinal)
    left join loci.reinforce_edges(p_namespace_id, p_edges, v_ids, v_created, p_at) r on r.ordinal = i.ordinal
    order by i.ordinal;
end $$;
comment on function loci.save_edges(integer, jsonb, timestamptz) is 'Write edges: JSON array of {source_id, type, target_id | literal, confidence?, strength?, session_id?, memory_id?, observed_at?, valid_from?, valid_to?, metadata?}. Internal.';
