-- Which episodes (memories of layer 3) does the extraction of entities learn from? The newest current ones that it has
-- not read, at most p_limit. They count as read when the pass has its report (record_pass). Those that an answer failed
-- for come after all others, half as many each time, as turns do; p_failed: only those that failed as often, as do the
-- turns beside them. content: the first p_length characters, with its subject in front (text_with_subject). Unlike a
-- mark by time, this misses no memory that was recorded before a look and committed after it. Reads the namespace's
-- memories from the newest back, index episodes_read_pkey for each. Security definer; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit), 55000.
create or replace function loci_api.episodes_to_read(p_namespace text, p_id uuid, p_limit integer,
                                                     p_length integer default 4000, p_failed smallint default null)
returns table (id uuid, content text, valid_from timestamptz, session_id text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'admin');
    v_failed smallint;
    v_read   uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    perform loci_api.lock_job(p_namespace, p_id);
    for v_failed in
        select 0 where coalesce(p_failed, 0) = 0
        union all
        (select r.failed_reads from loci_data.episodes_read r
         where r.namespace_id = v_ns and r.job_id is null and r.failed_reads = coalesce(p_failed, r.failed_reads)
         group by r.failed_reads order by r.failed_reads)
    loop
        v_read := array(
            select m.id from loci_data.memories m
            left join loci_data.episodes_read r on r.namespace_id = v_ns and r.memory_id = m.id
            where m.namespace_id = v_ns and m.layer = 3 and m.status = 'active' and m.superseded_at is null
              and (m.valid_to is null or m.valid_to > clock_timestamp())
              and r.job_id is null and coalesce(r.failed_reads, 0) = v_failed
            order by m.id desc limit least(p_limit, loci_internal.texts_to_show(v_ns, v_failed)));
        exit when v_read <> '{}';
    end loop;
    return query
    select m.id, left(loci_internal.text_with_subject(m.content, m.about), p_length), m.valid_from, m.session_id
    from loci_data.memories m where m.namespace_id = v_ns and m.id = any (v_read) order by m.id;
end $$;
comment on function loci_api.episodes_to_read(text, uuid, integer, integer, smallint) is
    'Memories of layer 3 that no extraction of entities has read, the newest first. Errors: 42501, P0002, 22023, '
    '55000.';
