-- Passes: their reports, when the last one ran, and how active a namespace is.

-- Write the report of a pass, in the transaction of its changes: that a job has run it, what it changed and what it has
-- read are there together or not at all. p_report: columns of pass_runs. It takes the place of a report that the pass
-- failed, which a job leaves that was given up and is tried again by hand. p_turns, p_episodes: what the model was
-- shown; it has been read, unless the pass failed or was a dry run, and turns leave the log that every pass has read
-- (clear_turns). An operation that changed nothing is none, and is not named. Security definer: writes past the
-- policies; checks the caller itself. Errors: 42501, P0002, 23505 (the job has run it).
create or replace function loci_api.record_pass(p_namespace text, p_job_id uuid, p_name text, p_report jsonb,
                                                p_turns bigint[] default '{}', p_episodes uuid[] default '{}')
returns uuid
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
    v_id uuid := loci_api.uuid7();
begin
    delete from loci_data.pass_runs r where r.namespace_id = v_ns and r.job_id = p_job_id and r.pass = p_name
        and r.outcome = 'failed';
    insert into loci_data.pass_runs (namespace_id, id, job_id, pass, outcome, operation_id, started_at, seen, proposed,
                                     applied, refused, changes, corpus, error, turns, more, shown)
    select v_ns, v_id, p_job_id, p_name, r.outcome,
           (select o.id from loci_data.operations o where o.namespace_id = v_ns and o.id = r.operation_id),
           coalesce(r.started_at, clock_timestamp()), coalesce(r.seen, 0),
           coalesce(r.proposed, 0), coalesce(r.applied, 0), coalesce(r.refused, '[]'), coalesce(r.changes, '[]'),
           r.corpus, r.error, p_turns, coalesce(r.more, false), coalesce(r.shown, 0)
    from jsonb_populate_record(null::loci_data.pass_runs, p_report) r;
    if p_report ->> 'outcome' in ('applied', 'unchanged') and not exists (
        select from loci_data.jobs j where j.namespace_id = v_ns and j.id = p_job_id
            and j.arguments ->> 'dry_run' = 'true') then
        insert into loci_data.episodes_read as e (namespace_id, memory_id, job_id)
        select v_ns, m.id, p_job_id from loci_data.memories m where m.namespace_id = v_ns and m.id = any (p_episodes)
        on conflict (namespace_id, memory_id) do update set job_id = excluded.job_id;
        if p_name = any ('{memories,entities,preferences,graph}') then
            perform loci_internal.clear_turns(v_ns, p_turns || loci_internal.turns_read_by_all(v_ns), p_name);
        end if;
    end if;
    return v_id;
end $$;
comment on function loci_api.record_pass(text, uuid, text, jsonb, bigint[], uuid[]) is
    'Write the report of a pass that a job has run, and what it has read. Errors: 42501, P0002, 23505.';

-- An answer about these turns and episodes was none: it was refused, cut off or not to be read. The next one is asked
-- about half as many of them (turns_to_read). Security definer: writes past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci_api.record_failed_read(p_namespace text, p_turns bigint[], p_episodes uuid[])
returns void
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'admin');
begin
    update loci_data.conversation_turns t set failed_reads = least(t.failed_reads + 1, 30)
    from (select o.session_id, o.id from loci_data.conversation_turns o
          where o.namespace_id = v_ns and o.id = any (p_turns) order by o.id for update) l
    where t.namespace_id = v_ns and t.session_id = l.session_id and t.id = l.id;
    insert into loci_data.episodes_read as e (namespace_id, memory_id, failed_reads)
    select v_ns, m.id, 1 from loci_data.memories m where m.namespace_id = v_ns and m.id = any (p_episodes) order by m.id
    on conflict (namespace_id, memory_id) do update set failed_reads = least(e.failed_reads + 1, 30);
end $$;
comment on function loci_api.record_failed_read(text, bigint[], uuid[]) is
    'Count an answer that was none for what the model was shown. Errors: 42501, P0002.';

-- Has a job run this pass already, did it leave something for another (more), how many things was it shown, and what
-- has the pass left behind? corpora are the hashes after its runs of the last dream_unchanged_days days, one for each
-- page. Dry runs, failures and stopped passes do not count. Index pass_runs_pass. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.last_pass(p_namespace text, p_name text, p_job_id uuid)
returns table (done boolean, more boolean, shown integer, corpora text[])
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select count(*) > 0, coalesce(bool_or(d.more), false), coalesce(max(d.shown), 0),
           array(
            select distinct r.corpus from loci_data.pass_runs r
            where r.namespace_id = v_ns and r.pass = p_name and r.outcome = 'applied' and r.corpus is not null
              and r.finished_at > clock_timestamp()
                  - (loci_internal.settings(v_ns) ->> 'dream_unchanged_days')::double precision * interval '24 hours')
    from loci_data.pass_runs d
    where d.namespace_id = v_ns and d.job_id = p_job_id and d.pass = p_name and d.outcome <> 'failed';
