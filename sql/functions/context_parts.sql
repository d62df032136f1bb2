-- What goes before an inference, beside what a recall has ranked (row W4, seed B's eight steps)? One row:
-- memories    of p_documents (a recall's best, best first) those that the session has not been shown since it began or last ended;
--             held_back: how many it has. Where p_documents is empty and this is the first context of the session (begin_context), the
--             most important memories instead (setting context_first): fallback.
-- graph       what the message names and the edges around that, as graph_context has it
-- working_memory, patrol, subagents   entries without their values: of the space p_space; and, unless that is of a patrol or a
--             subagent, findings of patrols, and the keys of subagents that end in -index; newest first, setting context_keys, and one more
-- turns       the last ones of the session (setting replayed_turns)
-- Without a session every context is the first, nothing is held back, and there are no turns. p_space null: session/ and the session,
-- else the caller's own. p_sections: what is wanted, null for all. Cost: that of graph_context, and a few ranges of
-- indexes. Called by REST. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci.context_parts(
    p_namespace text, p_message text default null, p_session_id text default null, p_space text default null, p_documents bigint[] default '{}',
    p_sections text[] default null, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (space text, first boolean, fallback boolean, memories jsonb, held_back integer, graph jsonb, working_memory jsonb,
               patrol jsonb, subagents jsonb, turns jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
    v_settings     jsonb := loci.settings(v_namespace_id);
    v_keys         integer := v_settings ->> 'context_keys';
    v_sections     text[] := coalesce(p_sections, '{memories,graph,working_memory,patrol,subagents,turns}');
begin
    space := loci.context_space(p_space, p_session_id);
    first := not exists (select from loci_data.context_sessions c
                         where c.namespace_id = v_namespace_id and c.session_id = p_session_id and c.contexts > 1);
    fallback := first and coalesce(cardinality(p_documents), 0) = 0;
    held_back := 0;
    if 'memories' = any (v_sections) then
        if fallback then
            p_documents := loci.first_memories(v_namespace_id, (v_settings ->> 'context_first')::integer, p_as_of, p_known_at);
        end if;
        select coalesce(jsonb_agg(to_jsonb(d) - 'ordinality' order by d.ordinality) filter (where not s.shown), '[]'), count(*) filter (where s.shown)
        into memories, held_back
        from loci.get_documents(p_namespace, p_documents, p_as_of, p_known_at) with ordinality d
        cross join lateral (select exists (
            select from loci_data.injections i
            where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = d.id and i.ended_at is null) as shown) s;
    end if;
    if 'graph' = any (v_sections) and p_message is not null then
        select to_jsonb(g) into graph from loci.graph_context(p_namespace, p_message, p_as_of => p_as_of, p_known_at => p_known_at) g;
    end if;
    if 'working_memory' = any (v_sections) then
        working_memory := loci.context_keys(v_namespace_id, space, null, v_keys);
    end if;
    if split_part(space, '/', 1) not in ('patrol', 'subagent') then
        if 'patrol' = any (v_sections) then
            patrol := loci.context_keys(v_namespace_id, 'patrol', null, v_keys);
        end if;
        if 'subagents' = any (v_sections) then
            subagents := loci.context_keys(v_namespace_id, 'subagent', '-index', v_keys);
        end if;
    end if;
    if 'turns' = any (v_sections) and p_session_id is not null then
        select jsonb_agg(to_jsonb(t) order by t.id) into turns from loci.list_turns(p_namespace, p_session_id) t;
    end if;
    return next;
end $$;
comment on function loci.context_parts(text, text, text, text, bigint[], text[], timestamptz, timestamptz) is 'What goes before an inference: memories new to the session, the graph around a message, inventories of working memory, last turns; one row. Errors: 42501, P0002, 22023.';
