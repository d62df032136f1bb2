-- Turns out of another system's file, into their sessions: by when they were said, where all that are new of a session
-- say that, else in the order given. A turn is there already if its session has one with the same source_id in its
-- metadata. Sessions are locked in order of their names. Cost: the turns of the sessions are read once a call (primary
-- key), by plans that serve every session. Security definer: writes past the policies; checks the caller itself.
-- Errors: those of add_turns.
create or replace function loci_api.import_turns(p_namespace text, p_turns jsonb)
returns table (ordinal integer, outcome text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'writer');
    v_session record;
    v_new     integer[] := '{}';
    v_wanted  integer[];
begin
    for v_session in
        select t.name, array_agg(t.ordinal order by t.ordinal) as ordinals
        from (select i.turn ->> 'session_id' collate "C" as name, i.ordinal::integer
              from jsonb_array_elements(p_turns) with ordinality i(turn, ordinal)) t
        group by t.name order by t.name
    loop
        perform loci_internal.lock_session(v_ns, v_session.name);
        v_wanted := array(
            select min(o) from unnest(v_session.ordinals) o
            cross join lateral (select p_turns -> (o - 1) -> 'metadata' ->> 'source_id' as key) k
            where k.key is null or k.key not in (  -- hashed, whatever is thought of how many there are
                select t.metadata ->> 'source_id' from loci_data.conversation_turns t
                where t.namespace_id = v_ns and t.session_id = v_session.name
                  and t.metadata ->> 'source_id' is not null)
            group by k.key);
        v_wanted := array(
            select w.o from (select u.o, p_turns -> (u.o - 1) ->> 'said_at' as said from unnest(v_wanted) u(o)) w
            order by case when (select bool_and(p_turns -> (a - 1) ->> 'said_at' is not null) from unnest(v_wanted) a)
                          then w.said::timestamptz end, w.o);
        if v_wanted <> '{}' then
            perform count(*) from loci_api.add_turns(
                p_namespace, v_session.name,
                (select jsonb_agg((p_turns -> (u.o - 1)) - 'session_id' order by u.n)
                 from unnest(v_wanted) with ordinality u(o, n)));
            v_new := v_new || v_wanted;
        end if;
    end loop;
    return query select o, case when o = any (v_new) then 'written' else 'there' end
                 from generate_series(1, jsonb_array_length(p_turns)) o order by o;
end $$;
comment on function loci_api.import_turns(text, jsonb) is
    'Append turns of another system''s file: JSON array of {session_id, role, content, metadata: {source_id}, '
    'said_at?}. One row an item, ordinal from 1: written or there. Errors: those of add_turns.';
