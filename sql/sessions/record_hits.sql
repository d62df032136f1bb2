-- A full-text search of this session found these memories. Counts for those that were shown to the session before, and
-- not ended since; returns them. Rows are locked in order of their ids. recall has record_recall_hits. Security
-- definer:
-- writes past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (session_id).
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
