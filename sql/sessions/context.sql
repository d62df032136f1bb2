-- Context for the next answer: its parts, and what was shown before.

-- A context is being built for a session: the how-manieth since the session began, or since its last end? 1: the first,
-- which may fall back to memories that no query found. Contexts of one session that come at once wait for each other
-- here until the transaction ends, so one of them is the first, and each sees what those before it have injected.
-- Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (session_id).
create or replace function loci_api.begin_context(p_namespace text, p_session_id text) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
    v_contexts     integer;
begin
    perform loci_internal.check_session(p_session_id);
    insert into loci_data.context_sessions as c (namespace_id, session_id, agent_id, contexts, first_at, last_at)
    values (v_namespace_id, p_session_id, loci.current_agent(), 1, v_at, v_at)
    on conflict (namespace_id, session_id) do update
    set agent_id = excluded.agent_id, contexts = c.contexts + 1, last_at = greatest(c.last_at, excluded.last_at)
    returning c.contexts into v_contexts;
    return v_contexts;
end $$;
comment on function loci_api.begin_context(text, text) is
    'Count a context of a session; 1 for the first since it began or ended. Errors: 42501, P0002, 22023.';

-- What goes before an inference, beside what a recall has ranked? One row:
-- profile what is known of the one who asks: of p_user, else of whom the key speaks for (asking_party); setting
--          context_profile says how many (profile_memories). None for a patrol or a subagent. It is held back as
--          memories are, and is not among these as well
-- memories of p_documents (a recall's best, best first) those that the session has not been shown since it began or
--          last ended (p_repeat: all); held_back: how many are left out. Where p_documents is empty and this is the
--          first context of the session (begin_context), the most important memories instead (setting
--          context_first): fallback
-- graph what the message names and the edges around that, as graph_context has it
-- working_memory, patrol, subagents entries without their values, newest first (setting context_keys, and one more):
--          of the space, of the one that plain keys go to, and of the session; findings of patrols; keys of subagents
--          that end in -index. Of a patrol or a subagent only the entries of its space
-- turns the last ones of the session (setting replayed_turns)
-- Without a session every context is the first, nothing is held back, and there are no turns. p_space null: the space
-- of the key, else session/ and the session, else the caller's own. p_sections: what is wanted, null for all.
-- p_preview: the context was not begun. Cost: that of graph_context, and a few ranges of indexes.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023.
create or replace function loci.context_parts(
    p_namespace text, p_message text default null, p_session_id text default null, p_space text default null,
    p_documents bigint[] default '{}',
    p_sections text[] default null, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_repeat boolean default false, p_preview boolean default false, p_user text default null)
returns table (space text, first boolean, fallback boolean, memories jsonb, held_back integer, graph jsonb,
               working_memory jsonb, patrol jsonb, subagents jsonb, turns jsonb, profile jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_party        text := loci_internal.asking_party(p_user);
    v_settings     jsonb := loci_internal.settings(v_namespace_id);
    v_sections     text[] := coalesce(p_sections, '{profile,memories,graph,working_memory,patrol,subagents,turns}');
    v_profile      integer := v_settings ->> 'context_profile';
    v_known        bigint[] := '{}'; -- documents of the profile
begin
    space := loci_internal.context_space(v_namespace_id, p_space, p_session_id);
    first := loci_internal.is_first_context(v_namespace_id, p_session_id, p_preview);
    fallback := first and coalesce(cardinality(p_documents), 0) = 0;
    held_back := 0;
    if 'profile' = any (v_sections) and v_profile > 0 and not loci_internal.sees_own_space_only(space) then
        v_known := loci_internal.profile_memories(v_namespace_id, v_party, v_profile, p_as_of, p_known_at);
        select n.memories, n.held_back into profile, held_back
        from loci_internal.memories_new_to_session(p_namespace, v_namespace_id, v_known, '{}', p_session_id,
                                                   p_as_of, p_known_at, p_repeat) n;
    end if;
    if 'memories' = any (v_sections) then
        if fallback then
            p_documents := loci_internal.most_important_memories(
                v_namespace_id, (v_settings ->> 'context_first')::integer, p_as_of, p_known_at, v_known);
        end if;
        select n.memories, context_parts.held_back + n.held_back into memories, held_back
        from loci_internal.memories_new_to_session(p_namespace, v_namespace_id, p_documents, v_known, p_session_id,
                                                   p_as_of, p_known_at, p_repeat) n;
    end if;
    if 'graph' = any (v_sections) and p_message is not null then
        select to_jsonb(g) into graph
        from loci.graph_context(p_namespace, p_message, p_as_of => p_as_of, p_known_at => p_known_at) g;
    end if;
    select e.working_memory, e.patrol, e.subagents into working_memory, patrol, subagents
    from loci_internal.context_entries(v_namespace_id, v_sections, space, p_space, p_session_id,
                                       (v_settings ->> 'context_keys')::integer) e;
    if 'turns' = any (v_sections) and p_session_id is not null then
        select jsonb_agg(to_jsonb(t) order by t.id) into turns from loci.list_turns(p_namespace, p_session_id) t;
    end if;
    return next;
end $$;
comment on function loci.context_parts is
    'Parts of a context: what is known of the one who asks, memories new to the session (or all, to repeat), the '
    'graph around a message, inventories of working memory, last turns; one row. Errors: 42501, P0002, '
    '22023.';

-- Which of these memories, but for some (p_but), has a session not been shown since it began or last ended (p_repeat:
-- all)? As JSON, in the order asked; held_back: how many it has. A look-up each of memories and injections.
create or replace function loci_internal.memories_new_to_session(
    p_namespace text, p_namespace_id integer, p_documents bigint[], p_but bigint[], p_session_id text,
    p_as_of timestamptz, p_known_at timestamptz, p_repeat boolean)
returns table (memories jsonb, held_back integer)
language sql stable
as $$
    select coalesce(jsonb_agg(to_jsonb(d) - 'ordinality' order by d.ordinality) filter (where not s.shown), '[]'),
           (count(*) filter (where s.shown))::integer
    from loci_api.get_recalled_memories(
        p_namespace, array(select u.id from unnest(p_documents) with ordinality u(id, place)
                           where u.id <> all (p_but) order by u.place), p_as_of, p_known_at) with ordinality d
    cross join lateral (select exists (
        select from loci_data.injections i
        where i.namespace_id = p_namespace_id and i.session_id = p_session_id and i.memory_id = d.id
          and i.ended_at is null) and not p_repeat as shown) s
$$;
comment on function loci_internal.memories_new_to_session is
    'Memories that a session was not shown yet, and how many others there are.';

-- Is this the first context of a session since it began or last ended? p_preview: the context was not begun.
create or replace function loci_internal.is_first_context(p_namespace_id integer, p_session_id text, p_preview boolean)
returns boolean
language sql stable set search_path = ''
as $$
    select not exists (select from loci_data.context_sessions c
                       where c.namespace_id = p_namespace_id and c.session_id = p_session_id
                         and c.contexts > case when p_preview then 0 else 1 end)
$$;
comment on function loci_internal.is_first_context(integer, text, boolean) is
    'Whether a context is the first of its session.';

-- Entries of working memory for the sections of a context (context_parts).
create or replace function loci_internal.context_entries(
    p_namespace_id integer, p_sections text[], p_context_space text, p_space text, p_session_id text, p_limit integer,
    out working_memory jsonb, out patrol jsonb, out subagents jsonb)
language plpgsql stable set search_path = ''
as $$
declare
    v_own boolean := loci_internal.sees_own_space_only(p_context_space);
begin
    if 'working_memory' = any (p_sections) then
        working_memory := loci_internal.context_working_memory(
            p_namespace_id,
            case when v_own then array[p_context_space]
                 else array[p_context_space, loci_internal.working_memory_space(p_namespace_id, p_space),
                            loci_internal.session_space(p_session_id)] end, null, p_limit);
    end if;
    if 'patrol' = any (p_sections) and not v_own then
        patrol := loci_internal.context_working_memory(p_namespace_id, '{patrol}', null, p_limit);
    end if;
    if 'subagents' = any (p_sections) and not v_own then
        subagents := loci_internal.context_working_memory(p_namespace_id, '{subagent}', '-index', p_limit);
    end if;
end $$;
comment on function loci_internal.context_entries(integer, text[], text, text, text, integer) is
    'Entries of working memory for the sections of a context.';

-- Which entries of working memory live under any of these paths? All but their values, newest first, at most p_limit,
-- and one more where there are more; p_ending: only keys whose last segment ends so. expires_in: seconds left. Ranges
-- of the primary key, read whole.
create or replace function loci_internal.context_working_memory(p_namespace_id integer, p_paths text[], p_ending text,
                                                                p_limit integer) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    return coalesce(jsonb_agg(to_jsonb(e) order by e.stored_at desc, e.key), '[]')
    -- distinct: the path of a key may lie within that of the session
    from (select distinct w.key, w.space, w.category, w.tags, w.stored_at, w.expires_at,
                 extract(epoch from w.expires_at - v_now)::double precision as expires_in
          from unnest(p_paths) p(path)
          cross join lateral loci_internal.working_memory_key_ranges(p.path) r
          cross join lateral (
              select o.* from loci_data.working_memory o
              where o.namespace_id = p_namespace_id and o.key >= r.lowest and o.key < r.bound
                and o.expires_at > v_now offset 0) w
          where p.path is not null and (p_ending is null or right(w.key, length(p_ending)) = p_ending)
          order by w.stored_at desc, w.key limit p_limit + 1) e;
end $$;
comment on function loci_internal.context_working_memory(integer, text[], text, integer) is
    'Live entries of working memory under any of some paths, without values, newest first.';

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

-- Which open pairs concern a context? pairs: up to p_limit, as list_unsettled shows them: first those of which it
-- shows a memory (p_documents), then those that the one who asks has told in the first person (asking_party); the
-- newest first, of the newest 200. contradicts: for each shown memory that is part of one its document number, and the
-- current memories at the other ends. Both null where the namespace has no open pair, which costs one probe. Errors:
-- 42501, P0002.
create or replace function loci_api.context_unsettled(p_namespace text, p_documents bigint[], p_user text default null,
                                                      p_limit integer default 3)
returns table (pairs jsonb, contradicts jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_party text := loci_internal.asking_party(p_user);
begin
    if exists (select from loci_data.memory_links l where l.namespace_id = v_ns and l.type = 'contradicts'
               and l.superseded_at is null) then
        select jsonb_object_agg(c.doc_id, to_jsonb(c.contradicts)) into contradicts
        from (select o.doc_id, array_agg(distinct o.other_id order by o.other_id) as contradicts
              from loci_internal.open_pairs_of(v_ns, p_documents) o group by o.doc_id) c;
        select jsonb_agg(jsonb_build_object('newer', loci_internal.side_of_pair(u.newer),
                                            'older', loci_internal.side_of_pair(u.older),
                                            'similarity', u.strength) order by u.nth) into pairs
        from (select w as newer, o as older, l.strength,
                     row_number() over (order by s.shown desc, l.recorded_at desc, l.source_id, l.target_id) as nth
              from (select k.* from loci_data.memory_links k
                    where k.namespace_id = v_ns and k.type = 'contradicts' and k.superseded_at is null
                    order by k.recorded_at desc limit 200) l
              cross join lateral loci_internal.current_of_lineage(v_ns, l.source_id) w
              cross join lateral loci_internal.current_of_lineage(v_ns, l.target_id) o
              cross join lateral (select w.doc_id = any (p_documents) or o.doc_id = any (p_documents) as shown) s
              where s.shown or loci.is_first_person(w.content)
                    and loci_internal.memory_party(w.source, w.created_by) = v_party) u
        where u.nth <= p_limit;
    end if;
    return next;
end $$;
comment on function loci_api.context_unsettled(text, bigint[], text, integer) is
    'Open pairs that concern a context, and which of its memories are part of one. Errors: 42501, P0002.';
