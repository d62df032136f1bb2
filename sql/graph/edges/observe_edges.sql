-- Write edges by the names of their ends: a name is resolved (id, name, alias) or becomes an entity. An edge is
-- evidence of its ends too: session_id and memory_id say in which conversation. superseded: edges that it ended. One
-- transaction. See write_edges.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity id),
-- 22023, 23503 (memory), 23514, 40001.
create or replace function loci_api.observe_edges(p_namespace text, p_edges jsonb)
returns table (ordinal integer, id uuid, source_id uuid, target_id uuid, created boolean, restored boolean,
               superseded jsonb)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
begin
    return query select w.* from loci_internal.write_edges(v_namespace_id, loci_internal.parse_edges(p_edges, v_at),
                                                           v_at) w;
end $$;
comment on function loci_api.observe_edges(text, jsonb) is
    'Write edges by name: JSON array of {source, type, target | literal, source_type?, target_type?, aspect?, '
    'confidence?, strength?, session_id?, memory_id?, observed_at?, valid_from?, valid_to?, metadata?}; one row an '
    'item, ordinal from 1.';
