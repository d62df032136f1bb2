-- These memories go into the context of a session now, and its message names these entities: record_injections and
-- touch_entities in one call. A memory that was erased since it was found is left out; the others cannot be erased
-- until this transaction ends. Returns the memories that are new to the session: only these may be shown. Locks
-- memories in order of their ids, then entities as touch_entities does, as an erasure does. Security definer: locks
-- past the policies; checks the caller itself. Errors: 42501, P0002 (namespace), 22023 (session_id).
create or replace function loci_api.record_context(p_namespace text, p_session_id text, p_ids uuid[],
                                                   p_named uuid[] default '{}')
returns table (memory_id uuid)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_there        uuid[] := array(
        select m.id from (select distinct i.id from unnest(p_ids) i(id) order by i.id) u
        cross join lateral (select o.id from loci_data.memories o
                            where o.namespace_id = v_namespace_id and o.id = u.id limit 1 for key share) m);
begin
    return query select n.memory_id from loci_api.record_injections(p_namespace, p_session_id, v_there) n;
    if cardinality(p_named) > 0 then
        perform loci_api.touch_entities(p_namespace, p_named);
    end if;
end $$;
comment on function loci_api.record_context(text, text, uuid[], uuid[]) is
    'Note what goes into the context of a session, and touch what its message names; returns the memories that are '
    'new to it, of those that still exist. Errors: 42501, P0002, 22023.';
