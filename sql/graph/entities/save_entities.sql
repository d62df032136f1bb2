-- Write entities: what they say of themselves (describe_entities), and that they were observed (observe_entities): in
-- the conversation session_id, else by the memory memory_id, else in this call. A stated confidence is the initial one
-- of a new entity; for a known one it is what a running average is given. One row an item, ordinal from 1; created is
-- true for the first item of a new entity. Errors: 22023 (a forgotten memory, too), 23503 (memory).
create or replace function loci_internal.save_entities(p_namespace_id integer, p_entities jsonb, p_at timestamptz)
returns table (ordinal integer, id uuid, name text, created boolean)
language plpgsql volatile set search_path = ''
as $$
declare
    v_ids     uuid[];
    v_names   text[];
    v_created boolean[];
    v_hidden  record;  -- an item whose memory is forgotten
begin
    if p_entities @? '$[*].memory_id ? (@ != null)' then
        v_hidden := loci_internal.lock_evidence(p_namespace_id, array(
            select (i.item ->> 'memory_id')::uuid from jsonb_array_elements(p_entities) with ordinality i(item, place)
            order by i.place));
        if v_hidden.place is not null then
            raise invalid_parameter_value using column = format('entities[%s].memory_id', v_hidden.place - 1),
                message = format('entities[%s].memory_id must not be a forgotten memory: %s is forgotten',
                                 v_hidden.place - 1, v_hidden.memory_id), hint = 'Restore it first.';
        end if;
    end if;
    select array_agg(d.id order by d.ordinal), array_agg(d.name order by d.ordinal),
           array_agg(d.created order by d.ordinal)
    into v_ids, v_names, v_created
    from loci_internal.describe_entities(p_namespace_id, p_entities, p_at) d;
    perform loci_internal.observe_entities(p_namespace_id, array_agg(
        (v_ids[i.ordinal], i.memory_id, i.session_id, i.confidence, i.seen_at, i.name)::loci_internal.sighting
            order by i.ordinal), p_at)
    from rows
    from (jsonb_to_recordset(p_entities) as (name text, memory_id uuid, session_id text, confidence double precision,
                                             seen_at timestamptz))
         with ordinality as i(name, memory_id, session_id, confidence, seen_at, ordinal)
    having count(*) > 0;
    return query select u.ordinal::integer, u.id, u.name, u.created
                 from unnest(v_ids, v_names, v_created) with ordinality u(id, name, created, ordinal)
                 order by u.ordinal;
end $$;
comment on function loci_internal.save_entities(integer, jsonb, timestamptz) is
    'Upsert and observe entities: JSON array of {name, type?, aliases?, description?, metadata?, confidence?, '
    'session_id?, memory_id?, seen_at?}. Errors: 22023.';
