-- What undoing an operation left as it is, and why: [{kind, count, reason}]. Called by undo_operation; internal.
create or replace function loci.undo_skipped(p_namespace_id integer, p_stays jsonb, p_kept integer, p_changed bigint, p_kinds jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
    select coalesce(jsonb_agg(jsonb_build_object('kind', s.kind, 'count', s.count, 'reason', s.reason) order by s.kind, s.reason), '[]')
    from (
        select k.key as kind, k.value::bigint as count,
               case k.key when 'turn' then 'conversations are a log' when 'key' then 'keys are revoked or made anew' else 'working memory expires' end as reason
        from jsonb_each(p_stays) k
        union all
        select 'entity', p_kept, 'something else rests on them by now' where p_kept > 0
        union all
        select (select string_agg(k, ', ' order by k) from jsonb_array_elements_text(p_kinds) k), p_changed, 'changed since' where p_changed > 0) s
$$;
comment on function loci.undo_skipped(integer, jsonb, integer, bigint, jsonb) is 'What undoing an operation left as it is, and why. Internal.';
