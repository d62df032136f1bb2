-- Which turns of the conversation log does a pass learn from? The oldest ones that it has not read, at most
-- dream_limit. They count as read when the pass has its report (record_pass), and not before: whatever ends it
-- meanwhile, they are there the next time. Those that an answer failed for come after all others, and each time half as
-- many of them (failed_reads), so that the one that no model can read is alone in the end. more: the log holds others
-- for this pass. Index conversation_turns_log. Security definer; checks the caller itself. Errors: 42501, P0002, 55000.
create or replace function loci_api.turns_to_read(p_namespace text, p_id uuid, p_pass text)
returns table (id bigint, session_id text, role text, content text, said_at timestamptz, failed_reads smallint,
               more boolean)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_failed smallint;
    v_waits  bigint;
    v_limit  integer;
begin
    perform loci_api.lock_job(p_namespace, p_id);
    select min(t.failed_reads), count(*) into v_failed, v_waits from loci_data.conversation_turns t
    where t.namespace_id = v_ns and t.logged and p_pass <> all (t.read_by);
    v_limit := loci_internal.texts_to_show(v_ns, v_failed);
    return query
    select t.id, t.session_id, t.role, t.content, t.said_at, t.failed_reads, count(*) over () < v_waits
    from (select o.* from loci_data.conversation_turns o
          where o.namespace_id = v_ns and o.logged and p_pass <> all (o.read_by) and o.failed_reads = v_failed
          order by o.id limit v_limit) t
    order by t.id;
end $$;
comment on function loci_api.turns_to_read(text, uuid, text) is
    'Turns of the conversation log that a pass has not read, the oldest first. Errors: 42501, P0002, 55000.';

-- How many texts is a model shown at a time, whose answer has failed for them so often? dream_limit, at most 10,000,
-- halved each time; one at least.
create or replace function loci_internal.texts_to_show(p_namespace_id integer, p_failed smallint) returns integer
language sql stable set search_path = ''
as $$
    select greatest(1, least((loci_internal.settings(p_namespace_id) ->> 'dream_limit')::double precision,
                             10000)::integer >> coalesce(p_failed, 0::smallint)::integer)
$$;
comment on function loci_internal.texts_to_show(integer, smallint) is
    'How many texts a model is shown at a time.';
