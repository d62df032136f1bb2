-- These memories are shown to a session now. Returns those that are new to it: shown before and not ended since, a
-- memory stays what it is, hits and all; after an end it begins anew. Safe under concurrent calls: each memory is new
-- to one of them; rows are written in order of their ids. One that stays what it is is not locked: record_recall_hits
-- would pass it by. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002 (namespace, the first unknown memory), 22023 (session_id).
create or replace function loci_api.record_injections(p_namespace text, p_session_id text, p_ids uuid[])
returns table (memory_id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_unknown      record;
begin
    perform loci_internal.check_session(p_session_id);
    select u.id, u.place - 1 as place into v_unknown from unnest(p_ids) with ordinality u(id, place)
    left join lateral (select true as there from loci_data.memories o where o.namespace_id = v_namespace_id
                       and o.id = u.id limit 1) m on true
    where m.there is null order by u.place limit 1;
    if found then
        raise no_data_found using message = format('memory %s does not exist', coalesce(v_unknown.id::text, 'null')),
            column = format('injected[%s]', v_unknown.place);
    end if;
    return query
    insert into loci_data.injections as i (namespace_id, session_id, memory_id, agent_id, injected_at)
    select v_namespace_id, p_session_id, u.id, loci.current_agent(), clock_timestamp()
    from (select distinct unnest(p_ids) as id) u order by u.id
    on conflict (namespace_id, session_id, memory_id) do nothing
    returning i.memory_id;
    return query
    with ended as (
        select i.memory_id from loci_data.injections i
        where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = any (p_ids)
          and i.ended_at is not null
        order by i.memory_id for no key update
    )
    update loci_data.injections i
    set agent_id = loci.current_agent(), injected_at = clock_timestamp(), hits = 0, last_hit_at = null, ended_at = null
    from ended e
    where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = e.memory_id
    returning i.memory_id;
end $$;
comment on function loci_api.record_injections(text, text, uuid[]) is
    'Note that memories are shown to a session; returns those that are new to it. Errors: 42501, P0002, 22023.';
