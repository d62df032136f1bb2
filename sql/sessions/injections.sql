-- Injections: memories shown in a context, found again, and rated.

-- A full-text search of this session found these memories. Counts for those that were shown to the session before, and
-- not ended since; returns them. Rows are locked in order of their ids. recall has record_recall_hits. Security
-- definer: writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (session_id).
create or replace function loci_api.record_hits(p_namespace text, p_session_id text, p_ids uuid[])
returns table (memory_id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_at           timestamptz := clock_timestamp();
begin
    perform loci_internal.check_session(p_session_id);
    return query
    with shown as (
        select i.memory_id from loci_data.injections i
        where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = any (p_ids)
          and i.ended_at is null and i.injected_at < v_at
        order by i.memory_id for no key update
    )
    update loci_data.injections i set hits = i.hits + 1, last_hit_at = greatest(i.last_hit_at, v_at) from shown s
    where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = s.memory_id
    returning i.memory_id;
end $$;
comment on function loci_api.record_hits(text, text, uuid[]) is
    'Note that a full-text search of a session found memories; returns those that had been shown to it. Errors: '
    '42501, P0002, 22023.';

-- These memories are shown to a session now. Returns those that are new to it. A memory shown before, without an end
-- since, keeps its row and hits; after an end it begins anew. Safe under concurrent calls: each memory is new to one of
-- them; rows are written in order of their ids. One that stays what it is is not locked: record_recall_hits would pass
-- it by. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002 (namespace, the
-- first unknown memory), 22023 (session_id).
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

-- A recall of this session found these documents by their words: record_hits for a search that must not fail or wait
-- for it. A caller who may only read notes nothing. A row that another holds is left out: that is a hit as well, or the
-- session's end (record_injections holds none that counts). Returns how many counted. Cost: one look-up where nothing
-- was shown to the session. Security definer: writes past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.record_recall_hits(p_namespace text, p_session_id text, p_documents bigint[])
returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_at           timestamptz := clock_timestamp();
    v_noted        integer;
begin
    begin
        perform loci_internal.authorize(p_namespace, 'writer');
    exception when insufficient_privilege then
        return 0;
    end;
    if not exists (select from loci_data.injections i
                   where i.namespace_id = v_namespace_id and i.session_id = p_session_id) then
        return 0;
    end if;
    with shown as (
        select i.memory_id from loci_data.injections i
        where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.ended_at is null
          and i.injected_at < v_at
          and i.memory_id = any (array(select m.id from loci_data.memories m
                                       where m.namespace_id = v_namespace_id and m.doc_id = any (p_documents)))
        order by i.memory_id for no key update skip locked
    )
    update loci_data.injections i set hits = i.hits + 1, last_hit_at = greatest(i.last_hit_at, v_at) from shown s
    where i.namespace_id = v_namespace_id and i.session_id = p_session_id and i.memory_id = s.memory_id;
    get diagnostics v_noted = row_count;
    return v_noted;
end $$;
comment on function loci_api.record_recall_hits(text, text, bigint[]) is
    'Note what a recall of a session found by words, if the caller may write; how many of it had been shown to the '
    'session. Errors: 42501, P0002.';

-- Memories that a session was shown, in a context or beside a recall, and whether its words found them again. By
-- session the primary key, by memory injections_memory, by time injections_injected. Under the policies: rows of
-- granted namespaces only.
create or replace view loci.injections with (security_invoker = true) as
select n.name as namespace, i.session_id, i.memory_id, m.lineage, m.content as memory, i.injected_at, i.hits,
       i.last_hit_at, i.ended_at, i.agent_id, loci.agent_name(i.agent_id) as agent
from loci_data.injections i
join loci_data.namespaces n on n.id = i.namespace_id
join loci_data.memories m on m.namespace_id = i.namespace_id and m.id = i.memory_id;
comment on view loci.injections is
    'Memories that agents were given: one row for each memory that a session was shown, and whether it was used.';
comment on column loci.injections.namespace is 'Name of the namespace.';
comment on column loci.injections.session_id is
    'The conversation that was shown it; not the one that the memory comes from.';
comment on column loci.injections.memory_id is 'The memory: this version. Joins memory_versions.id.';
comment on column loci.injections.lineage is 'Name that groups the versions of the memory.';
comment on column loci.injections.memory is 'Content of the memory.';
comment on column loci.injections.injected_at is 'When it was shown; again only after the session had ended.';
comment on column loci.injections.hits is 'How many later searches of the session found it by its words.';
comment on column loci.injections.last_hit_at is 'When the last of them did; null: none.';
comment on column loci.injections.ended_at is
    'When the end of the session took account of it; null: the session goes on.';
comment on column loci.injections.agent_id is 'The agent that was given it.';
comment on column loci.injections.agent is 'Name of that agent.';

-- What have ended sessions changed? Newest first, of one session or of all; cursor, on every row, is what to
-- send for the page that starts after it. Primary key, or index feedback_events_session. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_feedback(
    p_namespace text, p_session_id text default null, p_limit integer default 50, p_cursor text default null)
returns table (id uuid, at timestamptz, agent_id uuid, session_id text, kind text, aspects integer,
               confirmations integer, change double precision, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    return query
    select f.id, f.at, f.agent_id, f.session_id, f.kind, f.aspects, f.confirmations, f.change,
           loci_internal.make_cursor(jsonb_build_array(f.id))
    from loci_data.feedback_events f
    where f.namespace_id = v_namespace_id and f.id < v_before and (p_session_id is null or f.session_id = p_session_id)
    order by f.id desc limit p_limit;
end $$;
comment on function loci.list_feedback(text, text, integer, text) is
    'Changes in the weights of aspects by ended sessions, newest first; cursor pages. Errors: 42501, P0002, '
    '22023.';