end $$;
comment on function loci_api.last_pass(text, text, uuid) is
    'Whether a job has run a pass and left something for another, and the hashes of what its recent runs left. '
    'Errors: 42501, P0002.';

-- What have the passes done? Their reports, newest first, a page at a time: p_cursor is the id of the last one of the
-- page before. Reports of one pass (p_name), or of one job. Primary key, pass_runs_pass or pass_runs_job_key, whichever
-- the question is about: it is planned for each call. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002, 22023 (limit, name).
create or replace function loci.list_passes(
    p_namespace text, p_limit integer default 50, p_cursor uuid default null, p_name text default null,
    p_job_id uuid default null)
returns table (id uuid, job_id uuid, pass text, outcome text, operation_id uuid, started_at timestamptz,
               finished_at timestamptz,
               seen integer, proposed integer, applied integer, refused jsonb, changes jsonb, error text)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    perform loci_internal.check_page(p_limit);
    if p_name not in ('memories', 'entities', 'preferences', 'graph', 'contradictions', 'enrichment') then
        raise invalid_parameter_value using column = 'name',
            message = format(
                'name must be memories, entities, preferences, graph, contradictions or enrichment, not %L', p_name);
    end if;
    return query
    select r.id, r.job_id, r.pass, r.outcome, r.operation_id, r.started_at, r.finished_at, r.seen, r.proposed,
           r.applied, r.refused, r.changes, r.error
    from loci_data.pass_runs r
    where r.namespace_id = v_ns and r.id < coalesce(p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_name is null or r.pass = p_name) and (p_job_id is null or r.job_id = p_job_id)
    order by r.id desc limit p_limit;
end $$;
comment on function loci.list_passes(text, integer, uuid, text, uuid) is
    'Reports of passes, newest first, of one pass or job if asked; the id of the last one pages. Errors: 42501, '
    'P0002, 22023.';

-- Reports of dry runs say in words what would be written, since there is no memory to look up, and reasons of refusals
-- may quote what a model made of turns of conversation. After an erasure, or the deletion of a conversation (p_turns:
-- its turns), reports of dry runs say only how much would be written, since nobody can tell whose words they hold;
-- passes that read these turns lose their reasons. Reads the reports of the namespace, which are kept for job_days.
create or replace function loci_internal.erase_pass_plans(p_namespace_id integer, p_turns bigint[] default '{}')
returns void
language sql volatile set search_path = ''
as $$
    update loci_data.pass_runs r
    set changes = (select
                   coalesce(jsonb_agg(jsonb_build_object('action', e.entry -> 'action', 'ids', e.entry -> 'ids')
                                      order by e.place), '[]')
                   from jsonb_array_elements(r.changes) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id and r.outcome = 'planned' and r.changes <> '[]';
    update loci_data.pass_runs r
    set refused = (select jsonb_agg(e.entry || '{"reason": "[erased]"}' order by e.place)
                   from jsonb_array_elements(r.refused) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id and r.refused <> '[]' and r.turns && p_turns
$$;
comment on function loci_internal.erase_pass_plans(integer, bigint[]) is
    'Take the words out of reports of dry runs, and of what was refused to passes that read these turns.';

-- Is somebody at work in this namespace, so that a scheduled dream had better wait? Returns with what; null: it is
-- quiet. Somebody is, if within dream_busy_minutes a turn was written or an agent changed something over REST or MCP,
-- or if a request waits for a model now. Newest ends of three indexes: conversation_turns_newest (numbers of turns grow
-- with the time of their writing), operations_started, model_calls_started. Security definer: past the policies; checks
-- the caller itself. Errors: 42501, P0002.
create or replace function loci_api.namespace_activity(p_namespace text) returns text
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'reader');
    v_since timestamptz := clock_timestamp()
        - (loci_internal.settings(v_ns) ->> 'dream_busy_minutes')::double precision * interval '1 minute';
begin
    if (select t.said_at > v_since and t.said_at <= clock_timestamp() from loci_data.conversation_turns t
        where t.namespace_id = v_ns order by t.id desc limit 1) then
        return 'a conversation is going on';
    elsif exists (select from loci_data.operations o
                  where o.namespace_id = v_ns and o.started_at > v_since and o.via in ('rest', 'mcp')) then
        return 'agents are writing';
    elsif exists (select from loci_data.model_calls c
                  where c.namespace_id = v_ns
                    and c.started_at > greatest(v_since, clock_timestamp() - interval '10 minutes')
                    and c.state = 'running' and c.job_id is null) then
        return 'a request waits for a model';
    end if;
    return null;
end $$;
comment on function loci_api.namespace_activity(text) is
    'Activity in the namespace, if it was written to lately or a request waits for a model; null: it is quiet. '
    'Errors: 42501, P0002.';
