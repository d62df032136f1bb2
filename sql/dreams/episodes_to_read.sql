-- Which episodes (memories of layer 3) does a job learn from? The first call takes the newest current ones that no job
-- has looked at, at most p_limit; every later one of the same job gives the same, as far as they are still in force.
-- What a cancelled job took is free again; a dry run takes nothing. content: the first p_length characters, with its
-- subject in front (text_with_subject). Unlike a
-- mark by time, this misses no memory that was recorded before a look and committed after it. Reads the namespace's
-- memories from the newest back, index episodes_read_pkey for each. Security definer; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit), 55000.
create or replace function loci_api.episodes_to_read(p_namespace text, p_id uuid, p_limit integer,
                                                     p_length integer default 4000)
returns table (id uuid, content text, valid_from timestamptz, session_id text)
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'admin');
    v_dry  boolean;
    v_read uuid[];
begin
    perform loci_internal.check_limit(p_limit, null, 0);
    perform loci_api.lock_job(p_namespace, p_id);
    v_dry := (select coalesce(j.arguments ->> 'dry_run', 'false') = 'true' from loci_data.jobs j
              where j.namespace_id = v_ns and j.id = p_id);
    v_read := array(select r.memory_id from loci_data.episodes_read r where r.namespace_id = v_ns and r.job_id = p_id);
    if v_read = '{}' then
        v_read := array(
            select m.id from loci_data.memories m
            where m.namespace_id = v_ns and m.layer = 3 and m.status = 'active' and m.superseded_at is null
              and (m.valid_to is null or m.valid_to > clock_timestamp())
              and not exists (select from loci_data.episodes_read r
                              left join loci_data.jobs j on j.namespace_id = v_ns and j.id = r.job_id
                              where r.namespace_id = v_ns and r.memory_id = m.id and j.state
                                  is distinct from 'cancelled')
            order by m.id desc limit p_limit);
        insert into loci_data.episodes_read (namespace_id, memory_id, job_id)
        select v_ns, u.id, p_id from unnest(v_read) u(id) where not v_dry order by u.id
        on conflict (namespace_id, memory_id) do update set job_id = excluded.job_id;
    end if;
    return query
    select m.id, left(loci_internal.text_with_subject(m.content, m.about), p_length), m.valid_from, m.session_id
    from loci_data.memories m
    where m.namespace_id = v_ns and m.id = any (v_read) and m.status = 'active' order by m.id;
end $$;
comment on function loci_api.episodes_to_read(text, uuid, integer, integer) is
    'Memories of layer 3 that a job learns entities from, the same at every call; each is looked at by one job. '
    'Errors: 42501, P0002, 22023, 55000.';
